/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a job as text
 *
 *   1700000000000 1 20                  begin in ms, observations in each sample, number of samples
 *   1700000001003,1000*12,1001,…        the times in ms: the first, then the difference to the one before
 *   2500000,-1250,?,0*17                a line for each ratio, for each counter since boot, and for each counter of the job
 *
 * '?' is an unknown value; the next difference is to the last known one, at first 0. 0*17 is seventeen times 0: most counters of a
 * quiet node do not change, and a short text is formatted and compressed sooner.
 */
#include "measure/kept_list.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/parse.h"

#define N_COLUMNS (1 + N_KEPT_RATIOS + 2 * N_PERFPY_COUNTERS)
#define UNKNOWN INT64_MIN

void kept_list_deinit(KeptList *list) {
        free(list->samples);
        *list = (KeptList){};
}

static int64_t bytes_value(uint64_t bytes) {
        return bytes <= INT64_MAX ? (int64_t)bytes : UNKNOWN;
}

static int64_t column_get(const KeptSample *sample, size_t column) {
        uint32_t ratio;

        if (column == 0)
                return bytes_value(sample->end_realtime_ms);
        if (column > N_KEPT_RATIOS + N_PERFPY_COUNTERS)
                return bytes_value(sample->counted_bytes[column - N_KEPT_RATIOS - N_PERFPY_COUNTERS - 1]);
        if (column > N_KEPT_RATIOS)
                return bytes_value(sample->boot_bytes[column - N_KEPT_RATIOS - 1]);

        ratio = sample->ratios[column - 1];
        return ratio == KEPT_RATIO_UNKNOWN ? UNKNOWN : (int64_t)ratio;
}

/* Returns false if the value is out of the column's range. */
static bool column_set(KeptSample *sample, size_t column, int64_t v) {
        uint64_t bytes = v == UNKNOWN ? KEPT_BYTES_UNKNOWN : (uint64_t)v;

        if (v < 0 && v != UNKNOWN)
                return false;
        if (column == 0)
                sample->end_realtime_ms = bytes;
        else if (column > N_KEPT_RATIOS + N_PERFPY_COUNTERS)
                sample->counted_bytes[column - N_KEPT_RATIOS - N_PERFPY_COUNTERS - 1] = bytes;
        else if (column > N_KEPT_RATIOS)
                sample->boot_bytes[column - N_KEPT_RATIOS - 1] = bytes;
        else if (v > KEPT_RATIO_STEPS)
                return false;
        else
                sample->ratios[column - 1] = v == UNKNOWN ? KEPT_RATIO_UNKNOWN : (uint32_t)v;
        return column > 0 || v != UNKNOWN;
}

/* Equal words of a line that follow each other: UNKNOWN or a difference. */
typedef struct Repeat {
        int64_t word;
        size_t n;
} Repeat;

static void put_repeat(const Repeat *repeat, Buffer *out) {
        if (repeat->word == UNKNOWN)
                buffer_putc(out, '?');
        else
                buffer_put_i64(out, repeat->word);
        if (repeat->n > 1) {
                buffer_putc(out, '*');
                buffer_put_u64(out, repeat->n);
        }
}

static void put_column(const KeptList *list, size_t column, Buffer *out) {
        Repeat repeat = {};
        int64_t before = 0;

        for (size_t i = 0; i < list->n; i++) {
                int64_t v = column_get(&list->samples[i], column), word = v == UNKNOWN ? UNKNOWN : v - before;

                if (v != UNKNOWN)
                        before = v;
                if (i > 0 && word == repeat.word) {
                        repeat.n++;
                        continue;
                }
                if (i > 0) {
                        put_repeat(&repeat, out);
                        buffer_putc(out, ',');
                }
                repeat = (Repeat){ word, 1 };
        }
        if (list->n > 0)
                put_repeat(&repeat, out);
        buffer_putc(out, '\n');
}

void kept_list_format(const KeptList *list, Buffer *out) {
        assert(list->n <= KEPT_LIST_MAX);
        buffer_put_u64(out, list->begin_realtime_ms);
        buffer_putc(out, ' ');
        buffer_put_u64(out, list->n_merged);
        buffer_putc(out, ' ');
        buffer_put_u64(out, list->n);
        buffer_putc(out, '\n');
        for (size_t column = 0; column < N_COLUMNS; column++)
                put_column(list, column, out);
}

static bool take_char(const char **text, char c) {
        if (**text != c)
                return false;
        (*text)++;
        return true;
}

/* Reads a number, and moves behind it. */
static bool take_number(const char **text, int64_t *ret) {
        char *rest;

        if (**text != '-' && (**text < '0' || **text > '9'))
                return false;
        errno = 0;
        *ret = strtoll(*text, &rest, 10);
        if (errno != 0 || rest == *text)
                return false;
        *text = rest;
        return true;
}

static bool take_repeat(const char **text, size_t n_max, Repeat *ret) {
        int64_t n = 1;

        if (take_char(text, '?'))
                ret->word = UNKNOWN;
        else if (!take_number(text, &ret->word) || ret->word == UNKNOWN)
                return false;
        if (take_char(text, '*') && !take_number(text, &n))
                return false;
        ret->n = (size_t)n;
        return n >= 1 && ret->n <= n_max;
}

static bool read_column(const char **text, size_t column, KeptList *list) {
        int64_t v = 0;

        for (size_t i = 0; i < list->n;) {
                Repeat repeat;

                if (!take_repeat(text, list->n - i, &repeat))
                        return false;
                for (; repeat.n > 0; repeat.n--, i++) {
                        bool is_known = repeat.word != UNKNOWN;

                        if (is_known && __builtin_add_overflow(v, repeat.word, &v))
                                return false;
                        if (!column_set(&list->samples[i], column, is_known ? v : UNKNOWN))
                                return false;
                }
                if (!take_char(text, i < list->n ? ',' : '\n'))
                        return false;
        }
        return true;
}

static bool read_head(const char **text, KeptList *ret) {
        int64_t begin_ms, n_merged, n;

        if (!take_number(text, &begin_ms) || !take_char(text, ' ') || !take_number(text, &n_merged) || !take_char(text, ' ') ||
            !take_number(text, &n) || !take_char(text, '\n') || begin_ms < 0 || n_merged < 1 || n < 1 || n > KEPT_LIST_MAX)
                return false;

        *ret = (KeptList){ .begin_realtime_ms = (uint64_t)begin_ms, .n_merged = (uint64_t)n_merged, .n = (size_t)n };
        return true;
}

int kept_list_parse(const char *text, KeptList *ret) {
        KeptList list;

        if (!read_head(&text, &list))
                return PARSE_MALFORMED;

        list.samples = calloc(list.n, sizeof(*list.samples));
        if (!list.samples)
                return -ENOMEM;

        for (size_t column = 0; column < N_COLUMNS; column++)
                if (!read_column(&text, column, &list)) {
                        kept_list_deinit(&list);
                        return PARSE_MALFORMED;
                }
        if (*text != '\0') {
                kept_list_deinit(&list);
                return PARSE_MALFORMED;
        }
        *ret = list;
        return 0;
}
