/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Example of an indicator: memory bandwidth of a[i] = b[i] + s * c[i] over arrays that are larger than the caches.
 * Settings: BANDWIDTH_MIB (size of each of the three arrays), BANDWIDTH_REPS. Each element counts as 24 bytes.
 */

#include "example.h"

int main(void) {
        long mib = setting("BANDWIDTH_MIB", 64), reps = setting("BANDWIDTH_REPS", 5);
        size_t n = (size_t)mib * 1024 * 1024 / sizeof(double);
        double *a = allocate(n * sizeof(*a)), *b = allocate(n * sizeof(*b)), *c = allocate(n * sizeof(*c));
        double *times = allocate((size_t)reps * sizeof(*times)), elapsed_s;

        for (size_t i = 0; i < n; i++) {
                a[i] = 0; /* allocates the pages */
                b[i] = (double)i;
                c[i] = 2.0;
        }
        for (long k = 0; k < reps; k++) {
                double begin = now_s(), factor = (double)k;

                for (size_t i = 0; i < n; i++)
                        a[i] = b[i] + factor * c[i];
                times[k] = now_s() - begin;
        }
        elapsed_s = median_of(times, reps);

        fprintf(stderr, "last element: %g\n", a[n - 1]);
        printf("{\"name\": \"MemoryBandwidth\", \"component\": \"c\", \"version\": \"%s\",\n"
               " \"@parameters\": {\"array_mib\": %ld, \"reps\": %ld},\n"
               " \"@result\": {\"elapsed_s\": %.6g, \"bytes_per_second\": %.6g}}\n",
               __VERSION__, mib, reps, elapsed_s, 3.0 * (double)n * sizeof(double) / elapsed_s);
        free(a);
        free(b);
        free(c);
        free(times);
        return 0;
}
