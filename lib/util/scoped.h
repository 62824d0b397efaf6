/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scoped ownership
 *
 * A scoped variable owns its object and releases it at the end of the scope. TAKE() moves the object out of the
 * variable, which then has nothing to release.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define scoped(fn) __attribute__((cleanup(fn)))

/* Declares fn##p, the form of a destructor that scoped() expects. */
#define DEFINE_SCOPED(T, fn)                                            \
        static inline void fn##p(T **p) {                               \
                if (*p)                                                 \
                        fn(*p);                                         \
        }                                                               \
        _Static_assert(1, "")

#define TAKE(p)                                                         \
        ({                                                              \
                __typeof__(p) taken_ = (p);                             \
                (p) = NULL;                                             \
                taken_;                                                 \
        })

#define TAKE_FD(fd)                                                     \
        ({                                                              \
                int taken_ = (fd);                                      \
                (fd) = -1;                                              \
                taken_;                                                 \
        })

/* -1, 0 or 1, for qsort(3). Evaluates its arguments twice. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static inline void closep(int *fd) {
        if (*fd >= 0)
                close(*fd);
}

static inline void fclosep(FILE **f) {
        if (*f)
                fclose(*f);
}

/* For malloc'ed memory of any type. */
static inline void freep(void *p) {
        free(*(void **)p);
}
