/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Bare reads: nothing but pread(2) of all content of the files that a sample reads, into a buffer that is large enough. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "sample/sampler.h"

#define TEXT_BYTES ((size_t)4 << 20)

typedef struct Bare {
        int fds[N_SOURCES];
        size_t n_calls[N_SOURCES]; /* until everything is read; 0 for a file that this kernel does not have */
        char *text;                /* owned */
} Bare;

static inline size_t count_calls(int fd, char *text) {
        size_t n_calls = 0;
        off_t n = 0;
        ssize_t k;

        while ((k = pread(fd, text, TEXT_BYTES, n)) > 0) {
                n += k;
                n_calls++;
        }
        return n_calls;
}

/* Opens the files that each sample reads: the sizes of file systems are read less often. */
static inline int bare_init(Bare *bare, int root_fd) {
        *bare = (Bare){ .text = malloc(TEXT_BYTES) };
        if (!bare->text)
                return -ENOMEM;

        for (Source s = 0; s < N_SOURCES; s++) {
                bare->fds[s] = s == SOURCE_FILESYSTEMS ? -1 : openat(root_fd, sample_source_paths[s], O_RDONLY | O_CLOEXEC);
                bare->n_calls[s] = bare->fds[s] >= 0 ? count_calls(bare->fds[s], bare->text) : 0;
        }
        return 0;
}

static inline void bare_deinit(Bare *bare) {
        for (Source s = 0; s < N_SOURCES; s++)
                closep(&bare->fds[s]);
        free(bare->text);
}

static inline void bare_read(const Bare *bare) {
        for (Source s = 0; s < N_SOURCES; s++) {
                off_t n = 0;

                for (size_t i = 0; i < bare->n_calls[s]; i++) {
                        ssize_t k = pread(bare->fds[s], bare->text, TEXT_BYTES, n);

                        n += k > 0 ? k : 0;
                }
        }
}
