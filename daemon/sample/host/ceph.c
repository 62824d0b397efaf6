/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CephFS: statistics of a mount of the kernel's client, below sys/kernel/debug/ceph/FSID.clientN
 *
 * They count requests to the servers, and their bytes since Linux 5.14. Of the times there is only the mean since the
 * mount, of which none of a job can be made. The kernel takes locks for a moment and asks no server. Only root can
 * read the files, unless their group is changed.
 */

#include "sample/host/netfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sample/kernel_text.h"
#include "util/file.h"
#include "util/scan.h"

#define FOLDER "sys/kernel/debug/ceph"

static bool is_client(const char *name, const char *fsid, size_t n) {
        return strstr(name, ".client") && (n == 0 || (strncmp(name, fsid, n) == 0 && name[n] == '.'));
}

/* Images of RBD are clients without metrics. Before Linux 5.15, all tables are in one file. */
static bool find_file(int root_fd, const char *client, char ret_path[static NETFS_PATH_MAX]) {
        for (const char *const *leaf = (const char *const[]){ "metrics/size", "metrics", NULL }; *leaf; leaf++) {
                (void)snprintf(ret_path, NETFS_PATH_MAX, FOLDER "/%.100s/%s", client, *leaf);
                if (faccessat(root_fd, ret_path, F_OK, 0) == 0)
                        return true;
        }
        return false;
}

/* source: "admin@FSID.name=/dir", or "10.0.0.1:6789:/dir", which can be any. */
static int find_statistics(int root_fd, const char *source, size_t i, char ret_path[static NETFS_PATH_MAX]) {
        scoped(closedirp) DIR *list = file_open_list(root_fd, FOLDER);
        int error = list ? ENOENT : errno;
        const char *at = strchr(source, '@');
        size_t n = at ? strcspn(at + 1, ".=") : 0;
        const struct dirent *entry;

        while (list && (entry = readdir(list)))
                if (is_client(entry->d_name, at ? at + 1 : "", n) && find_file(root_fd, entry->d_name, ret_path) &&
                    i-- == 0)
                        return 0;
        (void)snprintf(ret_path, NETFS_PATH_MAX, FOLDER);
        return error;
}

/* --- statistics ----------------------------------------------------------------------------------- */

/* Lines of a table, which a word of its heading tells. The first column is a count, the last one a sum of sizes. */
static const struct {
        const char *heading, *name;
        size_t count, sum; /* N_NETFS_VALUES: not */
} lines[] = {
        { "total_sz(bytes)", "read", NETFS_reads, NETFS_read_bytes },
        { "total_sz(bytes)", "write", NETFS_writes, NETFS_write_bytes },
        { "avg_lat(us)", "read", NETFS_reads, N_NETFS_VALUES },
        { "avg_lat(us)", "write", NETFS_writes, N_NETFS_VALUES },
        { "avg_lat(us)", "metadata", NETFS_metadata_operations, N_NETFS_VALUES },
};

static bool has_heading(const char *line, const char *heading) {
        const char *found = strstr(line, heading);

        return found && found < scan_line_end(line);
}

/* Sets the values of a line such as "read 240 4096 1 4194304 983040". */
static void put_line(const char *heading, const char *line, SampleEquipment *item) {
        size_t n = strcspn(line, " \n");
        uint64_t count, last = 0;
        const char *p = scan_u64(line + n, &count), *end = p;

        while (end && *end != '\n')
                end = scan_u64(end, &last);
        for (size_t i = 0; p && i < N_ELEMENTS(lines); i++) {
                if (strlen(lines[i].name) != n || memcmp(lines[i].name, line, n) != 0 ||
                    !has_heading(heading, lines[i].heading))
                        continue;
                if (!equipment_has(item, lines[i].count)) /* both tables have it */
                        equipment_set(item, lines[i].count, count);
                if (end && lines[i].sum < N_NETFS_VALUES)
                        equipment_set(item, lines[i].sum, last);
        }
}

static int parse(const char *text, SampleEquipment *item, const char **ret_fault) {
        const char *heading = "";

        for (const char *line = text; *line; line = scan_line_end(line)) {
                if (!strchr(line, '\n'))
                        return kernel_text_malformed("truncated in the middle of a line", ret_fault);
                if (strncmp(line, "item ", 5) == 0)
                        heading = line;
                put_line(heading, line, item);
        }
        return *heading ? 0 : kernel_text_malformed("no table", ret_fault);
}

const NetfsFiles ceph_files = {
        .type = "ceph", .find = find_statistics, .parse = parse, .leaf = "/size", .beside = "/latency"
};
