/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/counter.h"
#include "measure/device_counter.h"
#include "sample/cgroup/cgroup_parse.h"
#include "sample/kernel_text.h"
#include "util/clock.h"

/*
 * Number of seconds over which the expensive reads of groups opened together are spread: each group is read a second
 * later than the one before.
 */
#define TURNS 60

/* Steps leave half of LimitNOFILE= of perfd.service to others. */
#define STEP_FD_MAX 16384

#define X(...) +1
enum {
        N_VALUES = CGROUP_VALUES(X),
};
#undef X

typedef struct CgroupLimits {
        struct {
                int fd;           /* owned: directory of the group, opened with O_PATH; -1 if there is none */
                unsigned n_above; /* number of visible groups above */
        } directories[N_HIERARCHIES];
} CgroupLimits;

struct Cgroup {
        CgroupTree *tree; /* borrowed */
        int fds[N_CGROUP_FILES];
        int events_fd;    /* v2; -1 if v2 is not used */
        uint32_t lacking; /* v1 parts that need two files, one of which is missing */
        CgroupLimits limits;
        CgroupSample last; /* as the kernel counts */
        Counter counters[N_VALUES]; /* unused for gauges */
        double n_cpus; /* that can be online */
        uint64_t turn_ns;
        uint64_t id; /* inode of the group's directory in its main hierarchy: the kernel assigns increasing numbers
                      * over all files of a hierarchy */
        bool is_peak_enough; /* the kernel's peak of memory suffices */
        bool is_step;        /* with the files of cgroup_open_step() only */
};

static const struct {
        Hierarchy hierarchy;
        CgroupPart part;
        bool is_often;
        const char *name, *other_name;
} files[N_CGROUP_FILES] = {
#define X(file, hierarchy, part, is_often, name, other_name, ...)                                                      \
        [CGROUP_FILE_##file] = { HIERARCHY_##hierarchy, CGROUP_##part, is_often, name, other_name },
        CGROUP_FILES(X)
#undef X
};

/* --- limits of the ancestors ----------------------------------------------------------------------- */

/*
 * A limit also applies to all groups below it: the effective limit is the minimum on the path to the root. There are
 * many such files, which rarely change, so only the group's directories stay open, not the files. CPU sets need no
 * minimum: the kernel's file contains the effective set.
 */

/* The parts of a sample that are limits. */
#define CGROUP_LIMIT_PARTS (1U << CGROUP_CPU_LIMIT | 1U << CGROUP_CPUSET | 1U << CGROUP_MEMORY_LIMIT)

/* the longest texts are CPU lists */
#define LIMIT_TEXT_MAX 4096
/* maximum number of levels above that are read; longer paths are possible */
#define ABOVE_MAX 64
#define UP "../"

static void cgroup_limits_init(CgroupLimits *limits) {
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                limits->directories[h].fd = -1;
}

static void cgroup_limits_deinit(CgroupLimits *limits) {
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                closep(&limits->directories[h].fd);
        cgroup_limits_init(limits);
}

/* Returns true if a hierarchy has limits: its directory must stay open. */
static bool cgroup_limits_are_in(Hierarchy hierarchy) {
        return hierarchy == HIERARCHY_V2 || hierarchy == HIERARCHY_CPU || hierarchy == HIERARCHY_CPUSET ||
               hierarchy == HIERARCHY_MEMORY;
}

/* Takes ownership of the descriptor. */
static void cgroup_limits_add(CgroupLimits *limits, Hierarchy hierarchy, int fd, unsigned n_above) {
        limits->directories[hierarchy].fd = fd;
        limits->directories[hierarchy].n_above = n_above < ABOVE_MAX ? n_above : ABOVE_MAX;
}

/* Reads a file of the group n_up levels above. Returns false if the file is missing or malformed. */
static bool read_limit(int dir_fd, unsigned n_up, CgroupFile file, const char *name, CgroupSample *ret) {
        char path[ABOVE_MAX * (sizeof(UP) - 1) + 32], text[LIMIT_TEXT_MAX];
        scoped(closep) int fd = -1;
        size_t n_path = 0;
        ssize_t n;

        for (unsigned i = 0; i < n_up; i++, n_path += sizeof(UP) - 1)
                memcpy(path + n_path, UP, sizeof(UP) - 1);
        memcpy(path + n_path, name, strlen(name) + 1);

        fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return false;

        do
                n = read(fd, text, sizeof(text) - 1);
        while (n < 0 && errno == EINTR);
        if (n < 0 || (size_t)n == sizeof(text) - 1)
                return false;
        text[n] = '\0';
        return cgroup_parse_file(file, text, ret) == 0;
}

static bool is_less_cpu(const CgroupSample *a, const CgroupSample *b) {
        if (a->quota_us == CGROUP_NO_LIMIT || b->quota_us == CGROUP_NO_LIMIT)
                return a->quota_us < b->quota_us;
        return (double)a->quota_us / (double)a->period_us < (double)b->quota_us / (double)b->period_us;
}

static bool read_cpu(int dir_fd, unsigned n_up, Hierarchy hierarchy, CgroupSample *ret) {
        if (hierarchy == HIERARCHY_V2)
                return read_limit(dir_fd, n_up, CGROUP_FILE_CPU_MAX, "cpu.max", ret);
        return read_limit(dir_fd, n_up, CGROUP_FILE_V1_QUOTA, "cpu.cfs_quota_us", ret) &&
               read_limit(dir_fd, n_up, CGROUP_FILE_V1_PERIOD, "cpu.cfs_period_us", ret) && ret->period_us > 0;
}

static void find_cpu(int dir_fd, unsigned n_above, Hierarchy hierarchy, CgroupSample *ret) {
        bool has_any = false;

        for (unsigned n_up = 0; n_up <= n_above; n_up++) {
                CgroupSample level = {};

                if (!read_cpu(dir_fd, n_up, hierarchy, &level) || (has_any && !is_less_cpu(&level, ret)))
                        continue;
                ret->quota_us = level.quota_us;
                ret->period_us = level.period_us;
                ret->have |= 1U << CGROUP_CPU_LIMIT;
                has_any = true;
        }
}

static bool read_memory(int dir_fd, unsigned n_up, Hierarchy hierarchy, CgroupSample *ret) {
        if (hierarchy == HIERARCHY_V2)
                return read_limit(dir_fd, n_up, CGROUP_FILE_MEMORY_MAX, "memory.max", ret);
        return read_limit(dir_fd, n_up, CGROUP_FILE_V1_MEMORY_LIMIT, "memory.limit_in_bytes", ret);
}

static void find_memory(int dir_fd, unsigned n_above, Hierarchy hierarchy, CgroupSample *ret) {
        bool has_any = false;

        for (unsigned n_up = 0; n_up <= n_above; n_up++) {
                CgroupSample level = {};

                if (!read_memory(dir_fd, n_up, hierarchy, &level) ||
                    (has_any && level.memory_limit_bytes >= ret->memory_limit_bytes))
                        continue;
                ret->memory_limit_bytes = level.memory_limit_bytes;
                ret->have |= 1U << CGROUP_MEMORY_LIMIT;
                has_any = true;
        }
}

/* Since 4.2, v1 has a file with the effective CPUs; older kernels have only the configured CPUs. */
static void find_cpuset(int dir_fd, unsigned n_above, Hierarchy hierarchy, CgroupSample *ret) {
        CgroupSample level = {};
        bool has = false;

        /* without the controller, the nearest group above that has the file determines the CPUs */
        for (unsigned n_up = 0; n_up <= n_above && !has; n_up++)
                has = hierarchy == HIERARCHY_V2
                              ? read_limit(dir_fd, n_up, CGROUP_FILE_CPUSET, "cpuset.cpus.effective", &level)
                              : read_limit(dir_fd, n_up, CGROUP_FILE_V1_CPUSET, "cpuset.effective_cpus", &level) ||
                                        read_limit(dir_fd, n_up, CGROUP_FILE_V1_CPUSET, "cpuset.cpus", &level);
        if (!has)
                return;
        ret->n_cpus = level.n_cpus;
        ret->have |= 1U << CGROUP_CPUSET;
}

/*
 * Reads the limits into their fields and parts, and changes nothing else. If the group is gone, old values are kept.
 */
static void cgroup_limits_read(const CgroupLimits *limits, CgroupSample *ret) {
        ret->have &= ~CGROUP_LIMIT_PARTS;
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++) {
                int fd = limits->directories[h].fd;
                unsigned n_above = limits->directories[h].n_above;

                if (fd < 0)
                        continue;
                if (h == HIERARCHY_V2 || h == HIERARCHY_CPU)
                        find_cpu(fd, n_above, h, ret);
                if (h == HIERARCHY_V2 || h == HIERARCHY_CPUSET)
                        find_cpuset(fd, n_above, h, ret);
                if (h == HIERARCHY_V2 || h == HIERARCHY_MEMORY)
                        find_memory(fd, n_above, h, ret);
        }
}

/* --- counters ------------------------------------------------------------------------------------ */

/* Several disks may serve one group. */
#define IO_MAX_PER_S (4 * DISK_MAX_PER_S)
#define EVENTS_MAX_PER_S 1e7

/* Counters in the order of CGROUP_VALUES. */
static const struct {
        bool is_counter;
        CgroupPart part;
        size_t offset;
} values[] = {
#define IS_COUNTER true
#define IS_GAUGE false
#define X(member, part, kind) { IS_##kind, CGROUP_##part, offsetof(CgroupSample, member) },
        CGROUP_VALUES(X)
#undef X
};

static CounterLimit limit_of(CgroupPart part, double n_cpus) {
        if (part == CGROUP_CPU || part == CGROUP_THROTTLING_LOCAL)
                return (CounterLimit){ .kind = COUNTER_TIME, .max_per_s = 1e6 * n_cpus, .lag_s = 10 };
        if (part >= CGROUP_PSI_CPU)
                return (CounterLimit){ .kind = COUNTER_TIME, .max_per_s = 1e6 * n_cpus, .lag_s = 3 };
        return (CounterLimit){ .kind = COUNTER_NUMBER, .lag_s = 1,
                               .max_per_s = part == CGROUP_IO ? IO_MAX_PER_S : EVENTS_MAX_PER_S * n_cpus };
}

/* Replaces the counters that were read by what is believed of them, see counter.h. */
static void believe(Cgroup *cgroup, uint32_t read, CgroupSample *sample) {
        for (size_t i = 0; i < N_ELEMENTS(values); i++) {
                uint64_t *value = (uint64_t *)(void *)((char *)sample + values[i].offset), amount;
                const CounterLimit limit = limit_of(values[i].part, cgroup->n_cpus);

                if (!values[i].is_counter || !cgroup_sample_has(sample, values[i].part))
                        continue;
                if (read & (1U << values[i].part))
                        (void)counter_advance(&cgroup->counters[i], *value, sample->boottime_ns, &limit, &amount);
                *value = cgroup->counters[i].shown;
        }
}

/* --- opening ------------------------------------------------------------------------------------ */

/*
 * Returns 0 and the open file in *ret_fd, or -1 if it cannot be opened; a negative errno if descriptors or memory are
 * exhausted.
 */
static int open_file(int dir_fd, const char *name, int *ret_fd) {
        int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
                return -errno;
        *ret_fd = fd;
        return 0;
}

static int open_either(int dir_fd, const char *name, const char *other_name, int *ret_fd) {
        int r;

        r = open_file(dir_fd, name, ret_fd);
        if (r < 0 || *ret_fd >= 0 || !other_name)
                return r;
        return open_file(dir_fd, other_name, ret_fd);
}

/*
 * Reads with a single call: the kernel returns the whole content of such a file if the buffer is large enough.
 * Returns 0 or a positive errno.
 */
static int read_text(int fd, char *text, size_t n_max) {
        ssize_t n;

        do
                n = pread(fd, text, n_max - 1, 0);
        while (n < 0 && errno == EINTR);

        if (n < 0)
                return errno;
        if ((size_t)n == n_max - 1)
                return EFBIG;
        text[n] = '\0';
        return 0;
}

/*
 * Several kernels (such as 6.1) count v1's I/O only for throttled groups, and report 0 otherwise. A machine has read
 * from its disks before it runs jobs: if even the root group has counted nothing, counting is off.
 */
static bool is_io_counted(CgroupTree *tree) {
        char *text = cgroup_tree_text(tree), path[CGROUP_PATH_MAX];
        scoped(closep) int dir_fd = -1, fd = -1;
        const char *p = text;
        bool has_any = false;
        CgroupIo io;
        int r;

        if (cgroup_tree_path(tree, HIERARCHY_BLKIO, "", path) != 0 ||
            cgroup_tree_open(tree, HIERARCHY_BLKIO, path, &dir_fd) != 0 ||
            open_either(dir_fd, files[CGROUP_FILE_V1_IO_BYTES].name, files[CGROUP_FILE_V1_IO_BYTES].other_name, &fd) !=
                    0 ||
            fd < 0 || read_text(fd, text, CGROUP_TEXT_MAX) != 0)
                return true;

        while (!has_any && (r = cgroup_parse_next_io(CGROUP_FILE_V1_IO_BYTES, &p, &io)) != CGROUP_TEXT_END)
                has_any = r == 0 && (io.read_bytes > 0 || io.write_bytes > 0);
        return has_any;
}

static int open_files(Cgroup *cgroup, int dir_fd, Hierarchy hierarchy) {
        int r;

        for (CgroupFile file = 0; file < N_CGROUP_FILES; file++) {
                if (!files[file].name || files[file].hierarchy != hierarchy ||
                    (cgroup->is_step && (!files[file].is_often || files[file].part == CGROUP_PIDS)))
                        continue;
                r = open_either(dir_fd, files[file].name, files[file].other_name, &cgroup->fds[file]);
                if (r < 0)
                        return r;
                if (cgroup->is_step && cgroup->fds[file] >= STEP_FD_MAX)
                        return -EMFILE;
                if (cgroup->fds[file] < 0 && hierarchy != HIERARCHY_V2)
                        cgroup->lacking |= 1U << files[file].part;
        }

        return hierarchy == HIERARCHY_V2 ? open_file(dir_fd, "cgroup.events", &cgroup->events_fd) : 0;
}

static int read_id(int dir_fd, uint64_t *ret) {
        struct stat st;

        if (fstat(dir_fd, &st) < 0)
                return -errno;
        *ret = st.st_ino;
        return 0;
}

static int open_hierarchies(Cgroup *cgroup, const CgroupPlace *place) {
        int r;

        for (Hierarchy h = 0; h < N_HIERARCHIES; h++) {
                const char *path = cgroup_tree_place_path(place, h);
                scoped(closep) int dir_fd = -1;

                if (!cgroup_tree_place_is_own(place, h) || (h == HIERARCHY_BLKIO && !is_io_counted(cgroup->tree)))
                        continue;
                r = cgroup_tree_open(cgroup->tree, h, path, &dir_fd);
                if (r == CGROUP_GONE && h != cgroup_tree_place_main(place))
                        continue;
                if (r == 0 && h == cgroup_tree_place_main(place))
                        r = read_id(dir_fd, &cgroup->id);
                if (r != 0)
                        return r;
                r = open_files(cgroup, dir_fd, h);
                if (r < 0)
                        return r;
                if (cgroup_limits_are_in(h) && !cgroup->is_step)
                        cgroup_limits_add(&cgroup->limits, h, TAKE_FD(dir_fd),
                                          cgroup_tree_n_above(cgroup->tree, h, path));
        }
        return 0;
}

static bool has_any(const Cgroup *cgroup) {
        for (CgroupFile file = 0; file < N_CGROUP_FILES; file++)
                if (cgroup->fds[file] >= 0)
                        return true;
        return false;
}

static int open_cgroup(Cgroup **ret, CgroupTree *tree, const CgroupPlace *place, bool is_step) {
        scoped(cgroup_freep) Cgroup *cgroup = NULL;
        Hierarchy main = cgroup_tree_place_main(place);
        int r;

        if (main == N_HIERARCHIES)
                return CGROUP_GONE;

        cgroup = calloc(1, sizeof(*cgroup));
        if (!cgroup)
                return -ENOMEM;

        cgroup->tree = tree;
        cgroup->is_step = is_step;
        cgroup->n_cpus = (double)sysconf(_SC_NPROCESSORS_CONF);
        cgroup->events_fd = -1;
        cgroup->turn_ns = cgroup_tree_count(tree) % TURNS * NS_PER_S;
        cgroup_limits_init(&cgroup->limits);
        for (CgroupFile file = 0; file < N_CGROUP_FILES; file++)
                cgroup->fds[file] = -1;

        r = open_hierarchies(cgroup, place);
        if (r != 0)
                return r;
        if (!has_any(cgroup))
                return CGROUP_GONE;

        *ret = TAKE(cgroup);
        return 0;
}

int cgroup_open(Cgroup **ret, CgroupTree *tree, const CgroupPlace *place) {
        return open_cgroup(ret, tree, place, false);
}

int cgroup_open_step(Cgroup **ret, CgroupTree *tree, const CgroupPlace *place) {
        int r;

        r = open_cgroup(ret, tree, place, true);
        if (r == 0)
                cgroup_trust_peak(*ret, true);
        return r;
}

Cgroup *cgroup_free(Cgroup *cgroup) {
        if (!cgroup)
                return NULL;

        for (CgroupFile file = 0; file < N_CGROUP_FILES; file++)
                closep(&cgroup->fds[file]);
        closep(&cgroup->events_fd);
        cgroup_limits_deinit(&cgroup->limits);
        free(cgroup);
        return NULL;
}

/* --- reading ------------------------------------------------------------------------------------ */

/*
 * Reading a file fails with ENODEV if its group was removed, but also if the controller was disabled, which is
 * possible in v2 at any time. cgroup.events exists as long as the group. v1 has no such file, and cannot disable a
 * controller.
 */
static bool is_removed(const Cgroup *cgroup) {
        char text[4096];

        if (cgroup->events_fd >= 0)
                return read_text(cgroup->events_fd, text, sizeof(text)) == ENODEV;
        for (CgroupFile file = 0; file < N_CGROUP_FILES; file++)
                if (cgroup->fds[file] >= 0)
                        return read_text(cgroup->fds[file], text, sizeof(text)) == ENODEV;
        return true;
}

static int parse_file(Cgroup *cgroup, CgroupFile file, CgroupSample *sample) {
        const char *text = cgroup_tree_text(cgroup->tree);

        if (files[file].part == CGROUP_IO)
                return cgroup_devices_sum(cgroup_tree_devices(cgroup->tree), file, text, sample);
        return cgroup_parse_file(file, text, sample);
}

/* Returns 0, CGROUP_GONE, or -ENOMEM. The part of a file that cannot be read or parsed is added to *lacking. */
static int read_file(Cgroup *cgroup, CgroupFile file, CgroupSample *sample, uint32_t *lacking) {
        int error, r;

        error = read_text(cgroup->fds[file], cgroup_tree_text(cgroup->tree), CGROUP_TEXT_MAX);
        if (error == ENODEV) {
                if (files[file].hierarchy != HIERARCHY_V2 || is_removed(cgroup))
                        return CGROUP_GONE;
                closep(&cgroup->fds[file]);
                cgroup->fds[file] = -1;
        }

        r = error ? TEXT_MALFORMED : parse_file(cgroup, file, sample);
        if (r < 0)
                return r;
        if (r != 0)
                *lacking |= 1U << files[file].part;
        return 0;
}

/* cpu.stat and memory.stat contain two parts. */
static uint32_t parts_of(CgroupFile file) {
        return 1U << files[file].part | (file == CGROUP_FILE_CPU_STAT ? 1U << CGROUP_THROTTLING : 0) |
               (file == CGROUP_FILE_MEMORY_STAT ? 1U << CGROUP_MEMORY_KERNEL : 0);
}

static bool is_often(const Cgroup *cgroup, CgroupFile file) {
        return files[file].is_often && !(cgroup->is_peak_enough && files[file].part == CGROUP_MEMORY);
}

/* Reads the files with is_often equal to `often`. The old values of their parts are invalidated first. */
static int read_files(Cgroup *cgroup, bool often, CgroupSample *sample, uint32_t *read) {
        uint32_t lacking = cgroup->lacking;
        int r;

        for (CgroupFile file = 0; file < N_CGROUP_FILES; file++)
                if (cgroup->fds[file] >= 0 && is_often(cgroup, file) == often)
                        sample->have &= ~parts_of(file);

        for (CgroupFile file = 0; file < N_CGROUP_FILES; file++) {
                if (cgroup->fds[file] < 0 || is_often(cgroup, file) != often)
                        continue;
                *read |= parts_of(file);
                r = read_file(cgroup, file, sample, &lacking);
                if (r != 0)
                        return r;
                if (files[file].part == CGROUP_MEMORY_STAT)
                        sample->memory_stat_ns = sample->boottime_ns;
        }

        sample->have &= ~lacking;
        return 0;
}

/* Limits of a removed group are unknown: only the limits of the groups above could be read. */
static void read_limits(const Cgroup *cgroup, CgroupSample *sample) {
        CgroupSample limits = *sample;

        cgroup_limits_read(&cgroup->limits, &limits);
        if (!is_removed(cgroup))
                *sample = limits;
}

static bool is_due(const Cgroup *cgroup, uint64_t now_ns, uint64_t interval_ns) {
        return (now_ns + cgroup->turn_ns) / interval_ns != (cgroup->last.boottime_ns + cgroup->turn_ns) / interval_ns;
}

static int read_some(Cgroup *cgroup, uint64_t boottime_ns, bool with_others, bool with_limits, CgroupSample *ret) {
        CgroupSample sample = cgroup->last;
        uint32_t read = 0;
        int r;

        sample.boottime_ns = boottime_ns;
        r = read_files(cgroup, true, &sample, &read);
        if (r == 0 && with_others)
                r = read_files(cgroup, false, &sample, &read);
        if (r != 0)
                return r;
        if (with_limits)
                read_limits(cgroup, &sample);

        *ret = cgroup->last = sample;
        believe(cgroup, read, ret);
        return 0;
}

int cgroup_read(Cgroup *cgroup, uint64_t boottime_ns, CgroupSample *ret) {
        return read_some(cgroup, boottime_ns, true, true, ret);
}

int cgroup_refresh(Cgroup *cgroup, uint64_t boottime_ns, CgroupSample *ret) {
        return read_some(cgroup, boottime_ns, is_due(cgroup, boottime_ns, CGROUP_SELDOM_NS),
                         is_due(cgroup, boottime_ns, CGROUP_LIMITS_NS), ret);
}

void cgroup_trust_peak(Cgroup *cgroup, bool is_enough) {
        bool has_peak = cgroup->fds[CGROUP_FILE_MEMORY_PEAK] >= 0 || cgroup->fds[CGROUP_FILE_V1_MEMORY_PEAK] >= 0;

        cgroup->is_peak_enough = is_enough && has_peak;
}

/* --- events and identity ------------------------------------------------------------------------ */

int cgroup_events_fd(const Cgroup *cgroup) {
        return cgroup->events_fd;
}

bool cgroup_is_populated(const Cgroup *cgroup) {
        char text[256];

        if (cgroup->events_fd < 0)
                return !is_removed(cgroup);
        return read_text(cgroup->events_fd, text, sizeof(text)) == 0 && cgroup_parse_populated(text);
}

CgroupTree *cgroup_tree(const Cgroup *cgroup) {
        return cgroup->tree;
}

uint64_t cgroup_id(const Cgroup *cgroup) {
        return cgroup->id;
}
