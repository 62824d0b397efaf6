/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Example of an indicator: product of two square matrices in plain C, in double precision as in matmul.py.
 * Settings: MATMUL_MATRIX_SIZE, MATMUL_REPS. A product takes n² (2n - 1) operations.
 */

#include <string.h>

#include "example.h"

/* Reads b row by row, in the order of memory. */
static void multiply(const double *a, const double *b, double *c, long n) {
        memset(c, 0, (size_t)(n * n) * sizeof(*c));
        for (long i = 0; i < n; i++)
                for (long k = 0; k < n; k++) {
                        double factor = a[i * n + k];

                        for (long j = 0; j < n; j++)
                                c[i * n + j] += factor * b[k * n + j];
                }
}

int main(void) {
        long n = setting("MATMUL_MATRIX_SIZE", 256), reps = setting("MATMUL_REPS", 10);
        size_t n_bytes = (size_t)(n * n) * sizeof(double);
        double *a = allocate(n_bytes), *b = allocate(n_bytes), *c = allocate(n_bytes);
        double *times = allocate((size_t)reps * sizeof(*times));
        double elapsed_ms, n_operations = (double)n * (double)n * (2 * (double)n - 1);

        for (long i = 0; i < n * n; i++) {
                a[i] = (double)(i % 7);
                b[i] = (double)(i % 5);
        }
        for (long i = 0; i < reps; i++) {
                double begin = now_s();

                multiply(a, b, c, n);
                times[i] = now_s() - begin;
        }
        elapsed_ms = median_of(times, reps) * 1e3;

        /* Print an element, so that the compiler cannot omit the computation. */
        fprintf(stderr, "c[n - 1][n - 1] = %g\n", c[n * n - 1]);
        printf("{\"name\": \"PiMatmul\", \"component\": \"c\", \"version\": \"%s\",\n"
               " \"@parameters\": {\"device\": \"cpu\", \"dtype\": \"float64\", \"matrix_size\": %ld, \"reps\": %ld},\n"
               " \"@result\": {\"elapsed\": %.6g, \"rate\": %.6g}}\n",
               __VERSION__, n, reps, elapsed_ms, n_operations / elapsed_ms / 1e6);
        free(a);
        free(b);
        free(c);
        free(times);
        return 0;
}
