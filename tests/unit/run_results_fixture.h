/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An indicator model and results, shared by the tests of points. */

#include "store_fixture.h"

#include <math.h>

#include "document/indicator_model.h"
#include "store/indicators/points.h"

static inline IndicatorModel matmul_model(Property properties[static 5]) {
        static const Value nothing_declared = { .type = VALUE_OBJECT };

        properties[0] = (Property){ .name = "matrix_size", .types = PROPERTY_INT, .index = INDEX_INT };
        properties[1] = (Property){ .name = "dtype", .types = PROPERTY_STR, .index = INDEX_EXACT };
        properties[2] = (Property){ .name = "reps", .types = PROPERTY_INT };
        properties[3] = (Property){ .name = "rate", .types = PROPERTY_FLOAT, .is_result = true, .unit = "GFLOP/s" };
        properties[3].direction = DIRECTION_HIGHER;
        properties[4] = (Property){ .name = "elapsed", .types = PROPERTY_FLOAT, .is_result = true, .unit = "ms" };
        properties[4].direction = DIRECTION_LOWER;
        return (IndicatorModel){
                .name = "PiMatmul", .properties = properties, .n_properties = 5, .document = &nothing_declared
        };
}

/* {"@parameters":{"reps","matrix_size","dtype"},"@result":{"elapsed","rate"},"name","component","version"} */
typedef struct RunResults {
        Member parameters[3], result[2], members[5];
        Value document;
        Submission submission;
} RunResults;

static inline Value string_value(const char *text) {
        return (Value){ .type = VALUE_STRING, .string = text };
}

/* Results with an odd n have their matrix size as a float; n is the id and the time. */
static inline void run_results_make(RunResults *m, uint64_t n, const char *component, const char *dtype, int64_t size,
                                    double rate) {
        *m = (RunResults){};
        m->parameters[0] = (Member){ "reps", { .type = VALUE_INT, .integer = 50 } };
        m->parameters[1] = (Member){ "matrix_size", { .type = VALUE_INT, .integer = size } };
        if (n % 2 == 1)
                m->parameters[1].value = (Value){ .type = VALUE_DOUBLE, .number = (double)size };
        m->parameters[2] = (Member){ "dtype", string_value(dtype) };
        m->result[0] = (Member){ "elapsed", { .type = VALUE_DOUBLE, .number = 1000 / rate } };
        m->result[1] = (Member){ "rate", { .type = VALUE_DOUBLE, .number = rate } };
        m->members[0] = (Member){ "@parameters", { .type = VALUE_OBJECT } };
        m->members[0].value.members = m->parameters;
        m->members[0].value.n_members = 3;
        m->members[1] = (Member){ "@result", { .type = VALUE_OBJECT } };
        m->members[1].value.members = m->result;
        m->members[1].value.n_members = 2;
        m->members[2] = (Member){ "name", string_value("PiMatmul") };
        m->members[3] = (Member){ "component", string_value(component) };
        m->members[4] = (Member){ "version", string_value("2.1") };
        m->document.type = VALUE_OBJECT;
        m->document.members = m->members;
        m->document.n_members = 5;

        for (size_t i = 0; i < sizeof(n); i++)
                m->submission.id[i] = (uint8_t)(n >> (56 - 8 * i));
        m->submission.job = "";
        m->submission.time_ms = n;
        m->submission.indicator = (Indicator){
                .name = "PiMatmul", .component = component, .version = "2.1", .document = &m->document,
        };
}

/* Makes result n of a pattern that contains all combinations; every tenth run failed. */
static inline void run_results_make_nth(RunResults *m, uint64_t n, const IndicatorModel *model) {
        static const char *const components[] = { "tensorflow", "pytorch" }, *const dtypes[] = { "float32", "512",
                                                                                                 "int \"8\"" };

        run_results_make(m, n, components[n / 2 % 2], dtypes[n / 4 % 3], (int64_t)(256 << n / 12 % 3), 100 + (double)n);
        m->submission.model = model;
        if (n % 10 == 0) {
                m->submission.has_exit_status = true;
                m->submission.exit_status = 7;
        }
}

static inline void put_measured(Store *store, uint64_t from, uint64_t to, const IndicatorModel *model) {
        for (uint64_t n = from; n < to; n++) {
                RunResults results;

                run_results_make_nth(&results, n, model);
                assert_int_equal(put_one(store, &results.submission, n), STORE_DONE);
        }
}

/* Sum over the results of a query. */
typedef struct Sum {
        uint64_t n, n_failed, times;
        double rates, elapsed;
} Sum;

static inline Sum sum_of(Reader *reader, const char *const *where, const char *component) {
        static const char *const numbers[] = { "rate", "elapsed" };
        scoped(points_freep) Points *points = NULL;
        Condition conditions[CONDITIONS_MAX];
        PointFilter filter = {
                .name = "PiMatmul", .component = component, .conditions = conditions, .numbers = numbers, .n_numbers = 2
        };
        PointRow row;
        Sum sum = {};
        int r;

        for (; where && *where; where++)
                assert_int_equal(condition_parse(*where, &conditions[filter.n_conditions++]), 0);
        assert_int_equal(points_new(&points, reader, &filter), 0);
        while ((r = points_next(points, &row)) == 0) {
                sum.n++;
                sum.n_failed += row.has_failed;
                sum.times += row.time_ms;
                assert_true(row.has_failed == (bool)isnan(row.numbers[0]));
                sum.rates += row.has_failed ? 0 : row.numbers[0];
                sum.elapsed += row.has_failed ? 0 : row.numbers[1];
        }
        assert_int_equal(r, READER_END);
        return sum;
}
