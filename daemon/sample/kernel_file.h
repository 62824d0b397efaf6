/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kernel file: a file of proc that stays open
 *
 * Each read is a pread(2) from the start into a buffer shared by all files. One call is enough for nearly
 * all of them; but the kernel hands out most lists a page at a time, so a long one takes more calls, and a
 * buffer that was filled to the brim grows. A file that cannot be opened is left alone for a minute: it
 * usually is one that this kernel does not have.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_FILE_RETRY_NS (60 * UINT64_C(1000000000))
/* More than any kernel has to say; a file this long is not one of its. */
#define KERNEL_TEXT_MAX ((size_t)32 << 20)

typedef struct KernelText {
        char *bytes; /* owned; NUL-terminated after a read */
        size_t n;
        size_t n_allocated;
} KernelText;

typedef struct KernelFile {
        const char *paths[2]; /* relative to the root; the second, if any, when the first cannot be opened */
        bool long_lines;      /* lines can be longer than a kilobyte: always read until there is no more */
        int fd;               /* owned; -1 while not open */
        uint64_t retry_ns;    /* not to be opened before */
} KernelFile;

void kernel_file_text_deinit(KernelText *text);

void kernel_file_init(KernelFile *file, const char *path, const char *other_path, bool long_lines);
void kernel_file_deinit(KernelFile *file);

enum {
        KERNEL_FILE_WAITING = 1, /* nothing was tried */
        KERNEL_FILE_FAILED,      /* *ret_error is the errno */
};

/* Reads the whole file into *text. 0, an outcome, or -ENOMEM. */
int kernel_file_read(KernelFile *file, int root_fd, uint64_t now_ns, KernelText *text, int *ret_error);
