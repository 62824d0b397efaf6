/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers from lines and columns. */
#include "client/analysis/series_input.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/parse.h"

#define COLUMNS_MAX 256U

/* The cells of a line; texts are in the line, which is changed. */
typedef struct TableRow {
        char *cells[COLUMNS_MAX];
        size_t n;
} TableRow;

/* Meaning of the columns. */
typedef struct TableLayout {
        char separator; /* '\0': one value a line */
        size_t value, time;
        bool has_time, has_header;
} TableLayout;

/* Removes blanks and one pair of quotes. */
static char *strip(char *cell) {
        size_t n;

        cell += strspn(cell, " \t");
        n = strlen(cell);
        while (n > 0 && strchr(" \t\r", cell[n - 1]))
                cell[--n] = '\0';
        if (n >= 2 && cell[0] == '"' && cell[n - 1] == '"') {
                cell[n - 1] = '\0';
                cell++;
        }
        return cell;
}

static void split(char *line, char separator, TableRow *ret) {
        char separators[2] = { separator, '\0' };

        ret->n = 0;
        for (char *rest = line, *cell; ret->n < COLUMNS_MAX && (cell = strsep(&rest, separators));)
                ret->cells[ret->n++] = strip(cell);
}

static char find_separator(const char *line) {
        for (const char *separator = ";\t,"; *separator; separator++)
                if (strchr(line, *separator))
                        return *separator;
        return '\0';
}

/* Missing values are NAN. Returns false for any other text. */
static bool parse_cell(const char *cell, double *ret) {
        *ret = NAN;
        if (!*cell || strcasecmp(cell, "nan") == 0 || strcasecmp(cell, "null") == 0 || strcasecmp(cell, "na") == 0)
                return true;
        return parse_double(cell, ret) == 0;
}

static bool is_time_name(const char *name) {
        return strcasecmp(name, "time") == 0 || strcasecmp(name, "timestamp") == 0 || strcasecmp(name, "@timestamp") == 0 ||
               strcasecmp(name, "date") == 0 || strcasecmp(name, "datetime") == 0;
}

/* Sets the column that --column names, by name or by number. */
static bool find_named(const TableRow *first, const char *column, TableLayout *layout) {
        uint64_t number;

        for (size_t i = 0; i < first->n; i++)
                if (strcmp(first->cells[i], column) == 0) {
                        layout->value = i;
                        layout->has_header = true;
                        return true;
                }
        if (parse_u64(column, &number) != 0 || number < 1 || number > first->n)
                return false;
        layout->value = (size_t)number - 1;
        return true;
}

/* Without --column: the only column that is not a time. */
static bool find_only(const TableRow *first, TableLayout *layout) {
        size_t n = 0;

        for (size_t i = 0; i < first->n; i++)
                if (!layout->has_time || i != layout->time) {
                        layout->value = i;
                        n++;
                }
        return n == 1;
}

static int find_layout(SeriesInput *input, const char *name, const TableRow *first, const char *column, TableLayout *layout) {
        double v;

        for (size_t i = 0; i < first->n && !layout->has_time; i++) {
                layout->has_time = is_time_name(first->cells[i]);
                layout->time = i;
                layout->has_header = layout->has_time;
        }
        if (!layout->has_time && first->n == 2) {
                layout->has_time = true;
                layout->time = 0;
        }

        if (column && !find_named(first, column, layout))
                return series_input_refuse(input, "%s: no column '%.80s' among the %zu of the first line", name, column, first->n);
        if (!column && !find_only(first, layout))
                return series_input_refuse(input, "%s: %zu columns; choose that of the values by name or number with --column", name,
                                           first->n);
        layout->has_header |= !parse_cell(first->cells[layout->value], &v);
        if (layout->has_time && layout->time == layout->value)
                layout->has_time = false;
        return 0;
}

static int add_row(SeriesInput *input, const char *name, size_t line, const TableRow *row, const TableLayout *layout) {
        const char *time = layout->has_time && layout->time < row->n ? row->cells[layout->time] : NULL;
        double v;

        if (layout->value >= row->n)
                return series_input_refuse(input, "%s:%zu: %zu columns; the values are in column %zu", name, line, row->n,
                                           layout->value + 1);
        if (!parse_cell(row->cells[layout->value], &v))
                return series_input_refuse(input, "%s:%zu: '%.80s' is not a number", name, line, row->cells[layout->value]);
        return series_input_add(input, v, time);
}

int series_input_read_table(SeriesInput *input, const char *name, const Buffer *text, const char *column) {
        scoped(freep) char *copy = strdup(text->text ? text->text : "");
        TableLayout layout = {};
        bool is_first = true;
        size_t line = 0, header = 0, n_rows = 0;
        int r = 0;

        if (!copy)
                return -ENOMEM;

        for (char *rest = copy, *begin; r == 0 && (begin = strsep(&rest, "\n"));) {
                TableRow row;

                line++;
                if (begin[strspn(begin, " \t\r")] == '\0' || begin[0] == '#')
                        continue;
                if (is_first)
                        layout.separator = find_separator(begin);
                split(begin, layout.separator, &row);
                if (is_first)
                        r = find_layout(input, name, &row, column, &layout);
                if (r == 0 && !(is_first && layout.has_header))
                        r = add_row(input, name, line, &row, &layout);
                is_first = false;
                n_rows++;
                if (n_rows == 1)
                        header = line;
        }
        if (r == 0 && n_rows == 1 && layout.has_header)
                r = series_input_refuse(input, "%s:%zu: a header without rows below; expected one value in each", name, header);
        return r;
}
