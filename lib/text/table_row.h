/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Table row: one line of a text with columns, such as CSV (RFC 4180, a row on one line) */

#include <stdbool.h>
#include <stddef.h>

#define TABLE_ROW_CELLS_MAX 256U

/* The cells of a line; texts are in the line, which is changed. */
typedef struct TableRow {
        char *cells[TABLE_ROW_CELLS_MAX];
        size_t n;
} TableRow;

/* Returns the separator that a line has: ; or a tab or a comma, in this order; NUL for a line of one cell. */
char table_row_find_separator(const char *line);
/* Splits a line, which is changed, into cells without blanks around them. Returns false if a quoted cell has no end,
 * or text behind it. */
bool table_row_split(char *line, char separator, TableRow *ret);
