/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/report/perf_report.h"
#include "value/value_parse.h"

/* A report of one rank. */
static char *write_samples(int64_t rank, PerfpySample *samples, size_t n) {
        PerfReportRank one = { .rank = rank, .samples = samples, .n = n };
        PerfReport report = { .ranks = &one, .n_ranks = 1 };
        Buffer out = {};

        perf_report_write(&report, &out);
        return buffer_take(&out);
}

static void assert_report(PerfpySample *samples, size_t n, const char *expected) {
        scoped(freep) char *text = write_samples(3, samples, n);

        assert_string_equal(text, expected);
}

static void a_report_is_laid_out_as_pythons(void **state) {
        PerfpySample sample = {
                59.287499999999994, 20.1, 100, NAN, 41.5, { 51237.64941360108, 0, 12.51, 300, 12.5, 4096 }, 1700000000,
        };

        (void)state;
        assert_report(NULL, 0, "{\n    \"3\": []\n}");
        assert_report(&sample, 1,
                      "{\n    \"3\": [\n        {\n"
                      "            \"cpu_pct_per_cpu_avg\": 59.287499999999994,\n"
                      "            \"cpu_pct_per_cpu_min\": 20.1,\n"
                      "            \"cpu_pct_per_cpu_max\": 100.0,\n"
                      "            \"mem_percent\": null,\n"
                      "            \"disk_usage_percent\": 41.5,\n"
                      "            \"disk_io_read_mb\": 51237.64941360108,\n"
                      "            \"disk_io_write_mb\": 0.0,\n"
                      "            \"net_io_lo_sent_mb\": 12.51,\n"
                      "            \"net_io_ext_sent_mb\": 300.0,\n"
                      "            \"net_io_lo_recv_mb\": 12.5,\n"
                      "            \"net_io_ext_recv_mb\": 4096.0,\n"
                      "            \"timestamp\": 1700000000.0\n"
                      "        }\n    ]\n}");
}

/* Expected values from Python 3. */
static void numbers_are_spelt_as_pythons_repr_does(void **state) {
        static const struct {
                double v;
                const char *text;
        } spellings[] = {
                { 0, "0.0" },
                { -0.0, "-0.0" },
                { 1, "1.0" },
                { 0.1, "0.1" },
                { -2.5, "-2.5" },
                { 0.1 + 0.2, "0.30000000000000004" },
                { 1.0 / 3, "0.3333333333333333" },
                { 2.0 / 3, "0.6666666666666666" },
                { 100, "100.0" },
                { 123456789, "123456789.0" },
                { 0.0001, "0.0001" },
                { 0.00012345, "0.00012345" },
                { 0.00001, "1e-05" },
                { 0.000012345, "1.2345e-05" },
                { 1e15, "1000000000000000.0" },
                { 9007199254740993.0, "9007199254740992.0" },
                { 1e16, "1e+16" },
                { 1.5e16, "1.5e+16" },
                { 12345678901234567890.0, "1.2345678901234567e+19" },
                { 1e22, "1e+22" },
                { 1e-100, "1e-100" },
                { 5e-324, "5e-324" },
                { 1.7976931348623157e308, "1.7976931348623157e+308" },
                { 1700000001.003, "1700000001.003" },
                { 99.99999999999999, "99.99999999999999" },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(spellings); i++) {
                scoped(freep) char *text = write_samples(0, &(PerfpySample){ .timestamp_s = spellings[i].v }, 1);
                char expected[64];

                snprintf(expected, sizeof(expected), "\"timestamp\": %s\n", spellings[i].text);
                if (!strstr(text, expected))
                        fail_msg("not %s: %s", expected, text);
        }
}

static char *read_fixture(const char *name) {
        const char *dir = getenv("PERFD_FIXTURES");
        scoped(buffer_deinit) Buffer text = {};
        scoped(fclosep) FILE *file = NULL;
        char path[4096];
        int c;

        snprintf(path, sizeof(path), "%s/perfpy/%s", dir ? dir : "../shared/fixtures", name);
        file = fopen(path, "r");
        if (!file)
                return NULL;
        while ((c = fgetc(file)) != EOF)
                buffer_putc(&text, (char)c);
        return buffer_take(&text);
}

static void the_artifact_that_perf_py_wrote_is_written_byte_for_byte(void **state) {
        scoped(freep) char *artifact = read_fixture("perf_report_artifact.json");
        scoped(perf_report_deinit) PerfReport report = {};
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        if (!artifact)
                skip(); /* captured files are not there (PERFD_FIXTURES) */

        assert_int_equal(perf_report_add_artifact(&report, "a.json", artifact, strlen(artifact)), 0);
        assert_int_equal(report.n_ranks, 2);
        assert_int_equal(perf_report_join(&report, false), 0);
        perf_report_write(&report, &out);
        assert_string_equal(out.text, artifact);
}

/* --- ranks ---------------------------------------------------------------------------------------- */

#define FIELDS(cpu, time)                                                                                              \
        "{\"cpu_pct_per_cpu_avg\": " cpu                                                                               \
        ", \"cpu_pct_per_cpu_min\": 1, \"cpu_pct_per_cpu_max\": 2, \"mem_percent\": null,"                             \
        " \"disk_usage_percent\": 3, \"disk_io_read_mb\": 4, \"disk_io_write_mb\": 5, \"net_io_lo_sent_mb\": 6,"       \
        " \"net_io_ext_sent_mb\": 7, \"net_io_lo_recv_mb\": 8, \"net_io_ext_recv_mb\": 9, \"timestamp\": " time "}"

static int add_artifact(PerfReport *report, const char *file, const char *text) {
        return perf_report_add_artifact(report, file, text, strlen(text));
}

static void ranks_of_several_artifacts_are_sorted(void **state) {
        scoped(perf_report_deinit) PerfReport report = {};

        (void)state;
        assert_int_equal(add_artifact(&report, "b", "{\"11\": [" FIELDS("1.5", "7") "], \"2\": []}"), 0);
        assert_int_equal(add_artifact(&report, "a", "{\"0\": [" FIELDS("50", "8") ", " FIELDS("25", "9") "]}"), 0);
        assert_int_equal(perf_report_join(&report, false), 0);
        assert_int_equal(report.n_ranks, 3);
        assert_int_equal(report.ranks[0].rank, 0);
        assert_int_equal(report.ranks[0].n, 2);
        assert_true(report.ranks[0].samples[1].cpu_avg == 25 && isnan(report.ranks[0].samples[1].memory));
        assert_true(report.ranks[0].samples[1].boot_mib[PERFPY_NET_LO_RECV_BYTES] == 8);
        assert_true(report.ranks[0].samples[1].boot_mib[PERFPY_NET_SENT_BYTES] == 7);
        assert_int_equal(report.ranks[1].rank, 2);
        assert_int_equal(report.ranks[2].rank, 11);
}

static void two_of_one_rank_are_refused_unless_they_are_numbered_anew(void **state) {
        scoped(perf_report_deinit) PerfReport report = {};

        (void)state;
        assert_int_equal(add_artifact(&report, "b", "{\"4\": [" FIELDS("1", "1") "]}"), 0);
        assert_int_equal(add_artifact(&report, "a", "{\"4\": []}"), 0);
        assert_int_equal(perf_report_join(&report, false), PERF_REPORT_INVALID);
        assert_non_null(strstr(report.error, "have rank 4; --renumber"));
        assert_int_equal(perf_report_join(&report, true), 0);
        assert_int_equal(report.ranks[0].rank + 10 * report.ranks[1].rank, 10);
}

static void an_artifact_that_is_none_is_refused_with_the_place(void **state) {
        static const struct {
                const char *text, *error;
        } wrong[] = {
                { "", "f.json: expected one artifact" },
                { "[]", "f.json: expected one artifact" },
                { "{}", "f.json: expected one artifact" },
                { "{\"0\": []} {}", "f.json: expected one artifact" },
                { "{\"0\": [}", "f.json:1:8:" },
                { "{\"a\": []}", "'a' is not a rank" },
                { "{\"-1\": []}", "'-1' is not a rank" },
                { "{\"0\": 3}", "rank 0 is an integer; expected a list" },
                { "{\"7\": [3]}", "rank 7, sample 1: 'cpu_pct_per_cpu_avg' is missing" },
                { "{\"7\": [" FIELDS("1", "1") ", " FIELDS("\"x\"", "1") "]}", "rank 7, sample 2: 'cpu_pct_per_cpu_avg' is a string" },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
                scoped(perf_report_deinit) PerfReport report = {};

                assert_int_equal(add_artifact(&report, "f.json", wrong[i].text), PERF_REPORT_INVALID);
                if (!strstr(report.error, wrong[i].error))
                        fail_msg("%s: %s", wrong[i].text, report.error);
        }
}

/* --- from perfd ----------------------------------------------------------------------------------- */

typedef struct Made {
        Arena arena;
        PerfReport report;
        int r;
} Made;

static void made_deinit(Made *made) {
        arena_deinit(&made->arena);
        perf_report_deinit(&made->report);
}

static const Value *parse(Arena *arena, const char *text) {
        const Value *value;
        ValueReader reader;
        ValueError error;

        assert_int_equal(arena_init(arena, value_parse_arena_size(strlen(text))), 0);
        value_parse_begin(&reader, text, strlen(text));
        assert_int_equal(value_parse_next(&reader, arena, &value, &error), 0);
        return value;
}

static void samples_of_a_job_keep_their_order_and_unknown_fields(void **state) {
        scoped(made_deinit) Made made = {};

        (void)state;
        made.r = perf_report_add_samples(&made.report, "a", parse(&made.arena,
                "{\"rank\": 5, \"samples\": {\"cpu_pct_per_cpu_avg\": [12.5, null, 99], \"net_io_ext_sent_mb\": [1],"
                " \"timestamp\": [10, 11, 12.5]}}"));
        assert_int_equal(made.r, 0);
        assert_int_equal(made.report.ranks[0].rank, 5);
        assert_int_equal(made.report.ranks[0].n, 3);
        assert_true(made.report.ranks[0].samples[0].cpu_avg == 12.5 && isnan(made.report.ranks[0].samples[1].cpu_avg));
        assert_true(made.report.ranks[0].samples[0].boot_mib[PERFPY_NET_SENT_BYTES] == 1);
        assert_true(isnan(made.report.ranks[0].samples[1].boot_mib[PERFPY_NET_SENT_BYTES]));
        assert_true(made.report.ranks[0].samples[2].timestamp_s == 12.5 &&
                    isnan(made.report.ranks[0].samples[2].memory));
}

static void an_answer_without_samples_adds_nothing(void **state) {
        static const char *const empty[] = { "{\"rank\": 0, \"samples\": {\"timestamp\": []}}", "{}", "[]", "3",
                                             "{\"samples\": {\"timestamp\": 3}}" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(empty); i++) {
                scoped(made_deinit) Made made = {};

                assert_int_equal(perf_report_add_samples(&made.report, "a", parse(&made.arena, empty[i])),
                                 PERF_REPORT_EMPTY);
                assert_int_equal(made.report.n_ranks, 0);
        }
}

#define METRIC(key, value) "{\"key\": \"" key "\", \"value\": " value ", \"timestamp\": 1010500}"

static void a_job_that_was_not_observed_has_one_sample_with_its_totals(void **state) {
        static const char job[] = "{\"begin_ms\": 1000000, \"end_ms\": null, \"rank\": null, \"metrics\": ["
                METRIC("total_disk_io_read_mb", "8") "," METRIC("total_net_io_ext_recv_mb", "2") ","
                METRIC("cpu_avg_utilization_pct", "50") "]}";
        scoped(made_deinit) Made made = {}, none = {};

        (void)state;
        made.r = perf_report_add_totals(&made.report, "a", parse(&made.arena, job));
        assert_int_equal(made.r, 0);
        assert_int_equal(made.report.ranks[0].n, 1);
        assert_true(made.report.ranks[0].samples[0].cpu_avg == 50 &&
                    made.report.ranks[0].samples[0].boot_mib[PERFPY_DISK_READ_BYTES] == 8);
        assert_true(made.report.ranks[0].samples[0].boot_mib[PERFPY_NET_RECV_BYTES] == 2);
        assert_true(isnan(made.report.ranks[0].samples[0].boot_mib[PERFPY_DISK_WRITE_BYTES]));
        assert_true(made.report.ranks[0].samples[0].timestamp_s == 1010.5);
        assert_int_equal(perf_report_add_totals(&none.report, "a", parse(&none.arena, "{\"metrics\": []}")),
                         PERF_REPORT_EMPTY);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_report_is_laid_out_as_pythons),
                cmocka_unit_test(numbers_are_spelt_as_pythons_repr_does),
                cmocka_unit_test(the_artifact_that_perf_py_wrote_is_written_byte_for_byte),
                cmocka_unit_test(ranks_of_several_artifacts_are_sorted),
                cmocka_unit_test(two_of_one_rank_are_refused_unless_they_are_numbered_anew),
                cmocka_unit_test(an_artifact_that_is_none_is_refused_with_the_place),
                cmocka_unit_test(samples_of_a_job_keep_their_order_and_unknown_fields),
                cmocka_unit_test(an_answer_without_samples_adds_nothing),
                cmocka_unit_test(a_job_that_was_not_observed_has_one_sample_with_its_totals),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
