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
                grid_text(grid, i == 0 ? "2.1" : "2.2");
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
        assert_non_null(strstr(out.text, "a component t…  2.2"));
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
                            "VERSION      2.2\n"
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
                               "a name which is far too long for it  2.2      5       0       203.25            -\n"));
}

/* Writes rows as of `kpi list`, whose names are the component and the parameters. */
static void write_named(const char *const *names, size_t n, unsigned width, Buffer *out) {
        scoped(grid_deinit) Grid grid = {};
        Screen screen = { .out = out, .width = width, .has_unicode = true };

        grid_init_heads(&grid, "KPI|COMPONENT, PARAMETERS|>VALUE|BETTER|MODEL");
        for (size_t i = 0; i < n; i++) {
                grid_whole(&grid, "rate");
                grid_text(&grid, names[i]);
                grid_number(&grid, (double)i);
                grid_text(&grid, "higher");
                grid_value(&grid, NULL); /* "-" is left out where the line is too long */
        }
        assert_int_equal(grid_write(&grid, &screen, true), 0);
}

static void what_all_rows_have_in_common_is_above_the_table(void **state) {
        static const char *const names[] = { "kpi image=quay.io/training lora=q, v model=llama3 users=4",
                                             "kpi image=quay.io/training lora=q, v model=granite users=4" };
        scoped(buffer_deinit) Buffer out = {}, wide = {}, alone = {};

        (void)state;
        write_named(names, 2, 60, &out);
        assert_string_equal(out.text, "All rows: KPI rate, kpi image=quay.io/training lora=q, v\n"
                                      "    users=4, BETTER higher\n"
                                      "COMPONENT, PARAMETERS  VALUE\n"
                                      "model=llama3               0\n"
                                      "model=granite              1\n");
        write_named(names, 2, 120, &wide);
        assert_null(strstr(wide.text, "All rows"));
        write_named(names, 1, 60, &alone);
        assert_null(strstr(alone.text, "All rows"));
}

static void a_name_of_several_words_is_wrapped(void **state) {
        static const char *const names[] = { "image=quay.io/training/a/long/name/of/1.10 model=granite-3.1-8b",
                                             "image=quay.io/training/a/long/name/of/1.11 model=llama-3.1-70b" };
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        write_named(names, 2, 40, &out);
        assert_non_null(strstr(out.text, "/1.10\n                      model=granite-3.1-8b\n"));
}

static void rows_never_differ_only_in_what_is_cut_off(void **state) {
        static const char *const names[] = { "kpi image=quay.io/training/a/long/name/of/version/1.10.0",
                                             "kpi image=quay.io/training/a/long/name/of/version/1.11.0" };
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        write_named(names, 2, 40, &out);
        assert_non_null(strstr(out.text, "image=quay.io/training/a/long/name/of/version/1.10.0\n"));
        assert_non_null(strstr(out.text, "image=quay.io/training/a/long/name/of/version/1.11.0\n"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(text_columns_are_truncated_to_fit),
                cmocka_unit_test(a_table_too_wide_is_written_cell_by_cell),
                cmocka_unit_test(no_line_is_longer_than_a_screen_of_twenty_columns_or_more),
                cmocka_unit_test(numbers_are_never_cut),
                cmocka_unit_test(output_to_a_file_is_not_truncated),
                cmocka_unit_test(what_all_rows_have_in_common_is_above_the_table),
                cmocka_unit_test(a_name_of_several_words_is_wrapped),
                cmocka_unit_test(rows_never_differ_only_in_what_is_cut_off),
        };

        return cmocka_run_group_tests_name("grid", tests, NULL, NULL);
}
