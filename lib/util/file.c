/* SPDX-License-Identifier: Apache-2.0 */
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int file_read_at(int dir_fd, const char *path, size_t n_max, char **ret, size_t *ret_n) {
        scoped(closep) int fd = -1;
        scoped(freep) char *text = NULL;
        size_t n = 0, n_allocated = 0;

        fd = openat(dir_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return -errno;

        for (;;) {
                ssize_t k;

                if (n + 1 >= n_allocated) {
                        char *bigger;

                        n_allocated = n_allocated ? n_allocated * 2 : 4096;
                        bigger = realloc(text, n_allocated);
                        if (!bigger)
                                return -ENOMEM;
                        text = bigger;
                }

                k = read(fd, text + n, n_allocated - n - 1);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        break;

                n += (size_t)k;
                if (n > n_max)
                        return -EFBIG;
        }

        text[n] = '\0';
        if (ret_n)
                *ret_n = n;
        *ret = TAKE(text);
        return 0;
}

char *file_read_text(int dir_fd, const char *path, size_t n_max) {
        char *text;

        return file_read_at(dir_fd, path, n_max, &text, NULL) == 0 ? text : NULL;
}

DIR *file_open_list(int dir_fd, const char *path) {
        scoped(closep) int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

        if (list)
                (void)TAKE_FD(fd); /* owned by the list now */
        return list;
}

int file_write_all(int fd, const void *bytes, size_t n) {
        const char *p = bytes;

        while (n > 0) {
                ssize_t k = write(fd, p, n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                p += k;
                n -= (size_t)k;
        }

        return 0;
}

/* A rename is durable only after fsync() of the directory. */
static int sync_directory_of(const char *path) {
        scoped(closep) int fd = -1;
        const char *slash = strrchr(path, '/');
        char directory[PATH_MAX] = ".";
        size_t n = slash ? (size_t)(slash - path) : 0;

        if (slash) {
                memcpy(directory, path, n);
                memcpy(directory + n, "/", 2);
        }

        fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || fsync(fd) < 0)
                return -errno;
        return 0;
}

static int write_new(const char *path, const void *bytes, size_t n, unsigned mode, bool durable) {
        scoped(closep) int fd = -1;
        int r;

        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0)
                return -errno;

        r = file_write_all(fd, bytes, n);
        if (r < 0)
                return r;

        return durable && fsync(fd) < 0 ? -errno : 0;
}

int file_replace(const char *path, const void *bytes, size_t n, unsigned mode, bool durable) {
        char temporary[PATH_MAX];
        int k, r;

        k = snprintf(temporary, sizeof(temporary), "%s.%d.tmp", path, (int)getpid());
        if (k < 0 || (size_t)k >= sizeof(temporary))
                return -ENAMETOOLONG;

        r = write_new(temporary, bytes, n, mode, durable);
        if (r == 0 && rename(temporary, path) < 0)
                r = -errno;
        if (r < 0) {
                if (r != -EEXIST)
                        (void)unlink(temporary);
                return r;
        }

        return durable ? sync_directory_of(path) : 0;
}

int file_make_dirs(const char *path, unsigned mode) {
        char partial[PATH_MAX];
        struct stat st;
        size_t n = strlen(path);

        if (n == 0 || n >= sizeof(partial))
                return n == 0 ? -ENOENT : -ENAMETOOLONG;

        for (size_t i = 1; i <= n; i++) {
                if (path[i] != '/' && path[i] != '\0')
                        continue;
                memcpy(partial, path, i);
                partial[i] = '\0';
                if (mkdir(partial, mode) < 0 ? errno != EEXIST : chmod(partial, mode) < 0)
                        return -errno;
        }

        if (stat(path, &st) < 0)
                return -errno;
        return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int file_make_parents(const char *path, unsigned mode) {
        const char *slash = strrchr(path, '/');
        char directory[PATH_MAX];

        if (!slash || slash == path)
                return 0;
        if (snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path), path) >= PATH_MAX)
                return -ENAMETOOLONG;
        return file_make_dirs(directory, mode);
}

const char *file_below_root(const char *path) {
        while (*path == '/')
                path++;
        return *path ? path : ".";
}

int file_find_env(const char *variable, const char *otherwise, const char *below, char ret[static PATH_MAX]) {
        const char *given = getenv(variable), *home = getenv("HOME");
        int n;

        if (given && given[0] == '/')
                n = snprintf(ret, PATH_MAX, "%s/%s", given, below);
        else if (home && home[0] == '/')
                n = snprintf(ret, PATH_MAX, "%s/%s/%s", home, otherwise, below);
        else
                return -ENOENT;
        return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* close_range() of the C library is newer than some distributions (glibc 2.34). */
static void close_from_to(unsigned first, unsigned last) {
        (void)syscall(__NR_close_range, first, last, 0);
}

void file_close_others(int a, int b) {
        const int kept[] = { a < b ? a : b, a < b ? b : a };
        unsigned first = 3;

        for (size_t i = 0; i < N_ELEMENTS(kept); i++) {
                if (kept[i] < (int)first)
                        continue;
                if (kept[i] > (int)first)
                        close_from_to(first, (unsigned)kept[i] - 1);
                first = (unsigned)kept[i] + 1;
        }
        close_from_to(first, ~0U);
}
