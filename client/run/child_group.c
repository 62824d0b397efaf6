/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/child_group.h"

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

/* Moves this process. Fails where the group has controllers for groups below it, and where threads have groups of their own. */
static int enter(int fd, const char *path) {
        scoped(closep) int procs_fd = openat(fd, path, O_WRONLY | O_CLOEXEC);

        if (procs_fd < 0)
                return -errno;

        return file_write_all(procs_fd, "0", 1);
}

/* --- what others left ----------------------------------------------------------------------------- */

/* Tells our groups from others with such a name. */
#define MARK "user.perfd"
/* Entering a group that was just created needs far fewer permissions. */
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
        (void)unlinkat(fd, name, AT_REMOVEDIR); /* fails while somebody is in it */
}

/* Counts processes in the group and in groups of nested runs. */
static void remove_leftovers(int fd) {
        scoped(closedirp) DIR *dir = file_open_list(fd, ".");
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                remove_leftover(fd, entry->d_name);
}

/* --- one's own ------------------------------------------------------------------------------------ */

/* An empty group of this name would have the counters of another job. */
static int make_anew(int fd, const char *name) {
        scoped(closep) int group_fd = -1;

        if (mkdirat(fd, name, 0755) < 0) {
                if (errno != EEXIST)
                        return -errno;
                if (unlinkat(fd, name, AT_REMOVEDIR) < 0 || mkdirat(fd, name, 0755) < 0)
                        return -errno;
        }

        group_fd = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (group_fd >= 0)
                (void)fsetxattr(group_fd, MARK, "1", 1, 0); /* from Linux 5.7 on */
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
        r = make_anew(fd, group.name);
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
