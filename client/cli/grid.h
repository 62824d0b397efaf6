/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Grid: a table whose columns are as wide as their widest cell
 *
 * Text is aligned left, numbers right. Where a line does not fit the terminal, the widest columns of text are cut; where that is
 * not enough, each row is written as lines of its own, with the headings before the cells.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/cli/screen.h"
#include "document/value.h"

#define GRID_COLUMNS_MAX 64U

typedef enum GridKind {
        GRID_TEXT,   /* aligned left, and cut where there is no room */
        GRID_WHOLE,  /* aligned left, never cut */
        GRID_NUMBER, /* aligned right, never cut */
        GRID_BAR,    /* as wide as there is room */
} GridKind;

typedef struct GridCell {
        char *text; /* owned */
        GridKind kind;
        bool has_style;
        Style style;
        double ratio; /* of a bar */
} GridCell;

typedef struct Grid {
        size_t n_columns;
        size_t n_heads; /* rows at the top that are headings: the first in bold, others dim */
        size_t indent; /* of rows; headings begin at the left */
        GridCell *cells; /* owned */
        size_t n;
        bool has_failed; /* out of memory */
} Grid;

void grid_init(Grid *grid, size_t n_columns, size_t n_heads);
/* heads: as "INDICATOR|>RESULTS", where > stands before the heading of numbers. */
void grid_init_heads(Grid *grid, const char *heads);
void grid_deinit(Grid *grid);

/* The next cell, row by row. Copied. */
void grid_text(Grid *grid, const char *text);
/* Text that is never cut, as it is there to be copied. */
void grid_whole(Grid *grid, const char *text);
/* Style of the latest cell. */
void grid_style(Grid *grid, Style style);
/* A bar that shows a ratio of 0 to 1. */
void grid_bar(Grid *grid, double ratio);
/* "-" when it is not finite. */
void grid_number(Grid *grid, double v);
void grid_count(Grid *grid, uint64_t n);
/* A time to the minute. */
void grid_minute(Grid *grid, uint64_t realtime_ms);
/* A value of an answer: numbers are aligned right; null and NULL are shown as "-". */
void grid_value(Grid *grid, const Value *value);
/* The heading of a key that groups have in common, or alternatives differ in. */
void grid_key(Grid *grid, const char *key);
/* A heading of numbers, or a number in words. */
void grid_right(Grid *grid, const char *text);

/* is_cut: lines may not be longer than the screen. 0 or -ENOMEM. */
int grid_write(const Grid *grid, Screen *screen, bool is_cut);
/* Prints the grid to standard output. EXIT_DONE, or EXIT_FAILED after a message. */
int grid_print(const Grid *grid, bool no_color);
