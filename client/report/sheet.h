/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sheet: rows of reports
 *
 * A row has a label and pieces of text that flow to the next line where the screen ends; a bar row a number, a
 * bar and a share. A number from samples gets a ~, and the sheet remembers that there was one for the legend.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/api/api_query.h"
#include "client/cli/screen.h"
#include "client/cli/text.h"
#include "document/value.h"

#define SHEET_INDENT 12U /* of a row's text: two blanks and its label */

typedef struct Sheet {
        Screen *screen;   /* borrowed, as are the values */
        const Value *job; /* the answer to /api/v1/jobs/ID, or NULL */
        const Value *on;  /* its node: hostname, cpus, memory_bytes, interval_ms, time_ms; or NULL */
        bool is_marked;   /* there is a ~ */
} Sheet;

/* node: the answer to /api/v1/node, for jobs that do not say themselves where they ran; or NULL. */
void sheet_init(Sheet *sheet, Screen *screen, const Value *job, const Value *node);

/* Seconds from begin to end, or to the latest sample of a running job. NAN: unknown. */
double sheet_seconds(const Sheet *sheet);
/* "~" or "". */
const char *sheet_mark(Sheet *sheet, bool is_exact);
/* Formats as answer_metric_format(), and adds the mark. */
void sheet_format(Sheet *sheet, const AnswerMetric *value, char ret[static TEXT_MAX]);
/* The number of that name, with its mark. False: absent. */
bool sheet_text_get(Sheet *sheet, const char *key, char ret[static TEXT_MAX]);
/* Why it is absent, in the middle of a sentence: "no observation fell into it"; NULL when nothing was said. */
const char *sheet_absence(const Sheet *sheet, const char *key, char ret[static TEXT_MAX]);

/* 0.613 as "61 %"; below ten with a decimal. */
void sheet_text_share(double ratio, char ret[static TEXT_MAX]);

typedef struct SheetRow {
        Screen *screen;
        size_t indent; /* of its text */
        size_t column;
        bool has_pieces;
} SheetRow;

/* label: at most SHEET_INDENT - 3 columns, "" for none. */
void sheet_row_begin(SheetRow *row, Screen *screen, const char *label);
/* Begins an item of a list: "  ! text", indented by four. */
void sheet_row_begin_item(SheetRow *row, Screen *screen, Style style, char mark);
/* ", " between pieces; one that does not fit goes to the next line, one longer than a line is cut. */
void sheet_row_put(SheetRow *row, const char *text);
void sheet_row_put_styled(SheetRow *row, Style style, const char *text);
void sheet_row_printf(SheetRow *row, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Words of a sentence, with blanks between them. */
void sheet_row_put_words(SheetRow *row, const char *text);
void sheet_row_put_words_styled(SheetRow *row, Style style, const char *text);
void sheet_row_end(SheetRow *row);
/* Writes a row of one piece. style: NULL for plain text. */
void sheet_row_write(Screen *screen, const char *label, const Style *style, const char *text);

/*
 * "  cores     3.10 of 32, peak 8.02~  ███▒▒▒▒·······  9.7 %": the bar has the ratio and, lighter, the highest one
 * (0: none). words: a few after the share, where there is room.
 */
void sheet_bar_row(Sheet *sheet, const char *label, const char *text, double ratio, double peak_ratio, const char *words);
/*
 * "  CPU hours 4.29 of 44.3 used, 40.0 unused", in seconds where it is less than an hour. given_s NAN: not known. words:
 * after "used".
 */
void sheet_cpu_time_row(Sheet *sheet, double used_s, double given_s, bool is_exact, const char *words);
/* A heading, and after it some words that are not bold. */
void sheet_heading(Screen *screen, const char *title, const char *words);
