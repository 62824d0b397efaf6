/* SPDX-License-Identifier: Apache-2.0 */
#include "client/import/input_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "client/cli/input.h"
#include "util/beneath.h"

int input_tree_open(InputTree *ret, const char *directory) {
        scoped(closep) int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;

        *ret = (InputTree){ .fd = TAKE_FD(fd), .is_own = st.st_uid == geteuid() };
        return 0;
}

void input_tree_deinit(InputTree *tree) {
        closep(&tree->fd);
        tree->fd = -1;
}

int input_tree_open_directory(const InputTree *tree, const char *below, int *ret_fd) {
        scoped(closep) int found_fd = -1;
        int fd, r = 0;

        if (!tree->is_own)
                r = beneath_open(tree->fd, below, false, &found_fd);
        if (r > 0)
                return r == BENEATH_NONE ? -ENOENT : INPUT_LINK;
        if (r < 0)
                return r;

        fd = openat(tree->is_own ? tree->fd : found_fd, tree->is_own ? below : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;

        *ret_fd = fd;
        return 0;
}

/* Opens without waiting for the other end of a pipe, and without becoming the controlling terminal's owner. */
static int open_file(const InputTree *tree, const char *below, int *ret_fd) {
        const char *slash = strrchr(below, '/');
        scoped(closep) int directory_fd = -1;
        char directory[PATH_MAX];
        int fd, r;

        if (snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - below) : 1, slash ? below : ".") >= (int)sizeof(directory))
                return -ENAMETOOLONG;
        r = input_tree_open_directory(tree, directory, &directory_fd);
        if (r != 0)
                return r;

        fd = openat(directory_fd, slash ? slash + 1 : below,
                    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (tree->is_own ? 0 : O_NOFOLLOW));
        if (fd < 0)
                return errno == ELOOP && !tree->is_own ? INPUT_LINK : errno == ENXIO ? INPUT_NO_FILE : -errno;

        *ret_fd = fd;
        return 0;
}

int input_tree_read(const InputTree *tree, const char *below, Buffer *ret) {
        scoped(closep) int fd = -1;
        struct stat st;
        int r;

        r = open_file(tree, below, &fd);
        if (r != 0)
                return r;
        if (fstat(fd, &st) < 0)
                return -errno;
        return S_ISREG(st.st_mode) ? input_read_fd(fd, ret) : INPUT_NO_FILE;
}
