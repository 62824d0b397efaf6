/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/kernel_file.h"

#include <errno.h>
#include <fcntl.h>

#include "util/scoped.h"

#define TEXT_FIRST ((size_t)16 << 10)
/* If a file has more than one line, the kernel returns at least a page per read, unless it is the end. */
#define PAGE_MIN 4096
#define LINE_MAX_BYTES 1024

void kernel_file_text_deinit(KernelText *text) {
        free(text->bytes);
        *text = (KernelText){};
}

static int grow(KernelText *text) {
        size_t n_more = text->n_allocated ? text->n_allocated * 2 : TEXT_FIRST;
        char *bigger;

        bigger = realloc(text->bytes, n_more);
        if (!bigger)
                return -ENOMEM;

        text->bytes = bigger;
        text->n_allocated = n_more;
        return 0;
}

void kernel_file_init(KernelFile *file, const char *path, const char *other_path, bool long_lines) {
        *file = (KernelFile){ .paths = { path, other_path }, .long_lines = long_lines, .fd = -1 };
}

void kernel_file_deinit(KernelFile *file) {
        if (file->fd >= 0)
                close(file->fd);
        file->fd = -1;
}

/* Returns 0, or the errno of the first path. */
static int open_any(KernelFile *file, int root_fd) {
        int error = 0;

        for (size_t i = 0; i < N_ELEMENTS(file->paths) && file->paths[i]; i++) {
                file->fd = openat(root_fd, file->paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
                if (file->fd >= 0)
                        return 0;
                error = error ? error : errno;
        }
        return error;
}

/* Returns true if the bytes read so far are the whole file, so that no further call is needed. */
static bool is_whole(const KernelFile *file, size_t n_asked, size_t n_read) {
        return n_read == 0 || (n_read < n_asked && n_read + LINE_MAX_BYTES <= PAGE_MIN && !file->long_lines);
}

static int read_whole(KernelFile *file, KernelText *text, int *ret_error) {
        size_t n = 0;

        for (;;) {
                size_t n_asked;
                ssize_t k;
                int r;

                if (n + 1 >= text->n_allocated) {
                        if (n >= KERNEL_TEXT_MAX) {
                                *ret_error = EFBIG;
                                return KERNEL_FILE_FAILED;
                        }
                        r = grow(text);
                        if (r < 0)
                                return r;
                }

                n_asked = text->n_allocated - n - 1;
                k = pread(file->fd, text->bytes + n, n_asked, (off_t)n);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0) {
                        *ret_error = errno;
                        return KERNEL_FILE_FAILED;
                }

                n += (size_t)k;
                if (is_whole(file, n_asked, (size_t)k))
                        break;
        }

        text->bytes[n] = '\0';
        text->n = n;
        return 0;
}

int kernel_file_read(KernelFile *file, int root_fd, uint64_t now_ns, KernelText *text, int *ret_error) {
        int r;

        if (file->fd < 0) {
                int error;

                if (now_ns < file->retry_ns)
                        return KERNEL_FILE_WAITING;

                error = open_any(file, root_fd);
                if (error) {
                        file->retry_ns = now_ns + KERNEL_FILE_RETRY_NS;
                        *ret_error = error;
                        return KERNEL_FILE_FAILED;
                }
        }

        r = read_whole(file, text, ret_error);
        if (r != KERNEL_FILE_FAILED)
                return r;

        /* Closes the file, so that it is opened again later; if PSI is disabled, only reading fails. */
        kernel_file_deinit(file);
        if (*ret_error == EOPNOTSUPP)
                file->retry_ns = now_ns + KERNEL_FILE_RETRY_NS;
        return KERNEL_FILE_FAILED;
}
