/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "pipeline/pipeline_sketch.h"
#include "util/scoped.h"

#define N_VALUES 5000U

static const double shares[] = { 0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1 };

static int compare_doubles(const void *a, const void *b) {
        const double *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* Compares each percentile with that of the sorted values. */
static void assert_close(const PipelineSketch *sketch, double *values, size_t n) {
        qsort(values, n, sizeof(*values), compare_doubles);
        assert_int_equal(sketch->n, n);
        for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
                double exact = values[(size_t)ceil(shares[i] * (double)n - 1e-9) - 1];
                double got = pipeline_sketch_percentile(sketch, shares[i]);

                if (exact < PIPELINE_SKETCH_MIN_S ? got != 0 : !(fabs(got - exact) <= exact * PIPELINE_SKETCH_ERROR * (1 + 1e-9)))
                        fail_msg("p%g of %zu values is %.9g, the sketch has %.9g", 100 * shares[i], n, exact, got);
        }
}

/* Durations of a distribution: uniform, of two kinds, with a long tail, or over all magnitudes. */
static double draw(unsigned distribution) {
        double u = drand48();

        switch (distribution) {
        case 0: return u * 0.01;
        case 1: return u < 0.95 ? 0.000001 * (1 + u) : 10 * u;
        case 2: return 0.001 / (1 - u * 0.999999);
        case 3: return pow(10, -8 + 14 * u);
        default: return 0.25;
        }
}

static void percentiles_are_within_the_stated_error(void **state) {
        static const size_t counts[] = { 1, 2, 5, 6, 10, 99, 100, 1000, N_VALUES };
        static double values[N_VALUES];

        (void)state;
        srand48(14);
        for (unsigned distribution = 0; distribution < 5; distribution++)
                for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
                        PipelineSketch sketch = {};

                        for (size_t i = 0; i < counts[c]; i++) {
                                values[i] = draw(distribution);
                                pipeline_sketch_add(&sketch, values[i]);
                        }
                        assert_close(&sketch, values, counts[c]);
                }
}

static void a_merge_is_the_sketch_of_all_durations(void **state) {
        static double values[N_VALUES];
        PipelineSketch parts[7] = {}, all = {};

        (void)state;
        for (size_t i = 0; i < N_VALUES; i++) {
                values[i] = draw((unsigned)i % 4);
                pipeline_sketch_add(&parts[i * i % 7], values[i]);
        }
        for (size_t i = 0; i < 7; i++)
                pipeline_sketch_merge(&all, &parts[i]);
        assert_close(&all, values, N_VALUES);
}

static void limits_are_counted(void **state) {
        PipelineSketch sketch = {}, full = { .n = UINT32_MAX - 1, .n_short = UINT32_MAX - 1 };

        (void)state;
        assert_true(pipeline_sketch_percentile(&sketch, 0.9) == 0);
        pipeline_sketch_add(&sketch, 0);
        assert_true(pipeline_sketch_percentile(&sketch, 1) == 0);
        pipeline_sketch_add(&sketch, PIPELINE_SKETCH_MIN_S);
        assert_true(fabs(pipeline_sketch_percentile(&sketch, 1) / PIPELINE_SKETCH_MIN_S - 1) <= 0.0100001);
        pipeline_sketch_add(&sketch, 1e300);
        assert_true(fabs(pipeline_sketch_percentile(&sketch, 1) / PIPELINE_SKETCH_MAX_S - 1) <= 0.0100001);

        pipeline_sketch_merge(&full, &sketch);
        pipeline_sketch_add(&full, 1);
        assert_true(full.n == UINT32_MAX && full.n_short == UINT32_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(percentiles_are_within_the_stated_error),
                cmocka_unit_test(a_merge_is_the_sketch_of_all_durations),
                cmocka_unit_test(limits_are_counted),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
