/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of the analysis of series with a step and noise
 *
 * Compared with the sum of the differences of all pairs of the same values, which has as many steps. Both are CPU
 * time of this thread. Prints a line for each length: number of values, ns for all series of perfd's method, of
 * hunter, and of the pairs; then the largest resident memory in bytes.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "analysis/hunter.h"
#include "analysis/shift.h"
#include "util/clock.h"
#include "util/scoped.h"

#define N_LONGEST 500U

/* Sum of twelve uniform numbers: nearly normal. */
static double noise(uint64_t *seed) {
        double sum = -6;

        for (size_t i = 0; i < 12; i++) {
                *seed = *seed * 6364136223846793005U + 1442695040888963407U;
                sum += (double)(*seed >> 11) / 9007199254740992.0;
        }
        return sum;
}

static void fill(double *series, size_t n, uint64_t *seed) {
        for (size_t i = 0; i < n; i++)
                series[i] = 100 * (1 + 0.01 * noise(seed)) * (i >= n / 2 ? 1.1 : 1);
}

static double sum_pairs(const double *series, size_t n) {
        double sum = 0;

        for (size_t i = 0; i < n; i++)
                for (size_t k = i + 1; k < n; k++)
                        sum += fabs(series[i] - series[k]);
        return sum;
}

typedef enum Work {
        WORK_SHIFT,
        WORK_HUNTER,
        WORK_PAIRS,
        N_WORKS,
} Work;

static void analyze(Work work, const double *series, size_t n) {
        scoped(freep) ChangePoint *points = NULL;
        size_t n_points = 1;
        int r = 0;

        switch (work) {
        case WORK_SHIFT:
                r = shift_find(series, n, &SHIFT_DEFAULTS, &points, &n_points);
                break;
        case WORK_HUNTER:
                r = hunter_find(series, n, &HUNTER_DEFAULTS, &points, &n_points);
                break;
        case WORK_PAIRS:
                n_points = sum_pairs(series, n) > 0;
                break;
        case N_WORKS:
                break;
        }
        if (r < 0 || n_points == 0) /* the step is found */
                abort();
}

static void measure(size_t n_series, size_t n) {
        printf("%zu", n);
        for (Work work = 0; work < N_WORKS; work++) {
                uint64_t seed = 1, taken_ns = 0;
                double series[N_LONGEST];

                for (size_t i = 0; i < n_series; i++) {
                        uint64_t begin_ns;

                        fill(series, n, &seed);
                        begin_ns = clock_thread_cpu_ns();
                        analyze(work, series, n);
                        taken_ns += clock_thread_cpu_ns() - begin_ns;
                }
                printf(" %ju", (uintmax_t)taken_ns);
        }
        printf("\n");
}

int main(int argc, char **argv) {
        size_t n_series = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
        struct rusage usage;

        measure(n_series, 200);
        measure(n_series, N_LONGEST);
        if (getrusage(RUSAGE_SELF, &usage) < 0)
                return 1;
        printf("%ju\n", (uintmax_t)usage.ru_maxrss * 1024);
        return 0;
}
