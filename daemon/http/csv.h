/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CSV as RFC 4180 has it
 *
 * Lines end with CR LF; a cell with a comma, a quote or a line break is quoted. A text that a spreadsheet would take for a
 * formula (it begins with = + - @, a tab or CR) gets an apostrophe before it; numbers are left as they are.
 */

#include "util/buffer.h"
#include "util/json_text.h"

typedef struct Csv {
        Buffer *out; /* borrowed */
        bool has_cells;
} Csv;

void csv_text(Csv *csv, const char *text);
void csv_number(Csv *csv, double v); /* empty when it is not finite */
void csv_json(Csv *csv, JsonText value); /* empty for null */
void csv_end_line(Csv *csv);
