/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kernel file: a file of proc that stays open
 *
 * Each read is a pread(2) from offset 0 into a buffer shared by all files. One call is enough for most of them, but
 * the kernel returns long lists page by page, so they take more calls, and a full buffer grows. A file that cannot be
 * opened is not tried again for a minute: usually the kernel lacks it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_FILE_RETRY_NS (60 * UINT64_C(1000000000))
/* Maximum size, larger than any real kernel file. */
#define KERNEL_TEXT_MAX ((size_t)32 << 20)

typedef struct KernelText {
        char *bytes; /* owned; NUL-terminated after a read */
        size_t n;
        size_t n_allocated;
} KernelText;

typedef struct KernelFile {
        const char *paths[2]; /* relative to the root; the second, if any, is tried if the first cannot be opened */
        bool long_lines;      /* lines can exceed a kilobyte: read until the end of the file */
        int fd;               /* owned; -1 if not open */
        uint64_t retry_ns;    /* earliest time of the next attempt to open the file */
} KernelFile;

void kernel_file_text_deinit(KernelText *text);

void kernel_file_init(KernelFile *file, const char *path, const char *other_path, bool long_lines);
void kernel_file_deinit(KernelFile *file);

enum {
        KERNEL_FILE_WAITING = 1, /* the file was not tried, see retry_ns */
        KERNEL_FILE_FAILED,      /* *ret_error is the errno */
};

/* Reads the whole file into *text. Returns 0, an outcome, or -ENOMEM. */
int kernel_file_read(KernelFile *file, int root_fd, uint64_t now_ns, KernelText *text, int *ret_error);
