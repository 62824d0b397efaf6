/* SPDX-License-Identifier: Apache-2.0 */
#include "client/kpi/series_check.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "json/json.h"
#include "text/table_row.h"
#include "util/arena.h"
#include "util/array.h"
#include "util/parse.h"
#include "value/value_parse.h"

#define POINTS_MAX 20000U /* judged in less than a second */

typedef struct SeriesPoint {
        double value;  /* finite */
        size_t at;     /* from 0: which value of the input, missing ones included */
        char *time;    /* owned; NULL: the input has no times */
} SeriesPoint;

typedef struct SeriesInput {
        /* owned; in the order of their times if these are numbers or ISO 8601, else as in the input */
        SeriesPoint *points;
        size_t n;
        size_t n_read;       /* with missing values */
        bool was_sorted;     /* the times of the input were not in order */
        size_t n_unordered;  /* times without an order, such as 31.12.2026: the order is that of the input */
        char error[320];
} SeriesInput;

enum {
        SERIES_INVALID = 1, /* `error` has the place, the error and a fix */
};

/* --- input ---------------------------------------------------------------------------------------- */

static void series_input_deinit(SeriesInput *input) {
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
                        return refuse(input,
                                      "%s: object %zu of the list has no '%.80s'; --column names the member with the "
                                      "value",
                                      name, at + 1, member);
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
        const Value *document, *list;
        ValueError error;
        int r;

        r = value_parse_only(text->text, text->n, &arena, &document, &error);
        if (r < 0)
                return r;
        if (r == VALUE_MALFORMED)
                return refuse(input, "%s:%u:%u: %s", name, error.line, error.column, error.text);
        if (r != 0)
                return refuse(input, "%s: expected one JSON list or object", name);

        list = document->type == VALUE_OBJECT ? find_list(document, column) : document;
        if (!list || list->type != VALUE_LIST)
                return refuse(input, "%s: expected a list of numbers, or an object with one; --column names a member",
                              name);
        for (size_t i = 0; r == 0 && i < list->n_items; i++)
                r = add_item(input, name, i, &list->items[i], list == document ? column : NULL);
        return r;
}

/* --- lines and columns ---------------------------------------------------------------------------- */

/* Meaning of the columns. */
typedef struct TableLayout {
        char separator; /* '\0': one value a line */
        size_t n, value, time;
        bool has_time, has_header;
} TableLayout;

/* Missing values are NAN. Returns false for any other text. */
static bool parse_cell(const char *cell, double *ret) {
        static const char *const missing[] = { "",     "nan", "-nan", "null",     "na",       "n/a",
                                               "none", "inf", "-inf", "infinity", "-infinity" };

        *ret = NAN;
        for (size_t i = 0; i < N_ELEMENTS(missing); i++)
                if (strcasecmp(cell, missing[i]) == 0)
                        return true;
        return parse_double(cell, ret) == 0;
}

/* True for a name of a column: a text that does not begin as a number or a date does. */
static bool is_heading(const char *cell) {
        double v;

        cell += strspn(cell, "+-.");
        return !parse_cell(cell, &v) && !(*cell >= '0' && *cell <= '9');
}

/* True for a row such as 0,98 or 1.234,5, which may be one number. */
static bool has_decimal_comma(const TableRow *row, char separator) {
        const char *whole = row->cells[0], *fraction = row->n == 2 ? row->cells[1] : "";
        size_t n = strspn(whole, "+-0123456789");
        bool is_time = n >= 8;

        for (; *whole != '0' && whole[n] == '.' && strspn(whole + n + 1, "0123456789") == 3; n += 4)
                ;
        return separator == ',' && row->n == 2 && *fraction && whole[n] == '\0' && !is_time &&
               fraction[strspn(fraction, "0123456789")] == '\0';
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

static int find_layout(SeriesInput *input, const char *name, const TableRow *first, const char *column,
                       TableLayout *layout) {
        size_t n_headings = 0;

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
        for (size_t i = 0; i < first->n && !layout->has_header; i++)
                n_headings += is_heading(first->cells[i]);
        layout->has_header |= n_headings == first->n;
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
        if (row->n > layout->n)
                return refuse(input, "%s:%zu: %zu columns, the first line has %zu%s", name, line, row->n, layout->n,
                              layout->separator == ',' ? ": decimal comma?" : "");
        if (!parse_cell(row->cells[layout->value], &v))
                return refuse(input, "%s:%zu: '%.80s' is not a number%s", name, line, row->cells[layout->value],
                              parse_is_decimal_comma(row->cells[layout->value]) ? ": decimal comma? Write a point"
                                                                                : "");
        return add_value(input, v, time);
}

static int read_table(SeriesInput *input, const char *name, const Buffer *text, const char *column) {
        scoped(freep) char *copy = strdup(text->text ? text->text : "");
        TableLayout layout = {};
        bool is_first = true;
        size_t line = 0, header = 0, n_rows = 0, n_commas = 0;
        int r = 0;

        if (!copy)
                return -ENOMEM;

        for (char *rest = copy, *begin; r == 0 && (begin = strsep(&rest, "\n"));) {
                TableRow row;

                line++;
                if (begin[strspn(begin, " \t")] == '\0' || begin[0] == '#')
                        continue;
                if (is_first)
                        layout.separator = table_row_find_separator(begin);
                if (!table_row_split(begin, layout.separator, &row))
                        r = refuse(input, "%s:%zu: a quoted cell has no end on its line, or text behind it", name,
                                   line);
                layout.n = is_first ? row.n : layout.n;
                if (r == 0 && is_first)
                        r = find_layout(input, name, &row, column, &layout);
                if (r == 0 && !(is_first && layout.has_header))
                        r = add_row(input, name, line, &row, &layout);
                is_first = false;
                n_commas += r == 0 && has_decimal_comma(&row, layout.separator);
                n_rows++;
                if (n_rows == 1)
                        header = line;
        }
        if (r == 0 && !column && n_rows > 0 && n_commas == n_rows)
                r = refuse(input,
                           "%s:%zu: decimal comma? Write 0.98 with a point; for two columns, add a header or --column",
                           name, header);
        if (r == 0 && n_rows == 1 && layout.has_header)
                r = refuse(input, "%s:%zu: a header without rows below; expected one value in each", name, header);
        return r;
}

/* --- order ---------------------------------------------------------------------------------------- */

static int compare_times(const SeriesPoint *a, const SeriesPoint *b) {
        double x, y;

        if (parse_double(a->time, &x) == 0 && parse_double(b->time, &y) == 0)
                return COMPARE(x, y);
        return strcmp(a->time, b->time);
}

static int compare(const void *a, const void *b) {
        const SeriesPoint *x = a, *y = b;

        return compare_times(x, y) ?: COMPARE(x->at, y->at);
}

/* Numbers, or texts that begin with a year, can be ordered. */
static bool is_ordered(const SeriesPoint *point) {
        double v;

        return point->time && (parse_double(point->time, &v) == 0 ||
                               (strspn(point->time, "0123456789") == 4 && point->time[4] == '-'));
}

static void sort(SeriesInput *input) {
        for (size_t i = 0; i < input->n; i++)
                input->n_unordered += input->points[i].time && !is_ordered(&input->points[i]);
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

/*
 * Reads a text. name: of the text, for messages. column: name or number (from 1) of the column or member with the
 * values; NULL: the only one. Returns 0, SERIES_INVALID or -ENOMEM. Call series_input_deinit() in all cases.
 */
static int series_input_read(SeriesInput *input, const char *name, const Buffer *text, const char *column) {
        const char *begin = text->text ? text->text + strspn(text->text, " \t\r\n") : "";
        int r;

        *input = (SeriesInput){};
        r = *begin == '[' || *begin == '{' ? read_json(input, name, text, column)
                                           : read_table(input, name, text, column);
        if (r == 0)
                sort(input);
        return r;
}

/* --- output --------------------------------------------------------------------------------------- */

static void put_point(Json *json, const ChangePoint *point, const SeriesInput *input) {
        const SeriesPoint *first = &input->points[point->index];

        json_object_begin(json);
        json_put_uint(json, "index", first->at);
        if (first->time)
                json_put_string(json, "time", first->time);
        json_put_double(json, "mean_before", point->mean_before);
        json_put_double(json, "mean_after", point->mean_after);
        json_put_double(json, "relative_change", point->relative);
        json_put_double(json, "p_value", point->p_value);
        json_object_end(json);
}

static void put_verdict(Json *json, const JudgeResult *judgement, const SeriesInput *input) {
        json_put_object_begin(json, "verdict");
        json_put_string(json, "verdict", judge_verdict_names[judgement->verdict]);
        json_put_double(json, "relative_change", judgement->relative);
        json_put_double(json, "p_value", judgement->p_value);
        if (judgement->since < input->n)
                json_put_uint(json, "since", input->points[judgement->since].at);
        if (judgement->back_to < input->n)
                json_put_uint(json, "back_to", input->points[judgement->back_to].at);
        json_put_uint(json, "values_before", judgement->n_before);
        json_put_uint(json, "values_needed", judgement->n_needed);
        json_put_double(json, "smallest_change", judgement->smallest.change);
        json_put_uint(json, "smallest_change_values", judgement->smallest.n_after);
        json_object_end(json);
}

static void put_bool(Json *json, const char *key, BaselineBool v) {
        json_key(json, key);
        if (v == BASELINE_NONE)
                json_null(json);
        else
                json_bool(json, v == BASELINE_TRUE);
}

static void put_status(Json *json, JudgeMethod method, const BaselineStatus *status) {
        json_put_object_begin(json, "compat");
        put_bool(json, "accepted", status->is_accepted);
        put_bool(json, "improved", status->is_improved);
        json_put_double(json, "rating", status->rating);
        json_put_string(json, "description", status->description);
        json_put_double(json, "historical_mean", status->mean);
        json_put_double(json, "stddev", status->sd);
        json_put_double(json, method == JUDGE_ZSCORE ? "zscore" : "change", status->score);
        json_object_end(json);
}

static void write_json(const JudgeSettings *settings, const SeriesInput *input, const JudgeResult *judgement,
                       const BaselineStatus *status, Buffer *out) {
        Json json = { .out = out };

        json_object_begin(&json);
        json_put_string(&json, "method", judge_method_names[settings->method]);
        json_put_uint(&json, "n", input->n);
        json_put_uint(&json, "missing", input->n_read - input->n);
        json_put_array_begin(&json, "change_points");
        for (size_t i = 0; i < judgement->n_points; i++)
                put_point(&json, &judgement->points[i], input);
        json_array_end(&json);
        put_verdict(&json, judgement, input);
        if (status)
                put_status(&json, settings->method, status);
        json_object_end(&json);
        buffer_putc(out, '\n');
}

static void write_text(const SeriesInput *input, const JudgeResult *judgement, const BaselineStatus *status,
                       Screen *screen) {
        for (size_t i = 0; i < judgement->n_points; i++) {
                const ChangePoint *point = &judgement->points[i];
                const SeriesPoint *first = &input->points[point->index];

                buffer_printf(screen->out, "index %zu", first->at);
                if (first->time) {
                        buffer_puts(screen->out, " (");
                        screen_text(screen, first->time);
                        buffer_putc(screen->out, ')');
                }
                buffer_printf(screen->out, ": %.6g to %.6g, %+.1f %%", point->mean_before, point->mean_after,
                              100 * point->relative);
                if (!isnan(point->p_value))
                        buffer_printf(screen->out, ", p = %.2g", point->p_value);
                buffer_putc(screen->out, '\n');
        }

        buffer_printf(screen->out, "%zu change point%s in %zu values. Newest value: %s", judgement->n_points,
                      judgement->n_points == 1 ? "" : "s", input->n, judge_verdict_names[judgement->verdict]);
        if (judgement->verdict == JUDGE_UNKNOWN && judgement->n_before == 0)
                buffer_puts(screen->out, isnan(judgement->smallest.change) ? " (too few values)"
                                                                           : " (the values vary too much)");
        else if (!isnan(judgement->relative))
                buffer_printf(screen->out, " (%+.1f %%)", 100 * judgement->relative);
        if (judgement->n_needed > 0)
                buffer_printf(screen->out, ": %zu more", judgement->n_needed);
        if (judgement->back_to < input->n)
                buffer_printf(screen->out, "; back at the level of index %zu", input->points[judgement->back_to].at);
        if (judgement->verdict == JUDGE_NO_CHANGE && isfinite(judgement->smallest.change))
                buffer_printf(screen->out, "; changes below %.1f %% would not be seen in %zu values",
                              100 * judgement->smallest.change, judgement->smallest.n_after);
        if (status)
                buffer_printf(screen->out, "; status of MatrixBenchmarking: %s", status->description);
        buffer_putc(screen->out, '\n');
}

/* --- check ---------------------------------------------------------------------------------------- */

static int print(const SeriesCheck *check, const SeriesInput *input, const JudgeResult *judgement,
                 const BaselineStatus *status) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, check->no_color);
        if (check->is_json)
                write_json(&check->settings, input, judgement, status, &out);
        else
                write_text(input, judgement, status, &screen);
        return output_print(&out);
}

static int judge(const SeriesCheck *check, const SeriesInput *input, JudgeVerdict *ret) {
        scoped(freep) double *series = calloc(input->n + 1, sizeof(*series));
        bool is_compat = check->is_compat && input->n > 0;
        scoped(judge_deinit) JudgeResult judgement = {};
        BaselineStatus status;
        int r;

        if (!series)
                return command_fail(-ENOMEM);
        for (size_t i = 0; i < input->n; i++)
                series[i] = input->points[i].value;

        r = judge_series(series, input->n, &check->settings, &judgement);
        if (r < 0)
                return command_fail(r);
        judge_refuse_noise(&judgement);
        if (is_compat)
                status = judge_compat_status(series, input->n, &check->settings, &judgement);
        *ret = judgement.verdict;
        return print(check, input, &judgement, is_compat ? &status : NULL);
}

int series_check(const SeriesCheck *check, JudgeVerdict *ret) {
        const char *name = input_name(check->file);
        scoped(series_input_deinit) SeriesInput input = {};
        scoped(buffer_deinit) Buffer text = {};
        int r;

        r = input_read(check->file, &text);
        if (r != EXIT_DONE)
                return r;

        r = series_input_read(&input, name, &text, check->column);
        if (r < 0)
                return command_fail(r);
        if (r == SERIES_INVALID)
                message_print("%s", input.error);
        else if (input.n > POINTS_MAX)
                message_print("%s: %zu values; at most %u can be judged: pass only the newest", name, input.n,
                              POINTS_MAX);
        if (r == SERIES_INVALID || input.n > POINTS_MAX)
                return EXIT_FAILED;

        if (input.was_sorted)
                message_print("%s: sorted by time; indexes are those of the sorted values", name);
        if (input.n_unordered > 0)
                message_print("%s: times that are no numbers and do not begin with a year, as in 2026-12-31: %zu; the "
                              "values are judged in the order of the input, oldest first",
                              name, input.n_unordered);
        return judge(check, &input, ret);
}
