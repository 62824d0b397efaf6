/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/indicators/live_kpis.c daemon/snapshot/snapshot.c */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "indicators/live_kpis.h"

typedef struct Fixture {
        LiveKpis kpis;
        KpisSnapshot snapshot;
} Fixture;

static int set_up(void **state) {
        *state = calloc(1, sizeof(Fixture));
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        snapshot_indicators_deinit_kpis(&f->snapshot);
        live_kpis_deinit(&f->kpis);
        free(f);
        return 0;
}

static void derived_numbers_are_shown_like_measured_ones(void **state) {
        Property properties[] = {
                { .name = "tokens_per_s", .is_result = true, .unit = "tokens/s", .direction = DIRECTION_HIGHER, .from = "tokens / elapsed" },
                { .name = "broken", .is_result = true, .direction = DIRECTION_HIGHER, .from = "tokens / 0" },
                { .name = "unknown", .is_result = true, .direction = DIRECTION_HIGHER, .from = "absent + 1" },
                { .name = "unjudged", .is_result = true, .from = "tokens" },
        };
        const IndicatorModel model = { .name = "Train", .properties = properties, .n_properties = 4 };
        char text[LIVE_KPIS_DERIVED_MAX] = "{\"@result\":{\"tokens\":90,\"elapsed\":4,\"pad\":\"";
        const Value none = { .type = VALUE_OBJECT };
        Submission item = {
                .indicator = { .name = "Train", .component = "c", .parameters = &none, .result = &none },
                .model = &model,
                .time_ms = 1,
        };
        Fixture *f = *state;
        size_t n = strlen(text);

        (void)snprintf(text + n, sizeof(text) - n, "\"}}");
        item.document_text = json_text(text, strlen(text));
        assert_true(live_kpis_add(&f->kpis, 1000, &item, 5) >= 1);
        assert_int_equal(f->kpis.n, 1);
        assert_string_equal(f->kpis.items[0].base, "tokens_per_s");
        assert_true(f->kpis.items[0].value == 22.5);

        /* An expression that would take long on a large document is not computed, and a document that is rewritten
         * is not read. */
        item.time_ms = 2;
        memset(text + n, 'x', sizeof(text) - n - 4);
        (void)snprintf(text + sizeof(text) - 4, 4, "\"}}");
        item.document_text = json_text(text, strlen(text));
        assert_true(live_kpis_add(&f->kpis, 1000, &item, 5) > 100);
        item.document_text = (JsonText){};
        assert_int_equal(live_kpis_add(&f->kpis, 1000, &item, 5), 0);
        assert_int_equal(f->kpis.items[0].time_ms, 1);
}

/* The loop waits for them, and serves nobody else meanwhile. */
static void derived_numbers_of_a_result_are_bounded_together(void **state) {
        Property properties[256];
        const IndicatorModel model = { .name = "Train",
                                       .properties = properties,
                                       .n_properties = N_ELEMENTS(properties) };
        const Value none = { .type = VALUE_OBJECT };
        char text[2048] = "{\"@result\":{\"pad\":\"", names[N_ELEMENTS(properties)][8];
        Submission item = {
                .indicator = { .name = "Train", .component = "c", .parameters = &none, .result = &none },
                .model = &model,
                .time_ms = 1,
        };
        Fixture *f = *state;
        size_t n = strlen(text);

        memset(text + n, 'x', sizeof(text) - n);
        (void)snprintf(text + sizeof(text) - 12, 12, "\",\"z\":1.5}}");
        item.document_text = json_text(text, strlen(text));
        for (size_t i = 0; i < N_ELEMENTS(properties); i++) {
                (void)snprintf(names[i], sizeof(names[i]), "d%zu", i);
                properties[i] = (Property){ .name = names[i], .is_result = true, .direction = DIRECTION_HIGHER,
                                            /* numbers without a value are not shown */
                                            .from = i < 8 ? "z+z+z" : "z+z+z+absent" };
        }
        assert_in_range(live_kpis_add(&f->kpis, 1, &item, 1), 200, 300);
        assert_int_equal(f->kpis.n, 8);
}

typedef struct Given {
        const char *indicator, *result, *kpi_name, *size, *help;
        double value;
        uint64_t time_ms;
        uint32_t uid;
        Direction direction;
        int32_t exit_status;
} Given;

static void add(LiveKpis *kpis, const Given *given) {
        Property properties[] = {
                { .name = "size" }, { .name = "run_id" }, { .name = "ratio" },
                { .name = given->result, .is_result = true, .unit = "s", .direction = given->direction ?: DIRECTION_LOWER,
                  .help = (char *)given->help ?: "a \"b\"" },
        };
        const IndicatorModel model = {
                .name = given->indicator, .properties = properties, .n_properties = 4, .kpi_name = given->kpi_name
        };
        Member parameters[] = {
                { "size", { .type = VALUE_STRING, .string = given->size ?: "1" } }, { "ratio", { .type = VALUE_INT, .integer = 2 } },
                { "run", { .type = VALUE_STRING, .string = "x" } },
                { "run_id", { .type = VALUE_STRING, .string = "jobs/7" } }, /* identifies a run: no label */
        };
        Member result[] = { { given->result, { .type = VALUE_DOUBLE, .number = given->value } } };
        const Value all = { .type = VALUE_OBJECT, .members = parameters, .n_members = 4 };
        const Value results = { .type = VALUE_OBJECT, .members = result, .n_members = 1 };
        const Submission item = {
                .indicator = { .name = given->indicator, .component = "c", .parameters = &all, .result = &results },
                .model = &model,
                .time_ms = given->time_ms,
                .has_exit_status = true,
                .exit_status = given->exit_status,
        };

        live_kpis_add(kpis, given->uid, &item, 50);
}

static const KpiSample *find(Fixture *f, const char *family) {
        const KpiSample *found = NULL;

        assert_int_equal(live_kpis_publish(&f->kpis, &f->snapshot), 0);
        for (size_t i = 0; i < f->snapshot.n; i++)
                if (strcmp(f->snapshot.samples[i].family, family) == 0)
                        found = &f->snapshot.samples[i];
        return found;
}

static void the_newest_number_of_a_series_is_shown(void **state) {
        Fixture *f = *state;

        add(&f->kpis, &(Given){ "A", "time_s", .value = 1, .time_ms = 10 });
        assert_string_equal(find(f, "perfd_kpi_time_s")->labels, "component=\"c\",uid=\"0\",size=\"1\",ratio=\"2\"");
        assert_string_equal(find(f, "perfd_kpi_time_s")->unit, "s");
        assert_string_equal(find(f, "perfd_kpi_time_s")->help, "a 'b' (in s)");
        add(&f->kpis, &(Given){ "A", "time_s", .value = 2, .time_ms = 9 });
        assert_true(find(f, "perfd_kpi_time_s")->value == 1);
        add(&f->kpis, &(Given){ "A", "time_s", .value = 3 }); /* at arrival */
        assert_true(find(f, "perfd_kpi_time_s")->value == 3);
        assert_int_equal(f->snapshot.n, 1);
        add(&f->kpis, &(Given){ "A", "time_s", .value = 4, .exit_status = 1 });
        add(&f->kpis, &(Given){ "A", "time_s", .value = (double)NAN });
        assert_true(find(f, "perfd_kpi_time_s")->value == 3);
        add(&f->kpis, &(Given){ "A", "time_s", .size = "2\n\"\\", .value = 5 });
        assert_int_equal(find(f, "perfd_kpi_time_s") ? f->snapshot.n : 0, 2);
        assert_string_equal(f->snapshot.samples[1].labels,
                            "component=\"c\",uid=\"0\",size=\"2\\n\\\"\\\\\",ratio=\"2\"");
}

/* One parameter of any user could otherwise make Prometheus refuse the whole scrape, or act on a terminal that shows
 * it. */
static void labels_and_help_have_no_unsafe_names_and_characters(void **state) {
        Property properties[] = {
                { .name = "__name__" }, { .name = "-_x" }, { .name = "_a" }, { .name = "component" }, { .name = "uid" },
                { .name = "time_s", .is_result = true, .direction = DIRECTION_LOWER, .help = "a\n\x1b[1m\u202eb" },
        };
        const IndicatorModel model = { .name = "A", .properties = properties, .n_properties = 6 };
        Member parameters[] = {
                { "__name__", { .type = VALUE_STRING, .string = "up" } }, { "-_x", { .type = VALUE_INT, .integer = 1 } },
                { "_a", { .type = VALUE_STRING, .string = "\x1b\u202e\xc2\x9b\xff\u00e4" } },
                { "component", { .type = VALUE_STRING, .string = "mine" } }, { "uid", { .type = VALUE_INT, .integer = 7 } },
        };
        Member result[] = { { "time_s", { .type = VALUE_DOUBLE, .number = 1 } } };
        const Value all = { .type = VALUE_OBJECT, .members = parameters, .n_members = 5 };
        const Value results = { .type = VALUE_OBJECT, .members = result, .n_members = 1 };
        const Submission item = {
                .indicator = { .name = "A", .component = "c", .parameters = &all, .result = &results },
                .model = &model,
                .time_ms = 1,
        };
        Fixture *f = *state;

        live_kpis_add(&f->kpis, 1, &item, 1);
        assert_string_equal(find(f, "perfd_kpi_time_s")->labels,
                            "component=\"c\",uid=\"1\",parameter__name__=\"up\",parameter__x=\"1\","
                            "_a=\"\\\\x1b\\\\u{202e}\\\\u{009b}\xef\xbf\xbd\u00e4\","
                            "parameter_component=\"mine\",parameter_uid=\"7\"");
        assert_string_equal(f->snapshot.samples[0].help, "a  [1m b");
}

static void a_clash_is_resolved_by_the_name_of_the_indicator(void **state) {
        Fixture *f = *state;

        add(&f->kpis, &(Given){ "A", "9/rate", .value = 1 });
        assert_non_null(find(f, "perfd_kpi__9_rate"));
        add(&f->kpis, &(Given){ "B.c", "other", .kpi_name = "_9_rate", .value = 2 });
        assert_null(find(f, "perfd_kpi__9_rate"));
        assert_true(find(f, "perfd_kpi_a__9_rate")->value == 1);
        assert_true(find(f, "perfd_kpi_b_c__9_rate")->value == 2);

        add(&f->kpis, &(Given){ "Own", "x", .kpi_name = "up", .value = 3 });
        assert_null(find(f, "up"));
        assert_true(find(f, "perfd_kpi_up")->value == 3);
        add(&f->kpis, &(Given){ "Own", "y", .kpi_name = "series_not_exposed", .value = 3 });
        assert_true(find(f, "perfd_kpi_own_series_not_exposed")->value == 3);
        add(&f->kpis, &(Given){ "series", "x", .kpi_name = "not_exposed", .value = 4 });
        add(&f->kpis, &(Given){ "other", "x", .kpi_name = "not_exposed", .value = 4 });
        assert_null(find(f, "perfd_kpi_series_not_exposed"));
        assert_int_equal(f->snapshot.n_not_exposed, 1);
        /* The name with the indicator is the name of a further family. */
        add(&f->kpis, &(Given){ "Z", "a__9_rate", .value = 5 });
        assert_true(find(f, "perfd_kpi_a__9_rate")->value == 1);
        assert_int_equal(f->snapshot.n_not_exposed, 2);
        assert_int_equal(f->snapshot.n, 5);
}

/* Neither a value, nor a name, nor a help text of a user changes because of what another user submits. */
static void users_have_their_own_series(void **state) {
        Fixture *f = *state;

        add(&f->kpis, &(Given){ "A", "time_s", .value = 1, .time_ms = 10, .uid = 300 });
        add(&f->kpis, &(Given){ "A", "time_s", .value = 2, .time_ms = 20, .uid = 200, .help = "of another" });
        assert_non_null(find(f, "perfd_kpi_time_s"));
        assert_int_equal(f->snapshot.n, 2);
        assert_string_equal(f->snapshot.samples[0].labels, "component=\"c\",uid=\"200\",size=\"1\",ratio=\"2\"");
        assert_string_equal(f->snapshot.samples[0].help, "a 'b' (in s)");
        assert_true(f->snapshot.samples[1].value == 1);

        add(&f->kpis, &(Given){ "B", "x", .kpi_name = "time_s", .value = 3, .uid = 100, .help = "of a third" });
        assert_true(find(f, "perfd_kpi_time_s")->value == 1);
        assert_int_equal(f->snapshot.n, 3);
        assert_string_equal(f->snapshot.samples[0].labels, "component=\"c\",uid=\"100\",size=\"1\",ratio=\"2\"");
        assert_string_equal(f->snapshot.samples[0].help, "a 'b' (in s)");
        assert_int_equal(f->snapshot.n_not_exposed, 0);

        add(&f->kpis, &(Given){ "B", "x", .kpi_name = "time_s", .value = 4, .uid = 200 });
        assert_true(find(f, "perfd_kpi_time_s")->value == 1);
        assert_true(find(f, "perfd_kpi_a_time_s")->value == 2);
        assert_true(find(f, "perfd_kpi_b_time_s")->value == 4);
        assert_int_equal(f->snapshot.n, 4);
}

static void only_results_with_a_direction_are_kpis(void **state) {
        Fixture *f = *state;
        Submission item = { .indicator = { .name = "A" } };

        live_kpis_add(&f->kpis, 1, &item, 1); /* without a model */
        assert_int_equal(f->kpis.n, 0);
        add(&f->kpis, &(Given){ "A", "n", .direction = DIRECTION_NONE, .value = 1 });
        assert_non_null(find(f, "perfd_kpi_n"));
}

static void the_number_of_series_is_limited(void **state) {
        Fixture *f = *state;
        LiveKpis staged = {};
        char size[LIVE_KPIS_LABELS_MAX + 1] = "";

        add(&f->kpis, &(Given){ "Mine", "rate", .uid = 8 + 256, .value = 1 });
        for (unsigned i = 0; i < 2 * LIVE_KPIS_MAX; i++) {
                (void)snprintf(size, sizeof(size), "%u", i);
                add(&staged, &(Given){ "Flood", "rate", .uid = 8, .value = i, .size = size });
        }
        assert_int_equal(staged.n, LIVE_KPIS_MAX);
        live_kpis_merge(&f->kpis, &staged);
        assert_int_equal(staged.n, 0);
        assert_int_equal(f->kpis.n, LIVE_KPIS_MAX);
        assert_true(find(f, "perfd_kpi_rate")->value == 1);
        assert_int_equal(f->snapshot.n, LIVE_KPIS_MAX);
        assert_int_equal(f->snapshot.n_not_exposed, LIVE_KPIS_MAX + 1);
        memset(size, 'x', sizeof(size) - 1);
        add(&f->kpis, &(Given){ "Long", "rate", .value = 1, .size = size });
        assert_int_equal(f->kpis.n_not_exposed, LIVE_KPIS_MAX + 2);
        assert_int_equal(f->kpis.n, LIVE_KPIS_MAX);
}

static void a_result_has_a_limited_number_of_series_and_a_limited_help(void **state) {
        enum { N = LIVE_KPIS_PER_RESULT_MAX + 10 };
        Fixture *f = *state;
        Property properties[N];
        Member results[N];
        const Value result = { .type = VALUE_OBJECT, .members = results, .n_members = N };
        const IndicatorModel model = { .name = "A", .properties = properties, .n_properties = N };
        const Submission item = { .indicator = { .name = "A", .result = &result }, .model = &model };
        char names[N][8], help[LIVE_KPIS_HELP_MAX + 3];

        memset(help, 'x', sizeof(help) - 1);
        memcpy(help + LIVE_KPIS_HELP_MAX - 1, "\u00fc!", sizeof("\u00fc!")); /* the limit is within a character */
        for (unsigned i = 0; i < N; i++) {
                (void)snprintf(names[i], sizeof(names[i]), "r%u", i);
                properties[i] = (Property){
                        .name = names[i], .is_result = true, .direction = DIRECTION_LOWER, .help = help
                };
                results[i] = (Member){ names[i], { .type = VALUE_INT, .integer = i } };
        }
        assert_int_equal(live_kpis_add(&f->kpis, 1, &item, 1), LIVE_KPIS_PER_RESULT_MAX);
        assert_int_equal(f->kpis.n, LIVE_KPIS_PER_RESULT_MAX);
        assert_int_equal(f->kpis.n_not_exposed, 10);
        assert_non_null(find(f, "perfd_kpi_r63"));
        assert_null(find(f, "perfd_kpi_r64"));
        assert_int_equal(strlen(find(f, "perfd_kpi_r0")->help), LIVE_KPIS_HELP_MAX - 1);
}

static void the_series_of_a_user_are_forgotten(void **state) {
        Property properties[] = { { .name = "rate", .is_result = true, .direction = DIRECTION_HIGHER } };
        const IndicatorModel model = { .name = "M", .properties = properties, .n_properties = 1 };
        Member member = { "rate", { .type = VALUE_INT, .integer = 1 } };
        const Value result = { .type = VALUE_OBJECT, .members = &member, .n_members = 1 };
        const Value none = { .type = VALUE_OBJECT };
        Submission item = { .indicator = { .name = "M", .component = "c", .parameters = &none, .result = &result },
                            .model = &model };
        Fixture *f = *state;

        for (uint32_t uid = 1000; uid < 1003; uid++) {
                item.time_ms = uid;
                (void)live_kpis_add(&f->kpis, uid, &item, 1);
        }
        live_kpis_forget(&f->kpis, 1001, 1001);
        assert_int_equal(f->kpis.n, 3);
        live_kpis_forget(&f->kpis, 1001, UINT64_MAX);
        assert_int_equal(f->kpis.n, 2);
        for (size_t i = 0; i < f->kpis.n; i++)
                assert_int_not_equal(f->kpis.items[i].uid, 1001);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_newest_number_of_a_series_is_shown, set_up, tear_down),
                cmocka_unit_test_setup_teardown(derived_numbers_are_shown_like_measured_ones, set_up, tear_down),
                cmocka_unit_test_setup_teardown(derived_numbers_of_a_result_are_bounded_together, set_up, tear_down),
                cmocka_unit_test_setup_teardown(labels_and_help_have_no_unsafe_names_and_characters, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_clash_is_resolved_by_the_name_of_the_indicator, set_up, tear_down),
                cmocka_unit_test_setup_teardown(users_have_their_own_series, set_up, tear_down),
                cmocka_unit_test_setup_teardown(only_results_with_a_direction_are_kpis, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_number_of_series_is_limited, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_result_has_a_limited_number_of_series_and_a_limited_help, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(the_series_of_a_user_are_forgotten, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
