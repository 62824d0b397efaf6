/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of sampling control groups
 *
 *     cgroup [MOUNT]
 *
 * Creates 1, 100 and 1000 groups below the mount point of cgroup v2 (/sys/fs/cgroup/unified, else /sys/fs/cgroup)
 * with all available controllers, reads all groups repeatedly, and removes them. Prints CPU time of this thread per
 * group and sample:
 *
 *     sample       as perfd at one sample per second, including a share of the files read every ten seconds and every
 *                  minute
 *     bare reads   only pread(2) of the same files at the same intervals, without limits
 *     everything   a full reading, as at the begin, end or mark of a job, and pread(2) of all thirteen files
 *     cold         a sample and the thirteen files, half a second apart, which includes the cost of cold caches
 *
 * The variants alternate; the result is the median of the rounds.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "sample/cgroup/cgroup.h"
#include "util/clock.h"

#define N_ROUNDS 7
#define N_COLD_ROUNDS 6
#define N_READS_PER_ROUND 2000
#define N_GROUPS_MAX 1000
#define TEXT_BYTES 65536

/* The files that are read for each sample, followed by the other files. */
static const char *const file_names[] = {
        "cpu.stat",       "memory.peak",   "io.stat",      "pids.current",
        "memory.current", "memory.stat",   "memory.events", "cpu.pressure", "memory.pressure", "io.pressure",
        "cpu.max",        "memory.max",    "cpuset.cpus.effective",
};
#define N_OFTEN 4
#define N_OFTEN_AND_SELDOM 10

#define N_FILES N_ELEMENTS(file_names)

typedef struct Group {
        Cgroup *cgroup;
        int fds[N_FILES]; /* for the bare reads; -1 if the file does not exist */
} Group;

typedef struct Bench {
        const char *mount;
        char base[128]; /* path in v2 of the group that contains the created groups */
        CgroupTree *tree;
        Group groups[N_GROUPS_MAX];
        size_t n_groups;
        size_t n_files;  /* number of files of one group */
        uint64_t now_ns; /* simulated time: a second later for each sample */
        char text[TEXT_BYTES];
} Bench;

static int compare(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values, size_t n) {
        qsort(values, n, sizeof(*values), compare);
        return values[n / 2];
}

/* Writes the path of a group's directory, or of a file in it. */
static void put_path(const Bench *bench, const char *below, char ret[static 512]) {
        (void)snprintf(ret, 512, "%s%s/%s", bench->mount, bench->base, below);
}

/* Enables controllers one at a time, since unavailable ones fail. */
static void enable_controllers(const Bench *bench) {
        static const char *const words[] = { "+cpu", "+cpuset", "+memory", "+io", "+pids" };
        scoped(closep) int fd = -1;
        char path[512];

        put_path(bench, "cgroup.subtree_control", path);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        for (size_t i = 0; fd >= 0 && i < N_ELEMENTS(words); i++)
                (void)!write(fd, words[i], strlen(words[i]));
}

static int make_base(Bench *bench) {
        char path[512];

        (void)snprintf(bench->base, sizeof(bench->base), "/perfd-bench-%d", (int)getpid());
        put_path(bench, "", path);
        if (mkdir(path, 0755) < 0)
                return -errno;

        enable_controllers(bench);
        return 0;
}

static int make_group(Bench *bench) {
        Group *group = &bench->groups[bench->n_groups];
        CgroupPlace place = {};
        char name[32], path[512];
        int dir_fd, r;

        (void)snprintf(name, sizeof(name), "%zu", bench->n_groups);
        put_path(bench, name, path);
        if (mkdir(path, 0755) < 0)
                return -errno;
        bench->n_groups++;

        dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        bench->n_files = 0;
        for (size_t i = 0; i < N_FILES; i++) {
                group->fds[i] = openat(dir_fd, file_names[i], O_RDONLY | O_CLOEXEC);
                bench->n_files += group->fds[i] >= 0;
        }
        close(dir_fd);

        (void)snprintf(place.v2, sizeof(place.v2), "%.128s/%s", bench->base, name);
        r = cgroup_open(&group->cgroup, bench->tree, &place);
        if (r == 0)
                cgroup_trust_peak(group->cgroup, true);
        return r > 0 ? -ENOENT : r;
}

static void remove_all(Bench *bench) {
        char name[32], path[512];

        while (bench->n_groups > 0) {
                Group *group = &bench->groups[--bench->n_groups];

                cgroup_free(group->cgroup);
                for (size_t i = 0; i < N_FILES; i++)
                        closep(&group->fds[i]);
                (void)snprintf(name, sizeof(name), "%zu", bench->n_groups);
                put_path(bench, name, path);
                (void)rmdir(path);
        }
        put_path(bench, "", path);
        (void)rmdir(path);
}

/* --- one sample of all groups ------------------------------------------------------------------- */

static void read_bare(Bench *bench, size_t first, size_t end) {
        for (size_t g = 0; g < bench->n_groups; g++)
                for (size_t i = first; i < end; i++)
                        if (bench->groups[g].fds[i] >= 0 &&
                            pread(bench->groups[g].fds[i], bench->text, TEXT_BYTES, 0) < 0)
                                abort();
}

static void bare(Bench *bench, size_t k) {
        read_bare(bench, 0, N_OFTEN);
        if (k % (CGROUP_SELDOM_NS / NS_PER_S) == 0)
                read_bare(bench, N_OFTEN, N_OFTEN_AND_SELDOM);
}

static void bare_everything(Bench *bench, size_t k) {
        (void)k;
        read_bare(bench, 0, N_FILES);
}

static void sample(Bench *bench, size_t k) {
        CgroupSample taken;

        (void)k;
        bench->now_ns += NS_PER_S;
        for (size_t g = 0; g < bench->n_groups; g++)
                if (cgroup_refresh(bench->groups[g].cgroup, bench->now_ns, &taken) != 0)
                        abort();
}

static void everything(Bench *bench, size_t k) {
        CgroupSample taken;

        (void)k;
        for (size_t g = 0; g < bench->n_groups; g++)
                if (cgroup_read(bench->groups[g].cgroup, bench->now_ns, &taken) != 0)
                        abort();
}

/* --- measuring ---------------------------------------------------------------------------------- */

enum {
        WAY_SAMPLE,
        WAY_BARE,
        WAY_EVERYTHING,
        WAY_BARE_EVERYTHING,
        N_WAYS,
};

/* Returns the CPU time per group and sample. */
static uint64_t time_way(Bench *bench, unsigned way, size_t n) {
        uint64_t start_ns = clock_thread_cpu_ns();

        for (size_t k = 0; k < n; k++)
                switch (way) {
                case WAY_SAMPLE:
                        sample(bench, k);
                        break;
                case WAY_BARE:
                        bare(bench, k);
                        break;
                case WAY_EVERYTHING:
                        everything(bench, k);
                        break;
                case WAY_BARE_EVERYTHING:
                        bare_everything(bench, k);
                        break;
                }
        return (clock_thread_cpu_ns() - start_ns) / (n * bench->n_groups);
}

static uint64_t cold(Bench *bench, unsigned way) {
        uint64_t ns[N_COLD_ROUNDS];

        for (size_t i = 0; i < N_COLD_ROUNDS; i++) {
                usleep(500000);
                ns[i] = time_way(bench, way, 1);
        }
        return median(ns, N_COLD_ROUNDS);
}

static void print(const Bench *bench, const uint64_t warm[N_WAYS], uint64_t cold_sample, uint64_t cold_bare) {
        printf("cgroup: groups=%zu files=%zu sample=%llu bare=%llu everything=%llu bare_everything=%llu cold=%llu "
               "cold_bare_everything=%llu ns\n",
               bench->n_groups, bench->n_files, (unsigned long long)warm[WAY_SAMPLE],
               (unsigned long long)warm[WAY_BARE], (unsigned long long)warm[WAY_EVERYTHING],
               (unsigned long long)warm[WAY_BARE_EVERYTHING], (unsigned long long)cold_sample,
               (unsigned long long)cold_bare);
        fflush(stdout);
}

static int measure(Bench *bench, size_t n_groups) {
        /* groups are read at different times within ten seconds */
        size_t n = N_READS_PER_ROUND / n_groups < 10 ? 10 : N_READS_PER_ROUND / n_groups;
        uint64_t ns[N_WAYS][N_ROUNDS], warm[N_WAYS];
        int r;

        while (bench->n_groups < n_groups) {
                r = make_group(bench);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < N_ROUNDS; i++)
                for (unsigned way = 0; way < N_WAYS; way++)
                        ns[way][i] = time_way(bench, way, way < WAY_EVERYTHING ? n : n / 10);
        for (unsigned way = 0; way < N_WAYS; way++)
                warm[way] = median(ns[way], N_ROUNDS);
        print(bench, warm, cold(bench, WAY_SAMPLE), cold(bench, WAY_BARE_EVERYTHING));
        return 0;
}

/* Raises the limit to two descriptors per file. */
static void allow_descriptors(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
                limit.rlim_cur = limit.rlim_max;
                (void)setrlimit(RLIMIT_NOFILE, &limit);
        }
}

static int run(Bench *bench) {
        static const size_t numbers[] = { 1, 100, N_GROUPS_MAX };
        int r;

        r = cgroup_tree_new(&bench->tree, "/");
        if (r < 0)
                return r;
        r = make_base(bench);
        for (size_t i = 0; r == 0 && i < N_ELEMENTS(numbers); i++)
                r = measure(bench, numbers[i]);
        return r;
}

int main(int argc, char **argv) {
        Bench *bench = calloc(1, sizeof(*bench));
        int r;

        if (!bench)
                return 1;
        bench->now_ns = clock_boottime_ns();
        bench->mount = argc > 1                                                ? argv[1]
                       : access("/sys/fs/cgroup/unified/cgroup.procs", F_OK) == 0 ? "/sys/fs/cgroup/unified"
                                                                                   : "/sys/fs/cgroup";
        allow_descriptors();
        r = run(bench);
        if (r < 0)
                fprintf(stderr, "cgroup: cannot follow groups below %s: %s\n", bench->mount, strerror(-r));

        if (*bench->base)
                remove_all(bench);
        cgroup_tree_free(bench->tree);
        free(bench);
        return r < 0;
}
