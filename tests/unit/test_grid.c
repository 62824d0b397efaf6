/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/grid.h"
#include "util/scoped.h"

/* Fills in the output of `indicator query` for a group with two statistics, 54 columns wide. */
static void fill(Grid *grid) {
        grid_init(grid, 6, 2);
        grid_key(grid, "component");
        grid_key(grid, "version");
        grid_right(grid, "N");
        grid_right(grid, "FAILED");
        grid_right(grid, "median:rate");
        grid_right(grid, "p95:elapsed");
        for (size_t i = 0; i < 4; i++)
                grid_text(grid, "");
        grid_right(grid, "GFLOP/s");
        grid_right(grid, "");
        for (size_t i = 0; i < 2; i++) {
                grid_text(grid, i == 0 ? "tensorflow" : "a component that has a name which is far too long for it");
                grid_text(grid, "2.1");
                grid_count(grid, 5);
                grid_count(grid, 0);
                grid_number(grid, 203.25);
                grid_number(grid, i == 0 ? 7 : 1.0 / 0.0);
        }
}

static void write_at(unsigned width, bool is_cut, Buffer *out) {
        scoped(grid_deinit) Grid grid = {};
        Screen screen = { .out = out, .width = width, .has_unicode = true };

        fill(&grid);
        assert_int_equal(grid_write(&grid, &screen, is_cut), 0);
}

static size_t longest_line(const char *text) {
        size_t most = 0;

        while (*text) {
                size_t n = strcspn(text, "\n"), columns = 0;

                for (size_t i = 0; i < n; i++)
                        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
                most = columns > most ? columns : most;
                text += n + (text[n] == '\n');
        }
        return most;
}

static void text_columns_are_truncated_to_fit(void **state) {
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        write_at(60, true, &out);
        assert_non_null(strstr(out.text, "tensorflow      2.1      5       0       203.25            7\n"));
        assert_non_null(strstr(out.text, "a component t…  2.1"));
        assert_true(longest_line(out.text) <= 60);
}

static void a_table_too_wide_is_written_cell_by_cell(void **state) {
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        write_at(40, true, &out);
        assert_string_equal(out.text,
                            "COMPONENT    tensorflow\n"
                            "VERSION      2.1\n"
                            "N            5\n"
                            "FAILED       0\n"
                            "median:rate  203.25 GFLOP/s\n"
                            "p95:elapsed  7\n"
                            "\n"
                            "COMPONENT    a component that has a nam…\n"
                            "VERSION      2.1\n"
                            "N            5\n"
                            "FAILED       0\n"
                            "median:rate  203.25 GFLOP/s\n"
                            "p95:elapsed  -\n");
}

static void no_line_is_longer_than_a_screen_of_twenty_columns_or_more(void **state) {
        (void)state;
        for (unsigned width = 20; width < 120; width++) {
                scoped(buffer_deinit) Buffer out = {};

                write_at(width, true, &out);
                assert_in_range(longest_line(out.text), 1, width);
        }
}

/* A key may be a number under a text heading. */
static void numbers_are_never_cut(void **state) {
        (void)state;
        for (unsigned width = 20; width < 60; width++) {
                scoped(grid_deinit) Grid grid = {};
                scoped(buffer_deinit) Buffer out = {};
                Screen screen = { .out = &out, .width = width };

                grid_init(&grid, 2, 1);
                grid_key(&grid, "a parameter's long name");
                grid_key(&grid, "text");
                grid_number(&grid, 123456e100);
                grid_text(&grid, "abcdefghijklmnopqrstuvwxyz");
                assert_int_equal(grid_write(&grid, &screen, true), 0);
                assert_non_null(strstr(out.text, "1.23456e+105"));
                assert_in_range(longest_line(out.text), 1, width > 24 ? width : 24);
        }
}

static void output_to_a_file_is_not_truncated(void **state) {
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        write_at(20, false, &out);
        assert_non_null(strstr(out.text,
                               "a name which is far too long for it  2.1      5       0       203.25            -\n"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(text_columns_are_truncated_to_fit),
                cmocka_unit_test(a_table_too_wide_is_written_cell_by_cell),
                cmocka_unit_test(no_line_is_longer_than_a_screen_of_twenty_columns_or_more),
                cmocka_unit_test(numbers_are_never_cut),
                cmocka_unit_test(output_to_a_file_is_not_truncated),
        };

        return cmocka_run_group_tests_name("grid", tests, NULL, NULL);
}
