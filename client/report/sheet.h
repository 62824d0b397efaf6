/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sheet: rows of a report
 *
 * A text row has a label and pieces of text that wrap at the screen's width; a bar row has a number, a bar and a
 * share. A number from samples is marked with ~, and the sheet records that the legend is needed.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/api/api_query.h"
#include "client/cli/screen.h"
#include "text/text.h"
#include "value/value.h"

#define SHEET_INDENT 12U /* column of a row's text, after two blanks and the label */

typedef struct Sheet {
        Screen *screen;   /* borrowed, like the values below */
        const Value *job; /* answer to /api/v1/jobs/ID, or NULL */
        const Value *on;  /* node of the job: hostname, cpus, memory_bytes, interval_ms, time_ms; or NULL */
        bool is_marked;   /* the report contains a ~ */
} Sheet;

/* node: answer to /api/v1/node, used for jobs without a node of their own; or NULL. */
void sheet_init(Sheet *sheet, Screen *screen, const Value *job, const Value *node);

/* Returns "~", and records it for the legend, if the value is not exact; else "". */
const char *sheet_mark(Sheet *sheet, bool is_exact);
/* Formats as answer_metric_format(), and appends the mark. */
void sheet_format(Sheet *sheet, const AnswerMetric *value, char ret[static TEXT_MAX]);
/* Formats a metric with its mark. Returns false if the metric is missing. */
bool sheet_text_get(Sheet *sheet, const char *key, char ret[static TEXT_MAX]);
/*
 * Returns why a metric is missing, as part of a sentence: "no observation fell into it"; NULL if there is no reason.
 */
const char *sheet_absence(const Sheet *sheet, const char *key, char ret[static TEXT_MAX]);

/* Formats 0.613 as "61 %"; shares below 10 % have one decimal. */
void sheet_text_share(double ratio, char ret[static TEXT_MAX]);

typedef struct SheetRow {
        Screen *screen;
        size_t indent; /* column at which continuation lines begin */
        size_t column;
        bool has_pieces;
} SheetRow;

/* label: at most SHEET_INDENT - 3 columns; may be "". */
void sheet_row_begin(SheetRow *row, Screen *screen, const char *label);
/* Begins a list item: "  ! text", indented by four. */
void sheet_row_begin_item(SheetRow *row, Screen *screen, Style style, char mark);
/*
 * Adds a piece, separated by ", ". A piece that does not fit moves to the next line; a piece longer than a line is
 * truncated.
 */
void sheet_row_put(SheetRow *row, const char *text);
void sheet_row_put_styled(SheetRow *row, Style style, const char *text);
void sheet_row_printf(SheetRow *row, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds the words of a sentence, separated by blanks. */
void sheet_row_put_words(SheetRow *row, const char *text);
void sheet_row_put_words_styled(SheetRow *row, Style style, const char *text);
void sheet_row_end(SheetRow *row);
/* Writes a row of one piece. style: NULL for plain text. */
void sheet_row_write(Screen *screen, const char *label, const Style *style, const char *text);

/*
 * Writes "  cores     3.10 of 32, peak 8.02~  ███▒▒▒▒·······  9.7 %": the bar shows the ratio and, in a lighter
 * shade, the peak (0: none). words: a few words after the share, omitted on narrow screens.
 */
void sheet_bar_row(Sheet *sheet, const char *label, const char *text, double ratio, double peak_ratio,
                   const char *words);
/*
 * Writes "  CPU hours 4.29 of 44.3 used, 40.0 unused"; in seconds below one hour. given_s: NAN if unknown. words:
 * text after "used".
 */
void sheet_cpu_time_row(Sheet *sheet, double used_s, double given_s, bool is_exact, const char *words);
/* Writes a heading followed by words that are not bold. */
void sheet_heading(Screen *screen, const char *title, const char *words);
