/* SPDX-License-Identifier: Apache-2.0 */
/* Stored texts of jobs: parsed as written, readable by later versions, and rejected if malformed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/jobs/job_text.h"
#include "util/parse.h"

static void labels_of_any_text_come_back(void **state) {
        static JobLabel labels[] = {
                { "plain", "value" }, { "", "" }, { "a=b", "c=d=" }, { "back\\slash", "\\n" }, { "line\nbreak", "\n\n" }, { "schlüssel", "wért" },
        };
        scoped(buffer_deinit) Buffer text = {};
        scoped(job_info_deinit) JobInfo back = {};
        JobInfo info = { .n_labels = 6, .labels = labels };

        (void)state;
        record_put(&job_labels_record, &info, &text);
        assert_int_equal(job_text_parse_labels(text.text, &back), 0);
        assert_int_equal(back.n_labels, 6);
        for (size_t i = 0; i < 6; i++) {
                assert_string_equal(back.labels[i].key, labels[i].key);
                assert_string_equal(back.labels[i].value, labels[i].value);
        }
}

static void invalid_labels_are_malformed(void **state) {
        static const char *const texts[] = {
                "",
                "key=value",
                "{\"labels\":{}}",
                "{\"labels\":[1]}",
                "{\"labels\":[{\"k\":1}]}",
                "{\"labels\":[{\"k\":\"a\"}",
        };
        scoped(freep) char *large = NULL;
        JobInfo info = {};

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                assert_int_equal(job_text_parse_labels(texts[i], &info), PARSE_MALFORMED);
        assert_true(asprintf(&large, "{\"labels\":[{\"k\":\"a\",\"v\":\"%0*d\"}]}", JOB_TEXT_MAX, 1) > 0);
        assert_int_equal(job_text_parse_labels(large, &info), PARSE_MALFORMED);
        assert_null(info.labels);
}

static void rusage_keeps_every_bit(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        JobRusage rusage = { .ru_utime = 0.1 + 0.2, .ru_stime = 1e-9 }, back;
        int64_t n = INT64_MIN;

        (void)state;
#define X(field) rusage.ru_##field = n, n += INT64_C(1234567890123456789);
        RUSAGE_COUNTS(X)
#undef X
        record_put(&job_rusage_record, &rusage, &text);
        assert_int_equal(record_parse(&job_rusage_record, text.text, &back), 0);
        assert_memory_equal(&back, &rusage, sizeof(back));
}

static void rusage_without_a_text_is_malformed(void **state) {
        JobRusage rusage;

        (void)state;
        assert_int_equal(record_parse(&job_rusage_record, "", &rusage), PARSE_MALFORMED);
        assert_int_equal(record_parse(&job_rusage_record, "{\"utime\":\"x\"}", &rusage), PARSE_MALFORMED);
        assert_int_equal(record_parse(&job_rusage_record, "{\"utime\":1.5,\"later\":2}", &rusage), 0);
        assert_true(rusage.ru_utime == 1.5);
}

static void metrics_round_trip_with_quality_and_every_bit(void **state) {
        scoped(buffer_deinit) Buffer keys = {}, text = {};
        MetricSet metrics = {}, back;
        Layout layout;

        (void)state;
        for (size_t i = 0; i < N_METRICS; i++) {
                metrics.quality[i] = (uint8_t)(i % N_QUALITIES);
                if (quality_is_present(metrics.quality[i]))
                        metrics.value[i] = i == QUALITY_EXACT ? -0.0 : 1e300 / (double)(3 + i);
        }
        for (size_t i = 1; i < N_PERFPY_METRICS; i += 3) {
                metrics.has_compat[i] = true;
                metrics.compat[i] = (double)i / 7;
        }
        job_text_write_layout(LAYOUT_METRICS, &keys);
        job_text_write_metrics(&metrics, &text);
        assert_int_equal(job_text_parse_layout(LAYOUT_METRICS, keys.text, &layout), 0);
        assert_int_equal(job_text_parse_metrics(text.text, &layout, &back), 0);
        assert_memory_equal(&back, &metrics, sizeof(back));
        assert_true(signbit(back.value[QUALITY_EXACT]));
        assert_true(text.n < 1500);
}

static void metrics_of_another_version_are_read_by_their_keys(void **state) {
        const char *keys = "duration_seconds no_longer_known compat.cpu_avg_utilization_pct compat.no_longer_known "
                           "cpu_avg_utilization_pct";
        MetricSet metrics;
        Layout layout;

        (void)state;
        assert_int_equal(job_text_parse_layout(LAYOUT_METRICS, keys, &layout), 0);
        assert_int_equal(job_text_parse_metrics("V12.5S3C50C1L", &layout, &metrics), 0);
        assert_true(metrics.value[METRIC_DURATION] == 12.5);
        assert_int_equal(metrics.quality[METRIC_DURATION], QUALITY_EXACT);
        assert_true(metrics.has_compat[METRIC_CPU_MEAN]);
        assert_true(metrics.compat[METRIC_CPU_MEAN] == 50);
        assert_int_equal(metrics.quality[METRIC_CPU_MEAN], QUALITY_LOST);

        /* Metrics unknown to that version are absent. */
        assert_int_equal(metrics.quality[METRIC_DISK_READ], QUALITY_UNKNOWN_SOURCE);
        assert_false(metrics.has_compat[METRIC_CPU_MAX]);
}

static void metrics_that_do_not_fit_their_layout_are_malformed(void **state) {
        static const char *const texts[] = { "",    "V1",     "V1V2V3", "E1V2",     "V1V2x", "V1 V2",
                                             "1V2", "V1Vinf", "V1Vnan", "V1V1e999", "V1E2" };
        MetricSet metrics;
        Layout layout;

        (void)state;
        assert_int_equal(job_text_parse_layout(LAYOUT_METRICS, "duration_seconds cpu_avg_utilization_pct", &layout), 0);
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                assert_int_equal(job_text_parse_metrics(texts[i], &layout, &metrics), PARSE_MALFORMED);
        assert_int_equal(job_text_parse_metrics("V1V2", &layout, &metrics), 0);
        assert_int_equal(job_text_parse_metrics("VS", &layout, &metrics), 0);
        assert_true(metrics.value[METRIC_DURATION] == 0 && metrics.quality[METRIC_DURATION] == QUALITY_EXACT);
}

static void one_number_of_a_usage_is_found(void **state) {
        scoped(buffer_deinit) Buffer keys = {}, text = {};
        UsageSet usage = {};
        Layout layout;

        (void)state;
        for (size_t i = 0; i < N_USAGES; i++) {
                usage.quality[i] = i % 3 == 0 ? QUALITY_LOST : QUALITY_EXACT;
                usage.value[i] = i % 3 == 0 ? 0 : (double)i * 1.5;
        }
        job_text_write_layout(LAYOUT_USAGE, &keys);
        job_text_write_usage(&usage, &text);
        assert_int_equal(job_text_parse_layout(LAYOUT_USAGE, keys.text, &layout), 0);
        for (size_t i = 0; i < N_USAGES; i++) {
                double v = job_text_find_usage(text.text, &layout, (UsageMetric)i);

                assert_true(i % 3 == 0 ? isnan(v) : v == usage.value[i]);
        }
        assert_true(isnan(job_text_find_usage("", &layout, 0)));
        assert_true(isnan(job_text_find_usage("x", &layout, 0)));
        assert_true(isnan(job_text_find_usage("V1x", &layout, 0)));
        assert_int_equal(job_text_parse_layout(LAYOUT_USAGE, "unknown", &layout), 0);
        assert_true(isnan(job_text_find_usage("V1", &layout, 0)));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(labels_of_any_text_come_back),
                cmocka_unit_test(invalid_labels_are_malformed),
                cmocka_unit_test(rusage_keeps_every_bit),
                cmocka_unit_test(rusage_without_a_text_is_malformed),
                cmocka_unit_test(metrics_round_trip_with_quality_and_every_bit),
                cmocka_unit_test(metrics_of_another_version_are_read_by_their_keys),
                cmocka_unit_test(metrics_that_do_not_fit_their_layout_are_malformed),
                cmocka_unit_test(one_number_of_a_usage_is_found),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
