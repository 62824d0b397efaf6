/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/import/kpi_text.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/import/kpi_text.h"
#include "util/buffer.h"
#include "util/scoped.h"

typedef struct Fixture {
        Arena arena;
        Kpi *kpis;
        size_t n;
        KpiError error;
} Fixture;

static int set_up(void **state) {
        *state = calloc(1, sizeof(Fixture));
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        arena_deinit(&f->arena);
        free(f);
        return 0;
}

static int read_text(Fixture *f, const char *text) {
        arena_deinit(&f->arena);
        assert_int_equal(arena_init(&f->arena, kpi_text_arena_size(strlen(text))), 0);
        return kpi_text_parse(text, strlen(text), &f->arena, &f->kpis, &f->n, &f->error);
}

static void assert_json(const Value *value, const char *json) {
        scoped(buffer_deinit) Buffer out = {};

        value_write_json(value, &(Json){ .out = &out });
        assert_int_equal(buffer_error(&out), 0);
        assert_string_equal(out.text, json);
}

static void the_form_of_the_documentation_is_read(void **state) {
        Fixture *f = *state;

        assert_int_equal(
                read_text(f, "# HELP cpu_max Max CPU usage | container_cpu\n"
                             "# UNIT cpu_max cores\n"
                             "cpu_max{instance_type=\"g5.2xlarge\", ocp_version=\"4.16.0-rc.6\"} 1.964734477279039\n"),
                0);
        assert_int_equal(f->n, 1);
        assert_string_equal(f->kpis[0].name, "cpu_max");
        assert_json(f->kpis[0].object,
                    "{\"instance_type\":\"g5.2xlarge\",\"ocp_version\":\"4.16.0-rc.6\",\"unit\":\"cores\","
                    "\"help\":\"Max CPU usage | container_cpu\",\"value\":1.964734477279039}");
}

static void the_form_that_the_code_prints_is_read(void **state) {
        Fixture *f = *state;

        assert_int_equal(read_text(f, "# HELP Tokens, all of them, in tokens/s\n"
                                      "rate{lower_better=\"False\", urls=\"{'CI': \"x\"}\", format=\"None\", n=\"16\", "
                                      "kpi_settings_version=\"1.0\"} 2062.2 tokens/s\n"
                                      "# HELP Memory, in MB\n"
                                      "memory{lower_better=\"True\"} [-1, 2.5] MB\n"
                                      "none{} None s\n"), 0);
        assert_int_equal(f->n, 3);
        assert_json(f->kpis[0].object,
                    "{\"lower_better\":false,\"urls\":\"{'CI': \\\"x\\\"}\",\"format\":null,\"n\":16,"
                    "\"kpi_settings_version\":\"1.0\",\"unit\":\"tokens/s\",\"help\":\"Tokens, all of them\","
                    "\"value\":2062.2}");
        assert_json(value_get(f->kpis[1].object, "value"), "[-1,2.5]");
        assert_json(value_get(f->kpis[2].object, "value"), "null");
}

static void openmetrics_is_read_with_its_times(void **state) {
        Fixture *f = *state;

        assert_int_equal(read_text(f, "# TYPE rate gauge\n"
                                      "# HELP rate Rate of (all) tokens (in tokens/s)\n"
                                      "rate{a=\"x\\\\y\\\"z\\n\",b=\"q, v\"} 197.0 1731320430.123456\n"
                                      "rate 1e-3 1731320430\n"
                                      "# EOF\n"), 0);
        assert_int_equal(f->n, 2);
        assert_json(f->kpis[0].object,
                    "{\"a\":\"x\\\\y\\\"z\\n\",\"b\":\"q, v\",\"unit\":\"tokens/s\",\"help\":\"Rate of (all) tokens\","
                    "\"value\":197.0,\"@timestamp\":\"2024-11-11T10:20:30.123456Z\"}");
        assert_json(value_get(f->kpis[1].object, "@timestamp"), "\"2024-11-11T10:20:30.000000Z\"");
}

static const char *time_of(Fixture *f, const char *text) {
        assert_int_equal(read_text(f, text), 0);
        return value_get_string(f->kpis[0].object, "@timestamp") ?: "";
}

static void times_are_seconds_in_openmetrics_and_milliseconds_in_the_text_of_prometheus(void **state) {
        Fixture *f = *state;

        assert_string_equal(time_of(f, "a 5 1438224000000\n"), "2015-07-30T02:40:00.000000Z");
        assert_string_equal(time_of(f, "a 5 1438224000250\n"), "2015-07-30T02:40:00.250000Z");
        assert_string_equal(time_of(f, "a 5 1438224000\n# EOF\n"), "2015-07-30T02:40:00.000000Z");
        assert_string_equal(time_of(f, "a 5 1438224000\n"), "2015-07-30T02:40:00.000000Z");
        assert_string_equal(time_of(f, "a 5 1.438224e9\n# EOF"), "2015-07-30T02:40:00.000000Z");
        assert_string_equal(time_of(f, "a 5\n"), "");
}

static void an_exemplar_is_no_unit(void **state) {
        static const char *const lines[] = { "a 5 # {trace_id=\"KOO5S4vxi0o\"} 0.67\n",
                                             "a{b=\"# {x}\"} 5 # {} 9.8 1520879607.789\n# EOF\n",
                                             "a 5 1520879607.789 # {t=\"1\"} 1 2\n", "a 5  # {t=\"1\"} 1\n",
                                             "a 5 #{t=\"1\"} 1\n" };
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                int64_t value;

                assert_int_equal(read_text(f, lines[i]), 0);
                assert_null(value_get(f->kpis[0].object, "unit"));
                assert_true(value_get_int(f->kpis[0].object, "value", &value));
                assert_int_equal(value, 5);
        }
        assert_int_equal(read_text(f, "a 5 1/s # {t=\"1\"} 1\n"), 0);
        assert_string_equal(value_get_string(f->kpis[0].object, "unit"), "1/s");
}

static void values_that_are_not_finite_are_null_and_counted(void **state) {
        Fixture *f = *state;

        assert_int_equal(read_text(f, "a NaN\nb +Inf 1438224000000\nc -inf s\nd 1\n"), 0);
        assert_int_equal(f->error.n_not_finite, 3);
        assert_int_equal(value_get(f->kpis[1].object, "value")->type, VALUE_NULL);
}

static void errors_are_reported_with_their_line(void **state) {
        static const struct {
                const char *text, *words;
                unsigned line;
        } cases[] = {
                { "a 1\n{b=\"c\"} 1\n", "does not begin with the name", 2 },
                { "a{b=c} 1\n", "not of the form name", 1 },
                { "a{b=\"c} 1\n", "has no end", 1 },
                { "a{b=\"c\"} fast\n", "is not a number", 1 },
                { "\n\na\n", "is not a number", 3 },
                { "a [1, x]\n", "not a number", 1 },
                { "a [1\n", "the list has no end", 1 },
                { "a NaNs\n", "is not a number", 1 },
                { "a 1\nb 2 1438224000000\n# EOF\n", "OpenMetrics, which ends with # EOF, has seconds", 2 },
                { "a 1 -5\n", "not between 1970 and 2500", 1 },
        };
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                assert_int_equal(read_text(f, cases[i].text), KPI_MALFORMED);
                assert_int_equal(f->error.line, cases[i].line);
                if (!strstr(f->error.text, cases[i].words))
                        fail_msg("'%s' does not say '%s'", f->error.text, cases[i].words);
        }
}

static void labels_and_kpis_are_limited(void **state) {
        Fixture *f = *state;
        scoped(buffer_deinit) Buffer text = {};

        buffer_puts(&text, "a{");
        for (unsigned i = 0; i < KPI_LABELS_MAX; i++)
                buffer_printf(&text, "l%u=\"\",", i);
        buffer_puts(&text, "} 1\n");
        assert_int_equal(read_text(f, text.text), 0);
        buffer_clear(&text);
        buffer_puts(&text, "a{");
        for (unsigned i = 0; i <= KPI_LABELS_MAX; i++)
                buffer_printf(&text, "l%u=\"\",", i);
        buffer_puts(&text, "} 1\n");
        assert_int_equal(read_text(f, text.text), KPI_MALFORMED);

        buffer_clear(&text);
        for (unsigned i = 0; i < KPIS_MAX; i++)
                buffer_puts(&text, "a 1\n");
        assert_int_equal(read_text(f, text.text), 0);
        assert_int_equal(f->n, KPIS_MAX);
        buffer_puts(&text, "a 1\n");
        assert_int_equal(read_text(f, text.text), KPI_MALFORMED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(the_form_of_the_documentation_is_read),
                TEST(the_form_that_the_code_prints_is_read),
                TEST(openmetrics_is_read_with_its_times),
                TEST(times_are_seconds_in_openmetrics_and_milliseconds_in_the_text_of_prometheus),
                TEST(an_exemplar_is_no_unit),
                TEST(values_that_are_not_finite_are_null_and_counted),
                TEST(errors_are_reported_with_their_line),
                TEST(labels_and_kpis_are_limited),
        };

        return cmocka_run_group_tests_name("kpi_text", tests, NULL, NULL);
}
