/* SPDX-License-Identifier: Apache-2.0 */
/* tests: lib/text/table_row.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/table_row.h"

static void quoted_cells_may_have_separators(void **state) {
        char line[] = "a, \"b, \"\"c\"\"\" ,d ";
        TableRow row;

        (void)state;
        assert_true(table_row_split(line, ',', &row));
        assert_int_equal(row.n, 3);
        assert_string_equal(row.cells[1], "b, \"c\"");
        assert_string_equal(row.cells[2], "d");
}

static void a_quoted_cell_without_an_end_is_refused(void **state) {
        char open[] = "a,\"b", behind[] = "\"a\" x,b";
        TableRow row;

        (void)state;
        assert_false(table_row_split(open, ',', &row));
        assert_false(table_row_split(behind, ',', &row));
}

static void the_separator_is_found_outside_of_quotes(void **state) {
        (void)state;
        assert_int_equal(table_row_find_separator("a,b;c"), ';');
        assert_int_equal(table_row_find_separator("\"a;b\",c"), ',');
        assert_int_equal(table_row_find_separator("a b\tc,d"), '\t');
        assert_int_equal(table_row_find_separator("alone"), '\0');
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(quoted_cells_may_have_separators),
                cmocka_unit_test(a_quoted_cell_without_an_end_is_refused),
                cmocka_unit_test(the_separator_is_found_outside_of_quotes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
