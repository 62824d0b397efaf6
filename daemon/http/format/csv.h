/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CSV output (RFC 4180)
 *
 * Lines end with CR LF; a cell with a comma, a quote or a line break is quoted. Text that a spreadsheet would
 * interpret as a formula (it begins with = + - @, a tab or CR) is preceded by an apostrophe; numbers are not
 * changed.
 */

#include "json/json_text.h"
#include "util/buffer.h"

typedef struct Csv {
        Buffer *out; /* borrowed */
        bool has_cells;
} Csv;

void csv_text(Csv *csv, const char *text);
void csv_number(Csv *csv, double v); /* empty if not finite */
void csv_json(Csv *csv, JsonText value); /* empty for null */
void csv_end_line(Csv *csv);
