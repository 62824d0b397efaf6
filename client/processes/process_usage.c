/* SPDX-License-Identifier: Apache-2.0 */
#include "client/processes/process_usage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/file.h"
#include "util/parse.h"
#include "util/scan.h"

#define FILE_BYTES_MAX ((size_t)8 << 10)
#define ENVIRON_BYTES_MAX ((size_t)1 << 20)

/* --- stat ----------------------------------------------------------------------------------------- */

/* The name of a process may contain any character, brackets included. */
static bool stat_parse(const char *text, ProcessUsage *ret) {
        const char *open = strchr(text, '('), *close = strrchr(text, ')');
        uint64_t user, system, rss_pages;
        int64_t waited_user, waited_system;
        char state;
        size_t n;

        if (!open || !close || close < open ||
            sscanf(close, ") %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNd64
                          " %*d %*d %*d %*d %" SCNu64 " %*u %" SCNu64,
                   &state, &ret->parent, &ret->group, &user, &system, &waited_user, &waited_system, &ret->start_ticks, &rss_pages) != 9)
                return false;

        n = (size_t)(close - open - 1) < sizeof(ret->name) ? (size_t)(close - open - 1) : sizeof(ret->name) - 1;
        memcpy(ret->name, open + 1, n);
        ret->name[n] = '\0';
        ret->is_zombie = state == 'Z' || state == 'X';
        ret->taken[USAGE_CPU] = (uint64_t)(waited_user + waited_system);
        ret->used[USAGE_CPU] = user + system + ret->taken[USAGE_CPU];
        ret->rss_bytes = rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
        return state != 'X'; /* being removed: its parent has waited for it */
}

/* --- files with lines "NAME: NUMBER" ---------------------------------------------------------------- */

/* Adds up the numbers of all lines of a name. False: there is none. */
static bool find_numbers(const char *text, const char *name, uint64_t *ret) {
        size_t n = strlen(name);
        bool is_found = false;
        uint64_t v;

        *ret = 0;
        for (const char *p = text; *p; p = scan_line_end(p))
                if (strncmp(p, name, n) == 0 && p[n] == ':' && scan_u64(p + n + 1, &v)) {
                        *ret += v;
                        is_found = true;
                }
        return is_found;
}

/* Returns 0 or an errno. */
static int read_io(int fd, ProcessUsage *usage) {
        scoped(freep) char *text = NULL;
        int r = file_read_at(fd, "io", FILE_BYTES_MAX, &text, NULL);

        if (r < 0)
                return -r;
        if (!find_numbers(text, "read_bytes", &usage->used[USAGE_READ]) || !find_numbers(text, "write_bytes", &usage->used[USAGE_WRITTEN]))
                return ENOTSUP;
        usage->taken[USAGE_READ] = usage->used[USAGE_READ];
        usage->taken[USAGE_WRITTEN] = usage->used[USAGE_WRITTEN];
        return 0;
}

/* Returns 0 or an errno. A process without pages, such as one that is ending, has no such file (ESRCH). */
static int read_pages(int fd, ProcessUsage *usage) {
        scoped(freep) char *text = NULL;
        uint64_t clean, dirty;
        int r = file_read_at(fd, "smaps_rollup", FILE_BYTES_MAX, &text, NULL);

        if (r < 0)
                return r == -ESRCH ? 0 : -r;
        if (!find_numbers(text, "Pss", &usage->pss_bytes) || !find_numbers(text, "Private_Clean", &clean) ||
            !find_numbers(text, "Private_Dirty", &dirty))
                return ENOTSUP;
        usage->pss_bytes *= 1024;
        usage->private_bytes = (clean + dirty) * 1024;
        return 0;
}

static int open_process(int proc_fd, pid_t pid) {
        char name[16];

        snprintf(name, sizeof(name), "%d", (int)pid);
        return openat(proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int process_usage_read(int proc_fd, pid_t pid, UsageParts parts, ProcessUsage *ret) {
        scoped(closep) int fd = open_process(proc_fd, pid); /* all files are of one process, even if its pid is used again */
        scoped(freep) char *text = NULL;
        int r;

        if (fd < 0)
                return errno == ENOENT ? PROCESS_USAGE_GONE : -errno;
        r = file_read_at(fd, "stat", FILE_BYTES_MAX, &text, NULL);
        if (r < 0)
                return r == -ESRCH || r == -ENOENT ? PROCESS_USAGE_GONE : r;

        *ret = (ProcessUsage){ .pid = pid, .io_error = ENODATA, .pages_error = ENODATA };
        if (!stat_parse(text, ret))
                return PROCESS_USAGE_GONE;
        if (parts == USAGE_STAT)
                return 0;
        ret->io_error = read_io(fd, ret);
        if (parts == USAGE_PAGES)
                ret->pages_error = ret->is_zombie ? 0 : read_pages(fd, ret);
        return ret->io_error == ESRCH ? PROCESS_USAGE_GONE : 0;
}

/* --- environment ---------------------------------------------------------------------------------- */

/* The program that started the ranks last sets the first. */
static const char *const ranks[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID" };
static const char *const local_ranks[] = { "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID" };

static int64_t find_rank(const char *text, size_t n, const char *const *names, size_t n_names) {
        for (size_t i = 0; i < n_names; i++) {
                size_t n_name = strlen(names[i]);
                uint64_t rank;

                for (const char *p = text; p < text + n; p += strlen(p) + 1)
                        if (strncmp(p, names[i], n_name) == 0 && p[n_name] == '=' && parse_u64(p + n_name + 1, &rank) == 0 &&
                            rank <= INT64_MAX)
                                return (int64_t)rank;
        }
        return -1;
}

ProcessRank process_usage_read_rank(int proc_fd, pid_t pid) {
        scoped(freep) char *text = NULL;
        char path[32];
        size_t n;

        snprintf(path, sizeof(path), "%d/environ", (int)pid);
        if (file_read_at(proc_fd, path, ENVIRON_BYTES_MAX, &text, &n) < 0)
                return (ProcessRank){ -1, -1 };
        return (ProcessRank){ find_rank(text, n, ranks, N_ELEMENTS(ranks)), find_rank(text, n, local_ranks, N_ELEMENTS(local_ranks)) };
}
