/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Functions that the C examples share: settings from the environment, a clock, and a median. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Reads an integer of at least 1 from the environment, and prints the value on stderr. */
static inline long setting(const char *name, long initial) {
        const char *text = getenv(name);
        char *end = NULL;
        long value = text ? strtol(text, &end, 10) : initial;

        if (text && (*end || end == text || value < 1)) {
                fprintf(stderr, "%s=%s: expected an integer of at least 1\n", name, text);
                exit(2);
        }
        fprintf(stderr, "%s=%ld\n", name, value);
        return value;
}

static inline double now_s(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static inline int compare_times(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* Sorts the times. The median ignores repetitions that other processes disturbed. */
static inline double median_of(double *times, long n) {
        qsort(times, (size_t)n, sizeof(*times), compare_times);
        return n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

static inline void *allocate(size_t n_bytes) {
        void *memory = malloc(n_bytes);

        if (!memory) {
                fprintf(stderr, "Cannot allocate %zu bytes: choose smaller sizes\n", n_bytes);
                exit(1);
        }
        return memory;
}
