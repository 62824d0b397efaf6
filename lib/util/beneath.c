/* SPDX-License-Identifier: Apache-2.0 */
#include "util/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "util/scoped.h"

#define NAME_BYTES 256

static int outcome(int error) {
        switch (error) {
        case ENOENT:
        case ENODEV: /* a cgroup in removal */
                return BENEATH_NONE;
        case ELOOP:
        case EXDEV:
        case ENOTDIR:
        case ENAMETOOLONG:
        case EINVAL:
                return BENEATH_OUTSIDE;
        }
        return -error;
}

static bool is_same_filesystem(int a_fd, int b_fd) {
        struct stat a, b;

        return fstat(a_fd, &a) == 0 && fstat(b_fd, &b) == 0 && a.st_dev == b.st_dev;
}

/* Opens one name of the path, the n bytes at `name`, relative to at_fd. */
static int open_component(int at_fd, const char *name, size_t n, int *ret_fd) {
        char text[NAME_BYTES];
        int fd;

        if (n >= sizeof(text))
                return BENEATH_OUTSIDE;
        memcpy(text, name, n);
        text[n] = '\0';
        if (strcmp(text, "..") == 0)
                return BENEATH_OUTSIDE;

        /* With O_PATH and O_NOFOLLOW, a symbolic link would be opened itself; O_DIRECTORY rejects the link. */
        fd = openat(at_fd, n > 0 ? text : ".", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return outcome(errno);

        *ret_fd = fd;
        return 0;
}

int beneath_walk(int dir_fd, const char *path, bool one_filesystem, int *ret_fd) {
        scoped(closep) int at_fd = -1;
        int r;

        if (*path == '/')
                return BENEATH_OUTSIDE;

        do {
                size_t n = strcspn(path, "/");
                int next_fd;

                r = open_component(at_fd >= 0 ? at_fd : dir_fd, path, n, &next_fd);
                if (r != 0)
                        return r;

                closep(&at_fd);
                at_fd = next_fd;
                if (one_filesystem && !is_same_filesystem(dir_fd, at_fd))
                        return BENEATH_OUTSIDE;
                path += n + strspn(path + n, "/");
        } while (*path);

        *ret_fd = TAKE_FD(at_fd);
        return 0;
}

int beneath_open(int dir_fd, const char *path, bool one_filesystem, int *ret_fd) {
        struct open_how how = {
                .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | (one_filesystem ? RESOLVE_NO_XDEV : 0),
        };
        long fd;

        fd = syscall(__NR_openat2, dir_fd, *path ? path : ".", &how, sizeof(how));
        if (fd >= 0) {
                *ret_fd = (int)fd;
                return 0;
        }

        /* EAGAIN: a concurrent rename or mount. EPERM: some sandboxes return EPERM for unknown system calls. */
        if (errno == ENOSYS || errno == EPERM || errno == EAGAIN)
                return beneath_walk(dir_fd, path, one_filesystem, ret_fd);
        return outcome(errno);
}
