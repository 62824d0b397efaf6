/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lustre: statistics of a mount, proc/fs/lustre/llite or sys/kernel/debug/lustre/llite (since version 2.12)
 *
 * They count what programs read and wrote, from the cache as well, and operations, with their times since version
 * 2.14. Only root can enter debugfs, unless its group is changed.
 */

#include "sample/host/netfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sample/kernel_text.h"
#include "util/file.h"
#include "util/scan.h"

#define SOURCE_MAX 64U

/* Copies the name of the file system: of "10.0.0.1@tcp:10.0.0.2@tcp:/scratch/home", "scratch". */
static size_t name_of(const char *source, char ret[static SOURCE_MAX]) {
        const char *slash = strstr(source, ":/");
        size_t n = slash ? strcspn(slash + 2, "/") : 0;

        n = n < SOURCE_MAX ? n : 0;
        if (n > 0)
                memcpy(ret, slash + 2, n);
        ret[n] = '\0';
        return n;
}

/* A mount has a directory with the name of its file system and an address in memory: "scratch-ffff9f6a4c1e2000". */
static int find_in(int root_fd, const char *folder, const char *name, size_t i, char ret_path[static NETFS_PATH_MAX]) {
        scoped(closedirp) DIR *list = file_open_list(root_fd, folder);
        int error = list ? ENOENT : errno;
        const struct dirent *entry;
        size_t n = strlen(name);

        (void)snprintf(ret_path, NETFS_PATH_MAX, "%s", folder);
        while (list && (entry = readdir(list))) {
                bool is_other = strncmp(entry->d_name, name, n) != 0 || entry->d_name[n] != '-' ||
                                strchr(entry->d_name + n + 1, '-');

                if (is_other || i-- > 0)
                        continue;
                (void)snprintf(ret_path, NETFS_PATH_MAX, "%s/%.96s/stats", folder, entry->d_name);
                return 0;
        }
        return error;
}

/* source: such as "10.0.0.1@tcp:/scratch". */
static int find_statistics(int root_fd, const char *source, size_t i, char ret_path[static NETFS_PATH_MAX]) {
        char name[SOURCE_MAX];

        (void)snprintf(ret_path, NETFS_PATH_MAX, "%.100s", source);
        if (name_of(source, name) == 0)
                return EINVAL;
        if (find_in(root_fd, "proc/fs/lustre/llite", name, i, ret_path) == 0)
                return 0;
        return find_in(root_fd, "sys/kernel/debug/lustre/llite", name, i, ret_path);
}

/* --- statistics ----------------------------------------------------------------------------------- */

/* Lines of which the number of samples is counted, or their sum as well. */
static const struct {
        const char *name;
        size_t count, sum; /* N_NETFS_VALUES: not */
} lines[] = {
        { "read_bytes", NETFS_reads, NETFS_read_bytes },
        { "write_bytes", NETFS_writes, NETFS_write_bytes },
        { "read", N_NETFS_VALUES, NETFS_read_us },
        { "write", N_NETFS_VALUES, NETFS_write_us },
#define OTHER(name) { name, NETFS_metadata_operations, N_NETFS_VALUES }
        OTHER("open"),    OTHER("close"),    OTHER("create"),   OTHER("mknod"),       OTHER("link"),
        OTHER("unlink"),  OTHER("symlink"),  OTHER("mkdir"),    OTHER("rmdir"),       OTHER("rename"),
        OTHER("readdir"), OTHER("getattr"),  OTHER("setattr"),  OTHER("truncate"),    OTHER("statfs"),
        OTHER("fsync"),   OTHER("getxattr"), OTHER("setxattr"), OTHER("removexattr"), OTHER("listxattr"),
#undef OTHER
};

/* Adds "open 20 samples [usec] 14 134 148 18152"; the last numbers are missing for operations without a size or time.
 * Other lines are times. */
static void add_line(const char *line, uint64_t sums[static N_NETFS_VALUES + 1], bool *has_times) {
        size_t n = strcspn(line, " \n");
        uint64_t count, least, most, sum = 0;
        const char *p = scan_u64(line + n, &count), *unit = p ? kernel_text_skip(p, " samples [") : NULL;

        if (!unit)
                return;
        *has_times |= strncmp(unit, "usec", 4) == 0;
        p = strchrnul(unit, ']');
        p = *p ? scan_u64(p + 1, &least) : NULL;
        p = p ? scan_u64(p, &most) : NULL;
        p = p ? scan_u64(p, &sum) : NULL;
        for (size_t i = 0; i < N_ELEMENTS(lines); i++)
                if (strlen(lines[i].name) == n && memcmp(lines[i].name, line, n) == 0) {
                        sums[lines[i].count] += count;
                        sums[lines[i].sum] += sum;
                }
}

/* A line is missing as long as it would be 0. */
static int parse(const char *text, SampleEquipment *item, const char **ret_fault) {
        uint64_t sums[N_NETFS_VALUES + 1] = {};
        bool has_times = false;

        if (strncmp(text, "snapshot_time", 13) != 0)
                return kernel_text_malformed("no snapshot_time", ret_fault);
        for (const char *line = text; *line; line = scan_line_end(line)) {
                if (!strchr(line, '\n'))
                        return kernel_text_malformed("truncated in the middle of a line", ret_fault);
                add_line(line, sums, &has_times);
        }

        for (size_t i = 0; i < N_NETFS_VALUES; i++)
                if (i != NETFS_retransmissions && (has_times || (i != NETFS_read_us && i != NETFS_write_us)))
                        equipment_set(item, i, sums[i]);
        return 0;
}

const NetfsFiles lustre_files = { .type = "lustre", .find = find_statistics, .parse = parse };
