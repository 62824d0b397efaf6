/* SPDX-License-Identifier: Apache-2.0 */
#include "client/kpi/series_input.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/arena.h"
#include "util/array.h"
#include "util/parse.h"
#include "value/value_parse.h"

void series_input_deinit(SeriesInput *input) {
        for (size_t i = 0; i < input->n; i++)
                free(input->points[i].time);
        free(input->points);
        *input = (SeriesInput){};
}

__attribute__((format(printf, 2, 3))) static int refuse(SeriesInput *input, const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void)vsnprintf(input->error, sizeof(input->error), format, args);
        va_end(args);
        return SERIES_INVALID;
}

/* Appends a value; NAN: a missing one. time: copied; NULL: none. 0 or -ENOMEM. */
static int add_value(SeriesInput *input, double value, const char *time) {
        size_t at = input->n_read++;
        char *copy = NULL;

        if (!isfinite(value))
                return 0;
        if (time) {
                copy = strdup(time);
                if (!copy)
                        return -ENOMEM;
        }
        if (ARRAY_EXTEND(input->points, input->n) < 0) {
                free(copy);
                return -ENOMEM;
        }
        input->points[input->n++] = (SeriesPoint){ value, at, copy };
        return 0;
}

static const char *const time_names[] = { "time", "timestamp", "@timestamp", "date", "datetime", NULL };

static bool is_time_name(const char *name) {
        for (const char *const *known = time_names; *known; known++)
                if (strcasecmp(name, *known) == 0)
                        return true;
        return false;
}

/* --- JSON ----------------------------------------------------------------------------------------- */

/* Returns false for a value that is neither a number nor null. */
static bool get_number(const Value *value, double *ret) {
        *ret = NAN;
        if (!value || value->type == VALUE_NULL)
                return true;
        if (value->type == VALUE_INT)
                *ret = (double)value->integer;
        else if (value->type == VALUE_DOUBLE)
                *ret = value->number;
        return value_is_number(value);
}

static void format_time(const Value *object, char *ret, size_t n) {
        for (size_t i = 0; i < object->n_members; i++) {
                const Value *value = &object->members[i].value;

                if (!is_time_name(object->members[i].key))
                        continue;
                if (value->type == VALUE_STRING)
                        (void)snprintf(ret, n, "%s", value->string);
                else if (value->type == VALUE_INT)
                        (void)snprintf(ret, n, "%jd", (intmax_t)value->integer);
                else if (value->type == VALUE_DOUBLE)
                        (void)snprintf(ret, n, "%.17g", value->number);
        }
}

static int add_item(SeriesInput *input, const char *name, size_t at, const Value *item, const char *column) {
        const char *member = column ?: "value";
        char time[64] = "";
        double v;

        if (item->type == VALUE_OBJECT) {
                format_time(item, time, sizeof(time));
                if (!value_get(item, member))
                        return refuse(input, "%s: object %zu of the list has no '%.80s'; --column names the member with "
                                                   "the value", name, at + 1, member);
                item = value_get(item, member);
        }
        if (!get_number(item, &v))
                return refuse(input, "%s: value %zu of the list is %s; expected a number or null", name, at + 1,
                                           value_type_text(item));
        return add_value(input, v, time[0] ? time : NULL);
}

/* Returns the list of an object: the member that `column` names, or the only list. NULL: none, or several. */
static const Value *find_list(const Value *object, const char *column) {
        const Value *found = NULL;

        if (column)
                return value_get(object, column);
        for (size_t i = 0; i < object->n_members; i++) {
                const Value *value = &object->members[i].value;

                if (value->type != VALUE_LIST)
                        continue;
                if (found)
                        return NULL;
                found = value;
        }
        return found;
}

static int read_json(SeriesInput *input, const char *name, const Buffer *text, const char *column) {
        scoped(arena_deinit) Arena arena = {};
        const Value *document, *list, *more;
        ValueReader reader;
        ValueError error;
        int r;

        r = arena_init(&arena, value_parse_arena_size(text->n));
        if (r < 0)
                return r;

        value_parse_begin(&reader, text->text, text->n);
        r = value_parse_next(&reader, &arena, &document, &error);
        if (r == VALUE_MALFORMED)
                return refuse(input, "%s:%u:%u: %s", name, error.line, error.column, error.text);
        if (r != 0 || value_parse_next(&reader, &arena, &more, &error) != VALUE_END)
                return refuse(input, "%s: expected one JSON list or object", name);

        list = document->type == VALUE_OBJECT ? find_list(document, column) : document;
        if (!list || list->type != VALUE_LIST)
                return refuse(input, "%s: expected a list of numbers, or an object with one; --column names a member", name);
        for (size_t i = 0; r == 0 && i < list->n_items; i++)
                r = add_item(input, name, i, &list->items[i], list == document ? column : NULL);
        return r;
}

/* --- lines and columns ---------------------------------------------------------------------------- */

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
                return refuse(input, "%s: no column '%.80s' among the %zu of the first line", name, column, first->n);
        if (!column && !find_only(first, layout))
                return refuse(input, "%s: %zu columns; choose that of the values by name or number with --column", name,
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
                return refuse(input, "%s:%zu: %zu columns; the values are in column %zu", name, line, row->n,
                                           layout->value + 1);
        if (!parse_cell(row->cells[layout->value], &v))
                return refuse(input, "%s:%zu: '%.80s' is not a number", name, line, row->cells[layout->value]);
        return add_value(input, v, time);
}

static int read_table(SeriesInput *input, const char *name, const Buffer *text, const char *column) {
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
                r = refuse(input, "%s:%zu: a header without rows below; expected one value in each", name, header);
        return r;
}

/* --- order ---------------------------------------------------------------------------------------- */

static int compare_times(const SeriesPoint *a, const SeriesPoint *b) {
        double x, y;

        if (parse_double(a->time, &x) == 0 && parse_double(b->time, &y) == 0)
                return (x > y) - (x < y);
        return strcmp(a->time, b->time);
}

static int compare(const void *a, const void *b) {
        const SeriesPoint *x = a, *y = b;
        int r = compare_times(x, y);

        return r != 0 ? r : (x->at > y->at) - (x->at < y->at);
}

/* Numbers, or texts that begin with a year, can be ordered. */
static bool is_ordered(const SeriesPoint *point) {
        double v;

        return point->time && (parse_double(point->time, &v) == 0 ||
                               (strspn(point->time, "0123456789") == 4 && point->time[4] == '-'));
}

static void sort(SeriesInput *input) {
        for (size_t i = 0; i < input->n; i++)
                if (!is_ordered(&input->points[i]))
                        return;
        for (size_t i = 1; i < input->n; i++)
                input->was_sorted |= compare_times(&input->points[i - 1], &input->points[i]) > 0;
        if (!input->was_sorted)
                return;

        qsort(input->points, input->n, sizeof(*input->points), compare);
        for (size_t i = 0; i < input->n; i++)
                input->points[i].at = i;
}

int series_input_read(SeriesInput *input, const char *name, const Buffer *text, const char *column) {
        const char *begin = text->text ? text->text + strspn(text->text, " \t\r\n") : "";
        int r;

        *input = (SeriesInput){};
        r = *begin == '[' || *begin == '{' ? read_json(input, name, text, column)
                                           : read_table(input, name, text, column);
        if (r == 0)
                sort(input);
        return r;
}
