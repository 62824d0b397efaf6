/* SPDX-License-Identifier: Apache-2.0 */
#include "client/processes/cgroup_members.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/array.h"
#include "util/beneath.h"
#include "util/file.h"
#include "util/scan.h"

#define PROCS_BYTES_MAX ((size_t)4 << 20)
#define DEPTH_MAX 32U
#define MOUNT "sys/fs/cgroup"

void cgroup_members_deinit(CgroupMembers *members) {
        free(members->pids);
        *members = (CgroupMembers){};
}

/* Writes the usual mount point of the hierarchy. */
static void find_mount(int root_fd, const char *controller, size_t n_controller, char *ret, size_t n_max) {
        if (n_controller > 0)
                snprintf(ret, n_max, MOUNT "/%.*s", (int)n_controller, controller);
        else
                snprintf(ret, n_max, MOUNT "%s", faccessat(root_fd, MOUNT "/cgroup.controllers", F_OK, 0) == 0 ? "" : "/unified");
}

int cgroup_members_open(int root_fd, const char *name) {
        scoped(closep) int mount_fd = -1, path_fd = -1;
        size_t n_controller = strcspn(name, ":/");
        const char *path = name + n_controller;
        char mount[128];
        int r;

        path += *path == ':';
        if (*path != '/' || path[1] == '\0')
                return -EINVAL;
        find_mount(root_fd, name, n_controller, mount, sizeof(mount));
        mount_fd = openat(root_fd, mount, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (mount_fd < 0)
                return -errno;
        r = beneath_open(mount_fd, path + 1, true, &path_fd);
        if (r != 0)
                return r < 0 ? r : -ENOENT;
        r = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return r < 0 ? -errno : r;
}

static int add_pids(const char *text, CgroupMembers *ret) {
        for (const char *p = text; *p; p = scan_line_end(p)) {
                uint64_t pid;

                if (!scan_u64(p, &pid) || pid == 0 || pid > INT32_MAX)
                        continue; /* 0: not in our pid namespace */
                if (ARRAY_RESERVE(ret->pids, ret->n_allocated, ret->n + 1) < 0)
                        return -ENOMEM;
                ret->pids[ret->n++] = (pid_t)pid;
        }
        return 0;
}

static int read_below(int fd, unsigned depth, CgroupMembers *ret);

/* Reads the groups below. One that was removed meanwhile is left out. */
static int read_children(int fd, unsigned depth, CgroupMembers *ret) {
        scoped(closedirp) DIR *list = file_open_list(fd, ".");
        struct dirent *entry;
        int r = 0;

        if (!list)
                return -errno;
        while (r == 0 && (entry = readdir(list))) {
                scoped(closep) int below_fd = -1;

                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                below_fd = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (below_fd < 0)
                        continue;
                r = read_below(below_fd, depth + 1, ret);
                if (r == -ENOENT || r == -ENODEV)
                        r = 0;
        }
        return r;
}

/* The processes of a threaded group are those of the group above, and its file cannot be read (EOPNOTSUPP). */
static int read_below(int fd, unsigned depth, CgroupMembers *ret) {
        scoped(freep) char *text = NULL;
        int r = file_read_at(fd, "cgroup.procs", PROCS_BYTES_MAX, &text, NULL);

        if (r < 0 && r != -EOPNOTSUPP)
                return r;
        r = r < 0 ? 0 : add_pids(text, ret);
        return r < 0 || depth == DEPTH_MAX ? r : read_children(fd, depth, ret);
}

int cgroup_members_read(int fd, CgroupMembers *ret) {
        int r;

        ret->n = 0;
        r = read_below(fd, 0, ret);
        return r == -ENODEV ? -ENOENT : r; /* removed while the directory is open */
}
