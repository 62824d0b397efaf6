/* SPDX-License-Identifier: Apache-2.0 */
#include "client/analysis/series_input.h"

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

int series_input_refuse(SeriesInput *input, const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void)vsnprintf(input->error, sizeof(input->error), format, args);
        va_end(args);
        return SERIES_INVALID;
}

int series_input_add(SeriesInput *input, double value, const char *time) {
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

static const char *const time_names[] = { "time", "timestamp", "@timestamp", "date", "datetime", NULL };

static bool is_time_name(const char *name) {
        for (const char *const *known = time_names; *known; known++)
                if (strcasecmp(name, *known) == 0)
                        return true;
        return false;
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
                        return series_input_refuse(input, "%s: object %zu of the list has no '%.80s'; --column names the member with "
                                                   "the value", name, at + 1, member);
                item = value_get(item, member);
        }
        if (!get_number(item, &v))
                return series_input_refuse(input, "%s: value %zu of the list is %s; expected a number or null", name, at + 1,
                                           value_type_text(item));
        return series_input_add(input, v, time[0] ? time : NULL);
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

int series_input_read_json(SeriesInput *input, const char *name, const Buffer *text, const char *column) {
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
                return series_input_refuse(input, "%s:%u:%u: %s", name, error.line, error.column, error.text);
        if (r != 0 || value_parse_next(&reader, &arena, &more, &error) != VALUE_END)
                return series_input_refuse(input, "%s: expected one JSON list or object", name);

        list = document->type == VALUE_OBJECT ? find_list(document, column) : document;
        if (!list || list->type != VALUE_LIST)
                return series_input_refuse(input, "%s: expected a list of numbers, or an object with one; --column names a member", name);
        for (size_t i = 0; r == 0 && i < list->n_items; i++)
                r = add_item(input, name, i, &list->items[i], list == document ? column : NULL);
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
        r = *begin == '[' || *begin == '{' ? series_input_read_json(input, name, text, column)
                                           : series_input_read_table(input, name, text, column);
        if (r == 0)
                sort(input);
        return r;
}
