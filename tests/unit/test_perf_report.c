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

/* Two of jansson's constructors have the same names as functions of perfd's writer. */
#define json_string jansson_json_string
#define json_null jansson_json_null
#include <jansson.h>
#undef json_string
#undef json_null

#include "client/report/perf_report.h"
#include "document/value_parse.h"

static void assert_report(const PerfpySample *samples, size_t n, const char *expected) {
        scoped(buffer_deinit) Buffer out = {};

        perf_report_begin(&out);
        perf_report_put(&out, 3, samples, n, true);
        perf_report_end(&out);
        assert_int_equal(buffer_error(&out), 0);
        assert_string_equal(out.text, expected);
}

static void a_report_is_laid_out_as_pythons(void **state) {
        const PerfpySample sample = {
                59.287499999999994, 20.1, 100, NAN, 41.5, { 51237.64941360108, 0, 12.51, 12.5, 300, 4096 }, 1700000000,
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
                { 0, "0.0" }, { -0.0, "-0.0" }, { 1, "1.0" }, { 0.1, "0.1" }, { -2.5, "-2.5" }, { 0.1 + 0.2, "0.30000000000000004" },
                { 1.0 / 3, "0.3333333333333333" }, { 2.0 / 3, "0.6666666666666666" }, { 100, "100.0" }, { 123456789, "123456789.0" },
                { 0.0001, "0.0001" }, { 0.00012345, "0.00012345" }, { 0.00001, "1e-05" }, { 0.000012345, "1.2345e-05" },
                { 1e15, "1000000000000000.0" },
                { 9007199254740993.0, "9007199254740992.0" }, { 1e16, "1e+16" }, { 1.5e16, "1.5e+16" },
                { 12345678901234567890.0, "1.2345678901234567e+19" },
                { 1e22, "1e+22" }, { 1e-100, "1e-100" }, { 5e-324, "5e-324" }, { 1.7976931348623157e308, "1.7976931348623157e+308" },
                { 1700000001.003, "1700000001.003" }, { 99.99999999999999, "99.99999999999999" },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(spellings); i++) {
                scoped(buffer_deinit) Buffer out = {};
                char expected[64];

                snprintf(expected, sizeof(expected), "\"timestamp\": %s\n", spellings[i].text);
                perf_report_put(&out, 0, &(PerfpySample){ .timestamp_s = spellings[i].v }, 1, true);
                if (!strstr(out.text, expected))
                        fail_msg("not %s: %s", expected, out.text);
        }
}

static double field_of(const json_t *object, const char *name) {
        assert_true(json_is_number(json_object_get(object, name)));
        return json_number_value(json_object_get(object, name));
}

static PerfpySample sample_of(const json_t *s) {
        return (PerfpySample){
                field_of(s, "cpu_pct_per_cpu_avg"), field_of(s, "cpu_pct_per_cpu_min"), field_of(s, "cpu_pct_per_cpu_max"),
                field_of(s, "mem_percent"), field_of(s, "disk_usage_percent"),
                { field_of(s, "disk_io_read_mb"), field_of(s, "disk_io_write_mb"), field_of(s, "net_io_lo_sent_mb"),
                  field_of(s, "net_io_lo_recv_mb"), field_of(s, "net_io_ext_sent_mb"), field_of(s, "net_io_ext_recv_mb") },
                field_of(s, "timestamp"),
        };
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
        scoped(buffer_deinit) Buffer out = {};
        json_t *all, *captured;
        const char *rank;
        size_t i;

        (void)state;
        if (!artifact)
                skip(); /* captured files are not there (PERFD_FIXTURES) */

        all = json_loads(artifact, 0, NULL);
        assert_int_equal(json_object_size(all), 2);
        perf_report_begin(&out);
        json_object_foreach(all, rank, captured) {
                size_t n = json_array_size(captured);
                scoped(freep) PerfpySample *samples = calloc(n, sizeof(*samples));

                assert_true(n > 10);
                for (i = 0; i < n; i++)
                        samples[i] = sample_of(json_array_get(captured, i));
                perf_report_put(&out, atoi(rank), samples, n, *rank == '0');
        }
        perf_report_end(&out);
        assert_string_equal(out.text, artifact);
        json_decref(all);
}

/* --- from a timeline -------------------------------------------------------------------------- */

typedef struct Made {
        Arena arena;
        PerfpySample *samples;
        size_t n;
        int r;
} Made;

static void made_deinit(Made *made) {
        arena_deinit(&made->arena);
        free(made->samples);
}

static const Value *parse(Arena *arena, const char *text) {
        const Value *value;
        ValueReader reader;
        ValueError error;

        value_parse_begin(&reader, text, strlen(text));
        assert_int_equal(value_parse_next(&reader, arena, &value, &error), 0);
        return value;
}

static void make(Made *made, const char *job, const char *timeline, bool is_compat) {
        *made = (Made){};
        assert_int_equal(arena_init(&made->arena, value_parse_arena_size(strlen(job) + strlen(timeline))), 0);
        made->r = perf_report_samples(parse(&made->arena, job), parse(&made->arena, timeline), is_compat, &made->samples, &made->n);
}

#define MIB "1048576"
#define METRIC(key, value) "{\"key\": \"" key "\", \"value\": " value "}"

/* Ten and a half seconds; nothing was written in the last half second. */
static const char job[] =
        "{\"begin_ms\": 1000000, \"end_ms\": 1010500, \"rank\": null, \"metrics\": ["
        METRIC("max_t_cpu_pct_per_cpu_min", "12.5") "," METRIC("max_t_cpu_pct_per_cpu_max", "99.5") ","
        METRIC("max_t_mem_percent", "31.25") ","
        METRIC("max_t_disk_usage_percent", "41.5") "," METRIC("total_disk_io_read_mb", "8") "," METRIC("total_disk_io_write_mb", "0") ","
        METRIC("total_net_io_lo_sent_mb", "3") "," METRIC("total_net_io_lo_recv_mb", "3") "," METRIC("total_net_io_ext_sent_mb", "1") ","
        METRIC("total_net_io_ext_recv_mb", "2") "," METRIC("cpu_avg_utilization_pct", "50") "],"
        "\"compat\": [" METRIC("max_t_cpu_pct_per_cpu_min", "12.4") "," METRIC("max_t_cpu_pct_per_cpu_max", "99.6") ","
        METRIC("max_t_disk_usage_percent", "41.6") ","
        METRIC("total_disk_io_read_mb", "1008") "," METRIC("total_disk_io_write_mb", "500") ","
        METRIC("total_net_io_lo_sent_mb", "103") "," METRIC("total_net_io_lo_recv_mb", "103") ","
        METRIC("total_net_io_ext_sent_mb", "1") "," METRIC("total_net_io_ext_recv_mb", "7") "]}";
static const char timeline[] =
        "{\"begin_ms\": 1000000, \"interval_ms\": 3500, \"series\": {"
        "\"cpu\": {\"mean\": [0.25, null, 0.75], \"max\": [0.5, null, 1]},"
        "\"memory\": {\"mean\": [0.3, null, 0.3], \"max\": [0.31249, null, 0.3001]},"
        "\"disk_read\": {\"mean\": [" MIB ", null, 3145728], \"max\": [" MIB ", null, 3145728]},"
        "\"disk_write\": {\"mean\": [0, null, 0], \"max\": [0, null, 0]},"
        "\"net_sent\": {\"mean\": [1000, null, 0], \"max\": [1000, null, 0]},"
        "\"net_received\": {\"mean\": [null, null, null], \"max\": [null, null, null]}}}";

static void assert_near(double got, double expected) {
        if (!(fabs(got - expected) <= 1e-9 * fmax(1, fabs(expected))))
                fail_msg("got %.17g, expected %.17g", got, expected);
}

static void a_point_becomes_a_sample_at_its_end_and_a_hole_none(void **state) {
        scoped(made_deinit) Made made;

        (void)state;
        make(&made, job, timeline, false);
        assert_int_equal(made.r, 0);
        assert_int_equal(made.n, 2);
        assert_near(made.samples[0].timestamp_s, 1003.5);
        assert_near(made.samples[1].timestamp_s, 1010.5);
        assert_near(made.samples[0].cpu_avg, 25);
        assert_near(made.samples[1].cpu_avg, 75);
        assert_near(made.samples[0].memory, 31.249); /* the maximum of the interval */
        for (size_t i = 0; i < made.n; i++) {
                assert_near(made.samples[i].cpu_min, 12.5);
                assert_near(made.samples[i].cpu_max, 99.5);
                assert_near(made.samples[i].disk_usage, 41.5);
        }
}

static void counters_grow_from_the_begin_to_the_jobs_totals(void **state) {
        scoped(made_deinit) Made made;

        (void)state;
        make(&made, job, timeline, false);
        assert_near(made.samples[0].boot_mib[0], 2); /* a quarter of the bytes read */
        assert_near(made.samples[1].boot_mib[0], 8);
        assert_near(made.samples[1].boot_mib[1], 0);
        assert_near(made.samples[0].boot_mib[2], 0); /* no series: the time is unknown */
        assert_near(made.samples[1].boot_mib[2], 3);
        assert_near(made.samples[0].boot_mib[4], 1);
        assert_near(made.samples[1].boot_mib[4], 1);
        assert_near(made.samples[0].boot_mib[5], 0);
        assert_near(made.samples[1].boot_mib[5], 2);
}

static void in_compat_form_they_grow_from_what_they_were_since_boot(void **state) {
        scoped(made_deinit) Made made;

        (void)state;
        make(&made, job, timeline, true);
        assert_near(made.samples[0].boot_mib[0], 1002);
        assert_near(made.samples[1].boot_mib[0], 1008);
        assert_near(made.samples[0].boot_mib[1], 500);
        assert_near(made.samples[0].boot_mib[2], 100);
        assert_near(made.samples[1].boot_mib[2], 103);
        assert_near(made.samples[0].boot_mib[4], 1);
        assert_near(made.samples[0].memory, 31.2); /* rounded as in psutil */
        assert_near(made.samples[0].cpu_min, 12.4);
        assert_near(made.samples[0].disk_usage, 41.6);
}

static void what_no_metric_tells_is_unknown(void **state) {
        static const char absent[] = "{\"begin_ms\": 1000000, \"end_ms\": 1010500, \"metrics\": [], \"compat\": []}";
        scoped(made_deinit) Made made;

        (void)state;
        make(&made, absent, timeline, false);
        assert_int_equal(made.n, 2);
        assert_near(made.samples[0].cpu_avg, 25);
        assert_true(isnan(made.samples[0].cpu_min) && isnan(made.samples[0].disk_usage));
        for (size_t c = 0; c < N_BOOT_COUNTERS; c++)
                assert_true(isnan(made.samples[0].boot_mib[c]) && isnan(made.samples[1].boot_mib[c]));
}

static void a_job_that_was_not_observed_has_one_sample_with_its_totals(void **state) {
        static const char nothing[] = "{\"begin_ms\": 1000000, \"interval_ms\": 0, \"series\": {}}";
        scoped(made_deinit) Made made;

        (void)state;
        make(&made, job, nothing, false);
        assert_int_equal(made.n, 1);
        assert_near(made.samples[0].cpu_avg, 50);
        assert_near(made.samples[0].boot_mib[0], 8);
        assert_near(made.samples[0].timestamp_s, 1010.5);
}

static void a_job_without_any_numbers_has_no_report(void **state) {
        scoped(made_deinit) Made begun, strange;

        (void)state;
        make(&begun, "{\"begin_ms\": 1000000, \"end_ms\": null, \"metrics\": []}", "{\"begin_ms\": 1000000}", false);
        assert_int_equal(begun.r, PERF_REPORT_EMPTY);
        make(&strange, "[]", "3", true);
        assert_int_equal(strange.r, PERF_REPORT_EMPTY);
}

static void a_job_that_runs_is_reported_up_to_its_last_sample(void **state) {
        static const char running[] = "{\"begin_ms\": 1000000, \"end_ms\": null, \"metrics\": ["
                "{\"key\": \"total_disk_io_read_mb\", \"value\": 4, \"timestamp\": 1005250}]}";
        scoped(made_deinit) Made made;

        (void)state;
        make(&made, running, timeline, false);
        assert_int_equal(made.n, 2);
        assert_near(made.samples[1].timestamp_s, 1005.25);
        assert_near(made.samples[1].boot_mib[0], 4);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_report_is_laid_out_as_pythons),
                cmocka_unit_test(numbers_are_spelt_as_pythons_repr_does),
                cmocka_unit_test(the_artifact_that_perf_py_wrote_is_written_byte_for_byte),
                cmocka_unit_test(a_point_becomes_a_sample_at_its_end_and_a_hole_none),
                cmocka_unit_test(counters_grow_from_the_begin_to_the_jobs_totals),
                cmocka_unit_test(in_compat_form_they_grow_from_what_they_were_since_boot),
                cmocka_unit_test(what_no_metric_tells_is_unknown),
                cmocka_unit_test(a_job_that_was_not_observed_has_one_sample_with_its_totals),
                cmocka_unit_test(a_job_without_any_numbers_has_no_report),
                cmocka_unit_test(a_job_that_runs_is_reported_up_to_its_last_sample),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
