/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that jobs are stored as: read back as written, by later versions too, and refused when they are not what they should be. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/jobs/job_text.h"

static void labels_of_any_text_come_back(void **state) {
        static JobLabel labels[] = {
                { "plain", "value" }, { "", "" }, { "a=b", "c=d=" }, { "back\\slash", "\\n" }, { "line\nbreak", "\n\n" }, { "schlüssel", "wért" },
        };
        scoped(buffer_deinit) Buffer text = {};
        scoped(job_info_deinit) JobInfo back = {};
        JobInfo info = { .n_labels = 6, .labels = labels };

        (void)state;
        labels_write(&info, &text);
        assert_int_equal(labels_parse(text.text, &back), 0);
        assert_int_equal(back.n_labels, 6);
        for (size_t i = 0; i < 6; i++) {
                assert_string_equal(back.labels[i].key, labels[i].key);
                assert_string_equal(back.labels[i].value, labels[i].value);
        }
}

static void labels_that_make_no_sense_are_malformed(void **state) {
        static const char *const texts[] = { "key", "key=value", "key=value\nk", "key\\", "=\\", "a\n=b\n\n" };
        char large[1000];

        (void)state;
        memset(large, 'x', sizeof(large));
        memcpy(large + sizeof(large) - 4, "=v\n", 4);
        for (size_t i = 0; i <= 6; i++) {
                scoped(job_info_deinit) JobInfo info = {};

                assert_int_equal(labels_parse(i < 6 ? texts[i] : large, &info), JOB_TEXT_MALFORMED);
        }
}

static void rusage_keeps_every_bit(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        JobRusage rusage = { .ru_utime = 0.1 + 0.2, .ru_stime = 1e-9 }, back;
        int64_t n = INT64_MIN;

        (void)state;
#define X(field) rusage.field = n, n += INT64_C(1234567890123456789);
        RUSAGE_FIELDS(X)
#undef X
        rusage_write(&rusage, &text);
        assert_int_equal(rusage_parse(text.text, &back), 0);
        assert_memory_equal(&back, &rusage, sizeof(back));
}

static void rusage_of_fewer_numbers_is_malformed(void **state) {
        JobRusage rusage;

        (void)state;
        assert_int_equal(rusage_parse("", &rusage), JOB_TEXT_MALFORMED);
        assert_int_equal(rusage_parse("1.5", &rusage), JOB_TEXT_MALFORMED);
        assert_int_equal(rusage_parse("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", &rusage), JOB_TEXT_MALFORMED);
        assert_int_equal(rusage_parse("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 x", &rusage), JOB_TEXT_MALFORMED);
        assert_int_equal(rusage_parse("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", &rusage), 0);
}

static void metrics_come_back_with_quality_and_every_bit(void **state) {
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
        layout_write(LAYOUT_METRICS, &keys);
        metrics_write(&metrics, &text);
        assert_int_equal(layout_parse(LAYOUT_METRICS, keys.text, &layout), 0);
        assert_int_equal(metrics_parse(text.text, &layout, &back), 0);
        assert_memory_equal(&back, &metrics, sizeof(back));
        assert_true(signbit(back.value[QUALITY_EXACT]));
        assert_true(text.n < 1500);
}

static void metrics_of_another_version_are_read_by_their_keys(void **state) {
        const char *keys = "duration_seconds no_longer_known compat.cpu_avg_utilization_pct compat.no_longer_known cpu_avg_utilization_pct";
        MetricSet metrics;
        Layout layout;

        (void)state;
        assert_int_equal(layout_parse(LAYOUT_METRICS, keys, &layout), 0);
        assert_int_equal(metrics_parse("e12.5 s3 c50 c1 l", &layout, &metrics), 0);
        assert_true(metrics.value[METRIC_DURATION] == 12.5);
        assert_int_equal(metrics.quality[METRIC_DURATION], QUALITY_EXACT);
        assert_true(metrics.has_compat[METRIC_CPU_MEAN]);
        assert_true(metrics.compat[METRIC_CPU_MEAN] == 50);
        assert_int_equal(metrics.quality[METRIC_CPU_MEAN], QUALITY_LOST);

        /* What that version did not know is absent. */
        assert_int_equal(metrics.quality[METRIC_DISK_READ], QUALITY_UNKNOWN_SOURCE);
        assert_false(metrics.has_compat[METRIC_CPU_MAX]);
}

static void metrics_that_do_not_fit_their_layout_are_malformed(void **state) {
        static const char *const texts[] = { "", "e1", "e1 e2 e3", "x1 e2", "e1 e2x", "e e2", "e1  e2 -" };
        MetricSet metrics;
        Layout layout;

        (void)state;
        assert_int_equal(layout_parse(LAYOUT_METRICS, "duration_seconds cpu_avg_utilization_pct", &layout), 0);
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                assert_int_equal(metrics_parse(texts[i], &layout, &metrics), JOB_TEXT_MALFORMED);
        assert_int_equal(metrics_parse("e1 e2", &layout, &metrics), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(labels_of_any_text_come_back),
                cmocka_unit_test(labels_that_make_no_sense_are_malformed),
                cmocka_unit_test(rusage_keeps_every_bit),
                cmocka_unit_test(rusage_of_fewer_numbers_is_malformed),
                cmocka_unit_test(metrics_come_back_with_quality_and_every_bit),
                cmocka_unit_test(metrics_of_another_version_are_read_by_their_keys),
                cmocka_unit_test(metrics_that_do_not_fit_their_layout_are_malformed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
