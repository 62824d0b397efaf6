/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/import/kpi_documents.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/import/kpi_documents.h"
#include "util/scoped.h"
#include "value/value_parse.h"

static int set_up(void **state) {
        static Arena arena;

        *state = &arena;
        return arena_init(&arena, 1 << 20);
}

static int tear_down(void **state) {
        arena_deinit(*state);
        return 0;
}

static const Value *parse(Arena *arena, const char *text) {
        const Value *value;
        ValueReader reader;
        ValueError error;

        value_parse_begin(&reader, text, strlen(text));
        assert_int_equal(value_parse_next(&reader, arena, &value, &error), 0);
        return value;
}

static void assert_json(const Value *value, const char *json) {
        scoped(buffer_deinit) Buffer out = {};

        value_write_json(value, &(Json){ .out = &out });
        assert_int_equal(buffer_error(&out), 0);
        assert_string_equal(out.text, json);
}

static size_t read_kpis(Arena *arena, const char *text, Kpi **ret) {
        const char *error;
        size_t n;

        assert_int_equal(kpi_documents_read(parse(arena, text), arena, ret, &n, &error), 0);
        return n;
}

#define TEST_A                                                                                                         \
        "\"test_uuid\":\"7b6471e2-103e-43c2-9fda-f62548f2f8ed\",\"@timestamp\":\"2024-11-11T10:20:30.123456Z\","       \
        "\"model\":\"x\""
#define TEST_B                                                                                                         \
        "\"test_uuid\":\"8c6471e2-103e-43c2-9fda-f62548f2f8ed\",\"@timestamp\":\"2024-11-11T10:20:30.123456Z\","       \
        "\"model\":\"x\""

static void kpis_of_a_test_are_one_indicator(void **state) {
        static const uint8_t id[] = { 0x7b, 0x64, 0x71, 0xe2, 0x10, 0x3e, 0x43, 0xc2,
                                      0x9f, 0xda, 0xf6, 0x25, 0x48, 0xf2, 0xf8, 0xed };
        Arena *arena = *state;
        Complaint complaint;
        Submission item;
        Kpi *kpis;
        size_t n, n_used;

        n = read_kpis(arena, "{\"kpis\":{\"a\":{\"value\":1," TEST_A ",\"none\":null,\"run_id\":\"r\"},"
                             "\"b\":{\"value\":null,\"unit\":\"s\"," TEST_A ",\"none\":null,\"run_id\":\"r\"},"
                             "\"c\":{\"value\":[3]," TEST_B "}}}", &kpis);
        assert_int_equal(n, 3);
        assert_int_equal(kpi_documents_make(kpis, 0, n, "tuning", arena, &item, &n_used, &complaint), 0);
        assert_int_equal(n_used, 2);
        assert_memory_equal(item.id, id, sizeof(id));
        assert_int_equal(item.time_ms, 1731320430123);
        assert_json(item.indicator.document,
                    "{\"name\":\"tuning\",\"component\":\"kpi\",\"@parameters\":{\"model\":\"x\"},"
                    "\"@result\":{\"a\":1,\"b\":null},"
                    "\"@labels\":{\"test_uuid\":\"7b6471e2-103e-43c2-9fda-f62548f2f8ed\",\"run_id\":\"r\"},"
                    "\"@timestamp\":\"2024-11-11T10:20:30.123456Z\"}");
        assert_int_equal(kpi_documents_make(kpis, 2, 3, "tuning", arena, &item, &n_used, &complaint), 0);
        assert_int_equal(item.id[0], 0x8c);
}

static void a_name_occurs_once_in_an_indicator(void **state) {
        static const char *const names[] = { "a", "b", "a", "c", "b", "a" };
        static const size_t used[] = { 2, 3, 1 };
        const Value *object = parse(*state, "{\"value\":1}");
        Complaint complaint;
        Submission item;
        Kpi kpis[N_ELEMENTS(names)];
        size_t n_used, at = 0;

        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                kpis[i] = (Kpi){ .name = names[i], .object = object };
        assert_int_equal(kpi_documents_index(kpis, N_ELEMENTS(names)), 0);
        for (size_t i = 0; i < N_ELEMENTS(used); i++, at += n_used) {
                assert_int_equal(
                        kpi_documents_make(kpis, at, N_ELEMENTS(names), "m", *state, &item, &n_used, &complaint), 0);
                assert_int_equal(n_used, used[i]);
        }
}

static void an_id_of_another_form_is_not_used(void **state) {
        static const uint8_t none[RESULT_ID_BYTES] = {};
        Complaint complaint;
        Submission item;
        Kpi *kpis;
        size_t n_used;

        assert_int_equal(read_kpis(*state, "{\"a\":{\"value\":1,\"test_uuid\":\"7b6471e2-x\"}}", &kpis), 1);
        assert_int_equal(kpi_documents_make(kpis, 0, 1, "tuning", *state, &item, &n_used, &complaint), 0);
        assert_memory_equal(item.id, none, sizeof(none));
        assert_int_equal(item.time_ms, 0);
}

static void a_model_is_made_of_what_the_kpis_say(void **state) {
        const Value *model;
        Kpi *kpis;
        size_t n;

        n = read_kpis(*state, "{\"a\":{\"value\":1,\"unit\":\"s\",\"help\":\"Time\",\"lower_better\":true,"
                              "\"version\":\"2.17.0\",\"size\":1,"
                              "\"kpi_settings_version\":\"1.0\"},"
                              "\"b\":{\"value\":[1],\"lower_better\":false,\"ignored_for_regression\":true},"
                              "\"c\":{\"value\":null}}", &kpis);
        assert_int_equal(kpi_documents_model(kpis, n, "tuning", *state, &model), 0);
        assert_json(
                model,
                "{\"name\":\"tuning\",\"component\":\"kpi\",\"settings_version\":\"1.0\","
                "\"parameters\":{\"version\":{\"type\":\"semver\",\"optional\":true},\"size\":{\"optional\":true}},"
                "\"results\":{\"a\":{\"type\":\"float\",\"unit\":\"s\",\"direction\":\"lower\",\"help\":\"Time\","
                "\"optional\":true},"
                "\"b\":{\"type\":\"list\",\"direction\":\"higher\",\"ignored_for_regression\":true,\"optional\":true},"
                "\"c\":{\"optional\":true}}}");
}

static void other_documents_are_refused(void **state) {
        static const char *const texts[] = { "[]", "1", "{\"a\":1}", "{\"a\":{}}", "{\"kpis\":[]}" };
        const char *error;
        Kpi *kpis;
        size_t n;

        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                assert_int_equal(kpi_documents_read(parse(*state, texts[i]), *state, &kpis, &n, &error), KPI_MALFORMED);
}

static void one_value_is_a_document_with_labels(void **state) {
        static const char *const labels[] = { "model=llama=3", "user=" };
        static const Value value = { .type = VALUE_INT, .integer = -1 };
        const Value *document;

        assert_int_equal(
                kpi_documents_make_one(&(KpiValue){ .name = "m", .value = &value, .labels = labels, .n_labels = 2 },
                                       *state, &document),
                0);
        assert_json(document, "{\"name\":\"m\",\"component\":\"kpi\",\"@parameters\":{},\"@result\":{\"m\":-1},"
                              "\"@labels\":{\"model\":\"llama=3\",\"user\":\"\"}}");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(kpis_of_a_test_are_one_indicator),  TEST(a_name_occurs_once_in_an_indicator),
                TEST(an_id_of_another_form_is_not_used), TEST(a_model_is_made_of_what_the_kpis_say),
                TEST(other_documents_are_refused),       TEST(one_value_is_a_document_with_labels),
        };

        return cmocka_run_group_tests_name("kpi_documents", tests, NULL, NULL);
}
