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

typedef struct GridCell {
        char *text; /* owned */
        bool is_number;
} GridCell;

typedef struct Grid {
        size_t n_columns;
        size_t n_heads; /* rows at the top that are headings: the first in bold, others dim */
        GridCell *cells; /* owned */
        size_t n, n_max;
        bool has_failed; /* out of memory */
} Grid;

void grid_init(Grid *grid, size_t n_columns, size_t n_heads);
void grid_deinit(Grid *grid);

/* The next cell, row by row. Copied. */
void grid_text(Grid *grid, const char *text);
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
