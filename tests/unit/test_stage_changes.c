/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "client/pipeline/stage_changes.h"
#include "util/buffer.h"
#include "value/value_parse.h"

/* Checks which of the rows, by their numbers in the answer, are listed. */
static void check(const char *rows_text, const size_t *expected, size_t n) {
        scoped(stage_changes_free_rows) IntervalRows rows = {};
        scoped(buffer_deinit) Buffer text = {};
        scoped(arena_deinit) Arena arena = {};
        const Value *answer, *list;
        ValueReader reader;
        ValueError error;

        buffer_printf(&text, "{\"intervals\":[%s]}", rows_text);
        assert_int_equal(arena_init(&arena, value_parse_arena_size(text.n)), 0);
        value_parse_begin(&reader, text.text, text.n);
        assert_int_equal(value_parse_next(&reader, &arena, &answer, &error), 0);
        assert_int_equal(stage_changes_list_rows(&rows, answer), 0);
        list = value_get(answer, "intervals");
        assert_int_equal(rows.n, n);
        for (size_t i = 0; i < n; i++)
                assert_ptr_equal(rows.items[i], &list->items[expected[i]]);
}

#define CHECK(text, ...) check(text, (const size_t[]){ __VA_ARGS__ }, N_ELEMENTS(((const size_t[]){ __VA_ARGS__ })))
#define ROW(stage, part, begin, end, merged)                                                                           \
        "{\"stage\":\"" stage "\",\"part\":\"" part "\",\"begin_ms\":" #begin ",\"end_ms\":" #end                      \
        ",\"merged\":" #merged "}"

static void intervals_of_an_ended_job_are_all_listed(void **state) {
        (void)state;
        CHECK(ROW("1:a", "tasks", 0, 1000, 1) "," ROW("1:a", "tasks", 1000, 5000, 4) "," ROW(
                      "1:a", "tasks", 4999, 9000, 4) "," ROW("1:a", "queue", 0, 1000,
                                                             1) "," ROW("1:a", "queue", 1001, 9000,
                                                                        8) "," ROW("2:b", "tasks", 0, 9000, 8),
              0, 1, 2, 3, 4, 5);
}

static void parts_of_a_later_sum_are_left_out(void **state) {
        (void)state;
        CHECK(ROW("1:a", "tasks", 0, 1000, 1) "," ROW("1:a", "tasks", 1000, 2000, 1) "," ROW(
                      "1:a", "tasks", 2000, 4000, 2) "," ROW("1:a", "tasks", 4000, 5000,
                                                             1) "," ROW("1:a", "tasks", 1001, 9000,
                                                                        8) "," ROW("1:a", "tasks", 9000, 10000, 1),
              0, 4, 5);
}

static void intervals_of_other_series_are_no_parts(void **state) {
        (void)state;
        CHECK(ROW("1:a", "queue", 1000, 2000, 1) "," ROW("1:a", "tasks", 0, 4000, 4) "," ROW("1:b", "tasks", 0, 4000,
                                                                                             4),
              0, 1, 2);
}

static void an_answer_without_intervals_has_no_rows(void **state) {
        scoped(stage_changes_free_rows) IntervalRows rows = {};

        (void)state;
        check("", NULL, 0);
        assert_int_equal(stage_changes_list_rows(&rows, NULL), 0);
        assert_int_equal(rows.n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(intervals_of_an_ended_job_are_all_listed),
                cmocka_unit_test(parts_of_a_later_sum_are_left_out),
                cmocka_unit_test(intervals_of_other_series_are_no_parts),
                cmocka_unit_test(an_answer_without_intervals_has_no_rows),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
