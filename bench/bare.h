/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bare reads: pread(2) of the whole content of the files of a sample, into a sufficiently large buffer, without
 * parsing.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "sample/host/sampler.h"

#define TEXT_BYTES ((size_t)4 << 20)

typedef struct Bare {
        int fds[N_SOURCES];
        size_t n_calls[N_SOURCES]; /* number of reads to the end of the file; 0 if the kernel lacks the file */
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

/* Opens the files that each sample reads. Sizes of file systems are read less often and are not included. */
static inline int bare_init(Bare *bare, int root_fd) {
        *bare = (Bare){ .text = malloc(TEXT_BYTES) };
        if (!bare->text)
                return -ENOMEM;

        for (Source s = 0; s < N_SOURCES; s++) {
                bare->fds[s] = s == SOURCE_FILESYSTEMS ? -1
                                                       : openat(root_fd, sample_source_paths[s], O_RDONLY | O_CLOEXEC);
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
