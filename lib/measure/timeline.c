/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/timeline.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/parse.h"

typedef enum Statistic {
        STATISTIC_mean,
        STATISTIC_min,
        STATISTIC_max,
        N_STATISTICS,
} Statistic;

static const struct {
        const char *name;
        size_t offset;
} statistics[N_STATISTICS] = {
        { "mean", offsetof(TimelineValue, mean) },
        { "min", offsetof(TimelineValue, min) },
        { "max", offsetof(TimelineValue, max) },
};

static const struct {
        const char *name;
        const char *unit;
        Statistic kept; /* if it is only one */
} series_info[N_SERIES] = {
#define X(id, name, unit, key) [SERIES_##id] = { name, unit, STATISTIC_##key },
        SERIES(X)
#undef X
};

#define UNKNOWN { NAN, NAN, NAN }

const TimelinePoint timeline_hole = {
        .series = {
#define X(id, ...) [SERIES_##id] = UNKNOWN,
                SERIES(X)
#undef X
        },
};

const char *timeline_series_name(Series series) {
        assert(series < N_SERIES);
        return series_info[series].name;
}

const char *timeline_series_unit(Series series) {
        assert(series < N_SERIES);
        return series_info[series].unit;
}

void timeline_deinit(Timeline *timeline) {
        free(timeline->points);
        *timeline = (Timeline){};
}

int timeline_reserve(Timeline *timeline, size_t n) {
        if (ARRAY_RESERVE(timeline->points, timeline->n_allocated, n) < 0)
                return -ENOMEM;
        for (; timeline->n < n; timeline->n++)
                timeline->points[timeline->n] = timeline_hole;
        return 0;
}

static float value_at(const TimelinePoint *point, Series series, Statistic statistic) {
        return *(const float *)(const void *)((const char *)&point->series[series] + statistics[statistic].offset);
}

static float weighted(float a, uint64_t a_ns, float b, uint64_t b_ns) {
        return (float)(a + ((double)b - a) * ((double)b_ns / ((double)a_ns + (double)b_ns)));
}

static void merge_value(TimelineValue *a, uint64_t a_ns, const TimelineValue *b, uint64_t b_ns) {
        if (isnan(b->mean))
                return;
        if (isnan(a->mean)) {
                *a = *b;
                return;
        }

        a->mean = weighted(a->mean, a_ns, b->mean, b_ns);
        a->min = b->min < a->min ? b->min : a->min;
        a->max = b->max > a->max ? b->max : a->max;
}

void timeline_merge_point(TimelinePoint *a, const TimelinePoint *b) {
        if (b->observed_ns == 0)
                return;

        for (Series series = 0; series < N_SERIES; series++)
                merge_value(&a->series[series], a->observed_ns, &b->series[series], b->observed_ns);
        a->observed_ns += b->observed_ns;
}

/* --- rounded points -------------------------------------------------------------------------- */

/*
 * Number of steps of shares and of observed time. Thousandths, and 1 s as a share of an interval doubled nine times,
 * are exact.
 */
#define STEPS 64000U
#define CODE_UNKNOWN UINT16_MAX
#define CODE_MAX (UINT16_MAX - 1U)

/*
 * The code of a rate consists of the exponent of the float and the first ten bits of its fraction, relative to 2^-16.
 */
#define RATE_MIN 0x1p-16F
#define RATE_BITS 10U
#define FLOAT_BITS 23U
#define FLOAT_EXPONENT_OF_1 127U
#define RATE_CODE_OFFSET (((FLOAT_EXPONENT_OF_1 - 16U) << RATE_BITS) - 1U)

static uint16_t code_of_share(float v) {
        long code = v > 0 ? lrintf(v * STEPS) : 0;

        return (uint16_t)(code < (long)CODE_MAX ? code : (long)CODE_MAX);
}

static uint16_t code_of_rate(float v) {
        uint32_t bits;

        if (!(v >= RATE_MIN))
                return 0;

        memcpy(&bits, &v, sizeof(bits));
        bits = ((bits + (1U << (FLOAT_BITS - RATE_BITS - 1))) >> (FLOAT_BITS - RATE_BITS)) - RATE_CODE_OFFSET;
        return (uint16_t)(bits < CODE_MAX ? bits : CODE_MAX);
}

static uint16_t code_of(Series series, float v) {
        if (isnan(v))
                return CODE_UNKNOWN;
        return series_is_ratio(series) ? code_of_share(v) : code_of_rate(v);
}

static float value_of(Series series, uint16_t code) {
        uint32_t bits = (code + RATE_CODE_OFFSET) << (FLOAT_BITS - RATE_BITS);
        float v;

        if (code == CODE_UNKNOWN)
                return NAN;
        if (series_is_ratio(series))
                return (float)code / STEPS;
        if (code == 0)
                return 0;

        memcpy(&v, &bits, sizeof(v));
        return v;
}

static uint16_t observed_of(uint64_t observed_ns, uint64_t interval_ns) {
        double steps = rint((double)observed_ns / (double)interval_ns * STEPS);

        return (uint16_t)fmin(fmax(steps, observed_ns > 0), STEPS);
}

void timeline_round_point(const TimelinePoint *point, uint64_t interval_ns, TimelineKind kind, uint16_t *ret) {
        *ret++ = observed_of(point->observed_ns, interval_ns);
        for (Series series = 0; series < N_JOB_SERIES; series++) {
                *ret++ = code_of(series, point->series[series].mean);
                *ret++ = code_of(series, point->series[series].min);
                *ret++ = code_of(series, point->series[series].max);
        }
        for (Series series = N_JOB_SERIES; series < N_SERIES; series++)
                if (timeline_has(kind, series))
                        *ret++ = code_of(series, value_at(point, series, series_info[series].kept));
}

void timeline_restore_point(const uint16_t *rounded, uint64_t interval_ns, TimelineKind kind, TimelinePoint *ret) {
        *ret = timeline_hole;
        ret->observed_ns = (uint64_t)llrint((double)interval_ns * *rounded++ / STEPS);
        for (Series series = 0; series < N_JOB_SERIES; series++, rounded += 3)
                ret->series[series] = (TimelineValue){
                        .mean = value_of(series, rounded[0]),
                        .min = value_of(series, rounded[1]),
                        .max = value_of(series, rounded[2]),
                };
        for (Series series = N_JOB_SERIES; series < N_SERIES; series++) {
                float v = timeline_has(kind, series) ? value_of(series, *rounded++) : NAN;

                ret->series[series] = (TimelineValue){ v, v, v };
        }
}

/* --- columns ---------------------------------------------------------------------------------- */

/*
 * A column of the observed shares, then one for each other number of a point. While the columns are too long, all
 * codes lose their last bits: white noise has nothing that a compression finds.
 */
#define BYTES_MAX(n_points, n_columns) (256 + ((n_columns) + 3) * (n_points))
#define DROPPED_BITS_MAX 10U
#define UNKNOWN_NUMBER (-1)

static int64_t number_of(uint16_t code, unsigned n_dropped) {
        return code == CODE_UNKNOWN ? UNKNOWN_NUMBER : (int64_t)((code + (1U << n_dropped >> 1)) >> n_dropped);
}

static uint16_t code_of_number(int64_t v, unsigned n_dropped) {
        uint32_t code = (uint32_t)v << n_dropped;

        if (v == UNKNOWN_NUMBER)
                return CODE_UNKNOWN;
        return code < CODE_MAX ? (uint16_t)code : CODE_MAX;
}

static void write_columns(const uint16_t *codes, size_t n, size_t n_columns, unsigned n_dropped, Buffer *out) {
        ColumnWriter writer = { .out = out };

        for (size_t column = 0; column < n_columns; column++) {
                column_writer_begin(&writer);
                for (size_t i = 0; i < n; i++)
                        column_writer_put(&writer,
                                          number_of(codes[i * n_columns + column], column > 0 ? n_dropped : 0));
        }
}

int timeline_write(const Timeline *timeline, Buffer *out) {
        const size_t n_columns = TIMELINE_COLUMNS(timeline->kind);
        scoped(freep) uint16_t *codes = malloc((timeline->n + 1) * n_columns * sizeof(*codes));
        scoped(buffer_deinit) Buffer columns = {};
        ColumnWriter writer = { .out = out };
        unsigned n_dropped = 0;

        assert(timeline->n <= TIMELINE_POINTS_MAX);
        if (!codes)
                return -ENOMEM;
        for (size_t i = 0; i < timeline->n; i++)
                timeline_round_point(&timeline->points[i], timeline->interval_ns, timeline->kind,
                                     &codes[i * n_columns]);

        write_columns(codes, timeline->n, n_columns, n_dropped, &columns);
        while (columns.n > BYTES_MAX(timeline->n, n_columns) && n_dropped < DROPPED_BITS_MAX) {
                buffer_clear(&columns);
                write_columns(codes, timeline->n, n_columns, ++n_dropped, &columns);
        }

        column_writer_put(&writer, (int64_t)timeline->begin_boottime_ns);
        column_writer_put(&writer, (int64_t)timeline->begin_realtime_ns);
        column_writer_put(&writer, (int64_t)timeline->interval_ns);
        column_writer_put(&writer, timeline->kind);
        column_writer_put(&writer, (int64_t)timeline->n);
        column_writer_put(&writer, (int64_t)n_dropped);
        buffer_put(out, columns.text, columns.n);
        return buffer_error(&columns) < 0 ? -ENOMEM : buffer_error(out);
}

static int read_head(ColumnReader *reader, Timeline *timeline, unsigned *ret_n_dropped) {
        int64_t boottime_ns, realtime_ns, interval_ns, kind, n, n_dropped;

        column_reader_begin(reader);
        boottime_ns = column_reader_get(reader);
        realtime_ns = column_reader_get(reader);
        interval_ns = column_reader_get(reader);
        kind = column_reader_get(reader);
        n = column_reader_get(reader);
        n_dropped = column_reader_get(reader);
        /* Each number takes a byte or more. */
        if (boottime_ns < 0 || realtime_ns < 0 || interval_ns < 1 || interval_ns > INT64_MAX / TIMELINE_POINTS_MAX ||
            kind < 0 || kind >= N_TIMELINE_KINDS || n < 0 || n > TIMELINE_POINTS_MAX ||
            n * (int64_t)TIMELINE_COLUMNS(kind) > reader->end - reader->p || n_dropped < 0 ||
            n_dropped > DROPPED_BITS_MAX || reader->has_failed)
                return PARSE_MALFORMED;

        timeline->begin_boottime_ns = (uint64_t)boottime_ns;
        timeline->begin_realtime_ns = (uint64_t)realtime_ns;
        timeline->interval_ns = (uint64_t)interval_ns;
        timeline->kind = (TimelineKind)kind;
        *ret_n_dropped = (unsigned)n_dropped;
        return timeline_reserve(timeline, (size_t)n);
}

/* False: a number is out of range. */
static bool read_columns(ColumnReader *reader, uint16_t *codes, size_t n, size_t n_columns, unsigned n_dropped) {
        for (size_t column = 0; column < n_columns; column++) {
                unsigned shift = column > 0 ? n_dropped : 0;
                int64_t max = column > 0 ? number_of(CODE_MAX, shift) : (int64_t)STEPS,
                        min = column > 0 ? UNKNOWN_NUMBER : 0;

                column_reader_begin(reader);
                for (size_t i = 0; i < n; i++) {
                        int64_t v = column_reader_get(reader);

                        if (v < min || v > max)
                                return false;
                        codes[i * n_columns + column] = code_of_number(v, shift);
                }
        }
        return !reader->has_failed;
}

/* A gap has no values. Unknown is the highest code. */
static bool is_possible(const uint16_t *codes, TimelineKind kind) {
        bool is_gap = codes[0] == 0;

        for (const uint16_t *v = codes + 1; v < codes + 1 + 3 * N_JOB_SERIES; v += 3) { /* mean, min and max */
                if (v[1] > v[0] || v[0] > v[2])
                        return false;
                if (v[0] != CODE_UNKNOWN ? is_gap || v[2] == CODE_UNKNOWN : v[1] != CODE_UNKNOWN)
                        return false;
        }
        for (size_t i = 1 + 3 * N_JOB_SERIES; is_gap && i < TIMELINE_COLUMNS(kind); i++)
                if (codes[i] != CODE_UNKNOWN)
                        return false;
        return true;
}

int timeline_read(ColumnReader *reader, Timeline *ret) {
        scoped(timeline_deinit) Timeline timeline = {};
        scoped(freep) uint16_t *codes = NULL;
        size_t n_columns;
        unsigned n_dropped;
        int r;

        r = read_head(reader, &timeline, &n_dropped);
        if (r != 0)
                return r;
        n_columns = TIMELINE_COLUMNS(timeline.kind);
        codes = calloc((timeline.n + 1) * n_columns, sizeof(*codes));
        if (!codes)
                return -ENOMEM;
        if (!read_columns(reader, codes, timeline.n, n_columns, n_dropped))
                return PARSE_MALFORMED;
        for (size_t i = 0; i < timeline.n; i++) {
                if (!is_possible(&codes[i * n_columns], timeline.kind))
                        return PARSE_MALFORMED;
                timeline_restore_point(&codes[i * n_columns], timeline.interval_ns, timeline.kind,
                                       &timeline.points[i]);
        }
        *ret = timeline;
        timeline = (Timeline){};
        return 0;
}

/* --- JSON ----------------------------------------------------------------------------------- */

void timeline_put_value(Json *json, float v) {
        char text[32];

        if (!isfinite(v)) {
                json_null(json);
                return;
        }

        (void)snprintf(text, sizeof(text), "%.5g", (double)v);
        json_raw(json, text);
}

static void put_values(const Timeline *timeline, Series series, Statistic statistic, Json *json) {
        json_put_array_begin(json, statistics[statistic].name);
        for (size_t i = 0; i < timeline->n; i++)
                timeline_put_value(json, value_at(&timeline->points[i], series, statistic));
        json_array_end(json);
}

static void put_series(const Timeline *timeline, Series series, Json *json) {
        json_put_object_begin(json, timeline_series_name(series));
        json_put_string(json, "unit", timeline_series_unit(series));
        for (Statistic i = 0; i < N_STATISTICS; i++)
                if (series < N_JOB_SERIES || i == series_info[series].kept)
                        put_values(timeline, series, i, json);
        json_object_end(json);
}

static bool has_values(const Timeline *timeline, Series series) {
        for (size_t i = 0; i < timeline->n; i++)
                if (!isnan(timeline->points[i].series[series].mean))
                        return true;
        return false;
}

void timeline_json(const Timeline *timeline, Buffer *out) {
        Json json = { .out = out };

        json_object_begin(&json);
        json_put_uint(&json, "begin_ms", timeline->begin_realtime_ns / NS_PER_MS);
        if (timeline->interval_ns % NS_PER_MS == 0)
                json_put_uint(&json, "interval_ms", timeline->interval_ns / NS_PER_MS);
        else
                json_put_double(&json, "interval_ms", (double)timeline->interval_ns / (double)NS_PER_MS);

        json_put_object_begin(&json, "series");
        for (Series series = 0; series < N_SERIES; series++)
                if (timeline_has(timeline->kind, series) &&
                    (series < SERIES_FIRST_EQUIPMENT || has_values(timeline, series)))
                        put_series(timeline, series, &json);
        json_object_end(&json);
        json_object_end(&json);
}
