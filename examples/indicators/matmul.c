/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An indicator: the product of two square matrices in plain C, double precision as in matmul.py.
 * Settings: MATMUL_MATRIX_SIZE, MATMUL_REPS. A product takes n² (2n - 1) operations.
 */

#include <string.h>

#include "example.h"

/* Row by row of b, so that memory is read in its order. */
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

        /* The corner is printed so that no compiler can leave the work out. */
        fprintf(stderr, "c[n - 1][n - 1] is %g\n", c[n * n - 1]);
        printf("{\"name\": \"PiMatmul\", \"component\": \"c\", \"version\": \"%s\",\n"
               " \"@parameters\": {\"device\": \"cpu\", \"dtype\": \"float64\", \"matrix_size\": %ld, \"reps\": %ld},\n"
               " \"@result\": {\"elapsed\": %.6g, \"rate\": %.6g}}\n", __VERSION__, n, reps, elapsed_ms, n_operations / elapsed_ms / 1e6);
        free(a);
        free(b);
        free(c);
        free(times);
        return 0;
}
