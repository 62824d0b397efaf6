/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cgroup/child_group.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "util/clock.h"
#include "util/file.h"

/* Moves this process into the group. Fails if the group enables controllers for child groups, or is threaded. */
static int enter(int fd, const char *path) {
        scoped(closep) int procs_fd = openat(fd, path, O_WRONLY | O_CLOEXEC);

        if (procs_fd < 0)
                return -errno;

        return file_write_all(procs_fd, "0", 1);
}

/* --- leftovers of other runs ---------------------------------------------------------------------- */

/* Extended attribute that marks groups made by perfctl. */
#define MARK "user.perfd"
/* Minimum age of a leftover, in seconds: a run enters its new group much sooner. */
#define AGE_MIN_S 10

static bool is_leftover(int fd) {
        struct stat st;
        char mark;

        return fgetxattr(fd, MARK, &mark, 1) == 1 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
               (uint64_t)st.st_mtim.tv_sec + AGE_MIN_S < clock_realtime_ns() / NS_PER_S;
}

static void remove_leftovers(int fd);

static void remove_leftover(int fd, const char *name) {
        scoped(closep) int group_fd = -1;

        if (strncmp(name, SCOPE_PREFIX, strlen(SCOPE_PREFIX)) != 0)
                return;

        group_fd = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (group_fd < 0 || !is_leftover(group_fd))
                return;

        remove_leftovers(group_fd);
        (void)unlinkat(fd, name, AT_REMOVEDIR); /* fails while a process is in the group */
}

/* Counts processes in the group and in groups of nested runs. */
static void remove_leftovers(int fd) {
        scoped(closedirp) DIR *dir = file_open_list(fd, ".");
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                remove_leftover(fd, entry->d_name);
}

/* --- the group of this run ------------------------------------------------------------------------ */

/* Makes a new group. An empty group of the same name is removed first: it has the counters of another job. */
static int make_group(int fd, const char *name) {
        scoped(closep) int group_fd = -1;

        if (mkdirat(fd, name, 0755) < 0) {
                if (errno != EEXIST)
                        return -errno;
                if (unlinkat(fd, name, AT_REMOVEDIR) < 0 || mkdirat(fd, name, 0755) < 0)
                        return -errno;
        }

        group_fd = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (group_fd >= 0)
                (void)fsetxattr(group_fd, MARK, "1", 1, 0); /* works since Linux 5.7 */
        return 0;
}

int child_group_enter(ChildGroup *ret, int root_fd, const char *directory, const char *job) {
        scoped(closep) int fd = openat(root_fd, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ChildGroup group = { .parent_fd = -1 };
        char path[sizeof(group.name) + 16];
        int r;

        *ret = group;
        if (fd < 0)
                return -errno;

        remove_leftovers(fd);
        snprintf(group.name, sizeof(group.name), SCOPE_PREFIX "%s", job);
        r = make_group(fd, group.name);
        if (r < 0)
                return r;

        snprintf(path, sizeof(path), "%s/cgroup.procs", group.name);
        r = enter(fd, path);
        if (r < 0) {
                (void)unlinkat(fd, group.name, AT_REMOVEDIR);
                return r;
        }

        *ret = group;
        ret->parent_fd = TAKE_FD(fd);
        return 0;
}

void child_group_leave(ChildGroup *group, bool removes) {
        if (group->parent_fd < 0)
                return;

        assert(group->name[0] && !strchr(group->name, '/'));
        if (enter(group->parent_fd, "cgroup.procs") == 0 && removes)
                (void)unlinkat(group->parent_fd, group->name, AT_REMOVEDIR);
        closep(&group->parent_fd);
        group->parent_fd = -1;
}
