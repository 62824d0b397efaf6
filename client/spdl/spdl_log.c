/* SPDX-License-Identifier: Apache-2.0 */
#include "client/spdl/spdl_log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/spdl/spdl_time.h"
#include "client/spdl/spdl_totals.h"
#include "util/array.h"
#include "util/parse.h"

#define LINE_MAX_BYTES 2047U
#define QUEUE_SUFFIX   "_queue"
#define STEP_S         1e-3 /* by which two intervals of a queue differ at least */

/* The line of the tasks or of the queue of a stage that was read last. */
typedef struct LastLine {
        size_t row;    /* of the table, from 1; 0: none */
        double time_s; /* as logged */
} LastLine;

typedef struct LogReader {
        SpdlTable *table;
        LastLine *last; /* owned; N_PIPELINE_PARTS for each stage */
        size_t n_last, n_allocated;
        char *error;    /* SPDL_TABLE_ERROR_MAX bytes */
} LogReader;

static void reader_deinit(LogReader *reader) {
        free(reader->last);
}

/* --- one line ------------------------------------------------------------------------------------- */

/* Reads the number after the next occurrence of a text. Returns false if there is none, or it is negative. */
static bool read_number(const char **p, const char *text, double *ret) {
        const char *begin = strstr(*p, text);
        char number[32];
        size_t n;

        if (!begin)
                return false;
        begin += strlen(text);
        begin += strspn(begin, " ");
        n = strspn(begin, "0123456789.");
        if (n == 0 || n >= sizeof(number))
                return false;
        memcpy(number, begin, n);
        number[n] = '\0';
        *p = begin + n;
        return parse_double(number, ret) == 0;
}

/* Reads a time such as "  27.4 [ ms]" after the next occurrence of a text. *ret: in seconds. */
static bool read_time(const char **p, const char *text, double *ret) {
        static const struct {
                const char *name;
                double factor;
        } units[] = { { "us]", 1e-6 }, { "ms]", 1e-3 }, { "sec]", 1 } };
        const char *unit;

        if (!read_number(p, text, ret))
                return false;
        unit = *p + strspn(*p, " [");
        for (size_t i = 0; i < N_ELEMENTS(units); i++)
                if (strncmp(unit, units[i].name, strlen(units[i].name)) == 0) {
                        *ret *= units[i].factor;
                        return true;
                }
        return false;
}

/* Finds the stage in the brackets before a text, which may have brackets itself. Returns its length, or 0. */
static size_t find_label(const char *line, const char *text, const char **ret) {
        const char *end = text;
        unsigned depth = 0;

        while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
                end--;
        if (end == line || end[-1] != ']')
                return 0;
        for (const char *p = end; p-- > line;) {
                depth += *p == ']';
                depth -= *p == '[';
                *ret = p + 1;
                if (depth == 0)
                        return (size_t)(end - p) - 2;
        }
        return 0;
}

static bool read_tasks(const char *p, double values[static N_SPDL_VALUES]) {
        if (!read_number(&p, "Completed ", &values[SPDL_COUNT]) || !read_number(&p, "tasks (", &values[SPDL_FAILURES]) ||
            !read_time(&p, "task time:", &values[SPDL_TIME]))
                return false;
        /* Old versions have no percentiles. */
        (void)(read_time(&p, "P90:", &values[SPDL_P90]) && read_time(&p, "P99:", &values[SPDL_P99]));
        return true;
}

static bool read_queue(const char *p, double values[static N_SPDL_VALUES]) {
        double ready_pct;

        if (!read_number(&p, "Processed ", &values[SPDL_COUNT]) || !read_time(&p, "items in", &values[SPDL_ELAPSED]) ||
            !read_time(&p, "put:", &values[SPDL_TIME]) || !read_time(&p, "get (by next stage):", &values[SPDL_GET]))
                return false;
        (void)(read_time(&p, "P90: put:", &values[SPDL_P90]) && read_time(&p, "get:", &values[SPDL_GET_P90]) &&
               read_time(&p, "P99: put:", &values[SPDL_P99]) && read_time(&p, "get:", &values[SPDL_GET_P99]));
        /* perfd writes nan if the producer did not measure the occupancy. */
        if (strstr(p, "Occupancy rate: nan%"))
                return true;
        if (!read_number(&p, "Occupancy rate:", &ready_pct))
                return false;
        values[SPDL_OCCUPANCY] = ready_pct / 100;
        return true;
}

static int find_last(LogReader *reader, const SpdlRow *row, LastLine **ret) {
        size_t i = row->stage * N_PIPELINE_PARTS + row->part;

        if (ARRAY_RESERVE(reader->last, reader->n_allocated, i + 1) < 0)
                return -ENOMEM;
        while (reader->n_last <= i)
                reader->last[reader->n_last++] = (LastLine){};
        *ret = &reader->last[i];
        return 0;
}

/*
 * Adds a row. A line that two handlers have logged counts once. Another one with the same time, as in a log without fractions of a second,
 * is an interval of its own.
 */
static int add_row(LogReader *reader, SpdlRow *row) {
        double time_s = row->end_s;
        const SpdlRow *before;
        LastLine *last;
        int r;

        r = find_last(reader, row, &last);
        if (r < 0)
                return r;
        before = last->row > 0 ? &reader->table->rows[last->row - 1] : NULL;
        if (before && last->time_s == time_s && memcmp(before->values, row->values, sizeof(row->values)) == 0)
                return 0;
        if (before && row->end_s <= before->end_s && row->end_s > before->end_s - 1)
                row->end_s = before->end_s + STEP_S;
        *last = (LastLine){ reader->table->n + 1, time_s };
        reader->table->has_fractions |= !isnan(time_s) && fmod(time_s, 1) != 0;
        return spdl_table_add(reader->table, row);
}

static int take_line(LogReader *reader, const char *line, size_t at) {
        const char *tasks = strstr(line, "Completed "), *queue = strstr(line, "Processed "), *label;
        size_t n_label = find_label(line, tasks ?: queue ?: line, &label), n_suffix = strlen(QUEUE_SUFFIX), stage;
        SpdlRow row;
        int r;

        if (n_label == 0)
                return 0;
        if (!tasks && n_label > n_suffix && strncmp(label + n_label - n_suffix, QUEUE_SUFFIX, n_suffix) == 0)
                n_label -= n_suffix;
        r = spdl_table_find_stage(reader->table, label, n_label, &stage, reader->error);
        if (r != 0)
                return r == SPDL_TABLE_NO_STAGE ? 0 : r;
        row = spdl_table_row(stage, tasks ? PIPELINE_TASKS : PIPELINE_QUEUE, at);
        if (!(tasks ? read_tasks(tasks, row.values) : read_queue(queue, row.values))) {
                reader->table->n_left_out++;
                return 0;
        }
        row.end_s = spdl_time_find(line, (size_t)(label - line));
        return add_row(reader, &row);
}

/* --- the text ------------------------------------------------------------------------------------- */

static int take_lines(LogReader *reader, const Buffer *text) {
        char line[LINE_MAX_BYTES + 1];
        size_t at = 1;
        int r = 0;

        for (size_t begin = 0, end; r == 0 && begin < text->n; begin = end + 1, at++) {
                const char *newline = memchr(text->text + begin, '\n', text->n - begin);

                end = newline ? (size_t)(newline - text->text) : text->n;
                if (end - begin > LINE_MAX_BYTES)
                        continue;
                memcpy(line, text->text + begin, end - begin);
                line[end - begin] = '\0';
                r = take_line(reader, line, at);
        }
        return r;
}

int spdl_log_read(SpdlTable *table, const Buffer *text, char ret_error[static SPDL_TABLE_ERROR_MAX]) {
        scoped(reader_deinit) LogReader reader = { .table = table, .error = ret_error };
        int r;

        table->is_log = true;
        r = take_lines(&reader, text);
        if (r != 0)
                return r;
        if (table->n == 0) {
                (void)snprintf(ret_error, SPDL_TABLE_ERROR_MAX, "neither a database or a JSON object of SPDL, nor a log with lines such as "
                               "'[0:1:decode] Completed 5 tasks (0 failed)'");
                return SPDL_TABLE_INVALID;
        }
        return spdl_totals_split(table);
}
