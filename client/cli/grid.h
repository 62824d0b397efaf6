/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Grid: a table whose columns are as wide as their widest cell
 *
 * Text is aligned left, numbers right. If a line does not fit the terminal, what all rows have in common is written
 * once, above the table: columns of text, and words such as KEY=VALUE within them; columns of "-" are left out. Then
 * the widest text columns are truncated; if that is not enough, or rows would differ only in what is cut off, each
 * cell is written on its own line after its heading.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/cli/screen.h"
#include "value/value.h"

#define GRID_COLUMNS_MAX 64U

typedef enum GridKind {
        GRID_TEXT,   /* aligned left, truncated if the line is too long */
        GRID_WHOLE,  /* aligned left, never truncated */
        GRID_NUMBER, /* aligned right, never truncated */
        GRID_BAR,    /* fills the available width */
} GridKind;

typedef struct GridCell {
        char *text; /* owned */
        GridKind kind;
        bool has_style;
        Style style;
        double ratio; /* length of a bar, 0 to 1 */
} GridCell;

typedef struct Grid {
        size_t n_columns;
        size_t n_heads; /* number of heading rows: the first is bold, the others dim */
        size_t indent; /* of rows; headings are not indented */
        GridCell *cells; /* owned */
        size_t n;
        bool has_failed; /* memory allocation failed */
} Grid;

void grid_init(Grid *grid, size_t n_columns, size_t n_heads);
/* heads: for example "INDICATOR|>RESULTS"; > marks the heading of a number column. */
void grid_init_heads(Grid *grid, const char *heads);
void grid_deinit(Grid *grid);

/* Adds the next cell, row by row. The text is copied. */
void grid_text(Grid *grid, const char *text);
/* Adds text that is never truncated, because users copy it. */
void grid_whole(Grid *grid, const char *text);
/* Sets the style of the latest cell. */
void grid_style(Grid *grid, Style style);
/* Adds a bar that shows a ratio from 0 to 1. */
void grid_bar(Grid *grid, double ratio);
/* Adds a number; "-" if it is not finite. */
void grid_number(Grid *grid, double v);
void grid_count(Grid *grid, uint64_t n);
/* Adds a time with minute resolution. */
void grid_minute(Grid *grid, uint64_t realtime_ms);
/* Adds a value of an answer: numbers are aligned right; null and NULL are shown as "-". */
void grid_value(Grid *grid, const Value *value);
/* Adds the heading of a key that groups have in common, or in which alternatives differ. */
void grid_key(Grid *grid, const char *key);
/* Adds right-aligned text: the heading of a number column, or a number with a unit. */
void grid_right(Grid *grid, const char *text);

/* is_cut: limit lines to the width of the screen. Returns 0 or -ENOMEM. */
int grid_write(const Grid *grid, Screen *screen, bool is_cut);
/* Prints the grid to standard output. Returns EXIT_DONE, or EXIT_FAILED after a message. */
int grid_print(const Grid *grid, bool no_color);
