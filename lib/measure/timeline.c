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

static const struct {
        const char *name;
        const char *unit;
} series_info[N_SERIES] = {
#define X(id, name, unit) [SERIES_##id] = { name, unit },
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

void timeline_round_point(const TimelinePoint *point, uint64_t interval_ns, RoundedPoint *ret) {
        ret->observed = observed_of(point->observed_ns, interval_ns);
        for (Series series = 0; series < N_SERIES; series++) {
                ret->mean[series] = code_of(series, point->series[series].mean);
                ret->min[series] = code_of(series, point->series[series].min);
                ret->max[series] = code_of(series, point->series[series].max);
        }
}

void timeline_restore_point(const RoundedPoint *rounded, uint64_t interval_ns, TimelinePoint *ret) {
        ret->observed_ns = (uint64_t)llrint((double)interval_ns * rounded->observed / STEPS);
        for (Series series = 0; series < N_SERIES; series++)
                ret->series[series] = (TimelineValue){
                        .mean = value_of(series, rounded->mean[series]),
                        .min = value_of(series, rounded->min[series]),
                        .max = value_of(series, rounded->max[series]),
                };
}

/* --- columns ---------------------------------------------------------------------------------- */

/*
 * A column of the observed shares, then a column for each mean, min and max. While the columns are too long, all
 * codes lose their last
 * bits: white noise has nothing that a compression finds.
 */
#define N_COLUMNS (1U + 3 * N_SERIES)
#define BYTES_MAX(n) (256 + 22 * (n))
#define DROPPED_BITS_MAX 10U
#define UNKNOWN_NUMBER (-1)

static uint16_t *code_at(RoundedPoint *point, size_t column) {
        size_t series = (column - 1) / 3;

        if (column == 0)
                return &point->observed;
        return (column - 1) % 3 == 0   ? &point->mean[series]
               : (column - 1) % 3 == 1 ? &point->min[series]
                                       : &point->max[series];
}

static int64_t number_of(uint16_t code, unsigned n_dropped) {
        return code == CODE_UNKNOWN ? UNKNOWN_NUMBER : (int64_t)((code + (1U << n_dropped >> 1)) >> n_dropped);
}

static uint16_t code_of_number(int64_t v, unsigned n_dropped) {
        uint32_t code = (uint32_t)v << n_dropped;

        if (v == UNKNOWN_NUMBER)
                return CODE_UNKNOWN;
        return code < CODE_MAX ? (uint16_t)code : CODE_MAX;
}

static void write_columns(RoundedPoint *points, size_t n, unsigned n_dropped, Buffer *out) {
        ColumnWriter writer = { .out = out };

        for (size_t column = 0; column < N_COLUMNS; column++) {
                column_writer_begin(&writer);
                for (size_t i = 0; i < n; i++)
                        column_writer_put(&writer, number_of(*code_at(&points[i], column), column > 0 ? n_dropped : 0));
        }
}

int timeline_write(const Timeline *timeline, Buffer *out) {
        scoped(freep) RoundedPoint *points = malloc((timeline->n + 1) * sizeof(*points));
        scoped(buffer_deinit) Buffer columns = {};
        ColumnWriter writer = { .out = out };
        unsigned n_dropped = 0;

        assert(timeline->n <= TIMELINE_POINTS_MAX);
        if (!points)
                return -ENOMEM;
        for (size_t i = 0; i < timeline->n; i++)
                timeline_round_point(&timeline->points[i], timeline->interval_ns, &points[i]);

        write_columns(points, timeline->n, n_dropped, &columns);
        while (columns.n > BYTES_MAX(timeline->n) && n_dropped < DROPPED_BITS_MAX) {
                buffer_clear(&columns);
                write_columns(points, timeline->n, ++n_dropped, &columns);
        }

        column_writer_put(&writer, (int64_t)timeline->begin_boottime_ns);
        column_writer_put(&writer, (int64_t)timeline->begin_realtime_ns);
        column_writer_put(&writer, (int64_t)timeline->interval_ns);
        column_writer_put(&writer, (int64_t)timeline->n);
        column_writer_put(&writer, (int64_t)n_dropped);
        buffer_put(out, columns.text, columns.n);
        return buffer_error(&columns) < 0 ? -ENOMEM : buffer_error(out);
}

static int read_head(ColumnReader *reader, Timeline *timeline, unsigned *ret_n_dropped) {
        int64_t boottime_ns, realtime_ns, interval_ns, n, n_dropped;

        column_reader_begin(reader);
        boottime_ns = column_reader_get(reader);
        realtime_ns = column_reader_get(reader);
        interval_ns = column_reader_get(reader);
        n = column_reader_get(reader);
        n_dropped = column_reader_get(reader);
        /* Each number takes a byte or more. */
        if (boottime_ns < 0 || realtime_ns < 0 || interval_ns < 1 || interval_ns > INT64_MAX / TIMELINE_POINTS_MAX ||
            n < 0 || n > TIMELINE_POINTS_MAX || n * N_COLUMNS > reader->end - reader->p || n_dropped < 0 ||
            n_dropped > DROPPED_BITS_MAX || reader->has_failed)
                return PARSE_MALFORMED;

        timeline->begin_boottime_ns = (uint64_t)boottime_ns;
        timeline->begin_realtime_ns = (uint64_t)realtime_ns;
        timeline->interval_ns = (uint64_t)interval_ns;
        *ret_n_dropped = (unsigned)n_dropped;
        return timeline_reserve(timeline, (size_t)n);
}

/* False: a number is out of range. */
static bool read_columns(ColumnReader *reader, RoundedPoint *points, size_t n, unsigned n_dropped) {
        for (size_t column = 0; column < N_COLUMNS; column++) {
                unsigned shift = column > 0 ? n_dropped : 0;
                int64_t max = column > 0 ? number_of(CODE_MAX, shift) : (int64_t)STEPS,
                        min = column > 0 ? UNKNOWN_NUMBER : 0;

                column_reader_begin(reader);
                for (size_t i = 0; i < n; i++) {
                        int64_t v = column_reader_get(reader);

                        if (v < min || v > max)
                                return false;
                        *code_at(&points[i], column) = code_of_number(v, shift);
                }
        }
        return !reader->has_failed;
}

/* A gap has no values. Unknown is the highest code. */
static bool is_possible(const RoundedPoint *point) {
        for (Series i = 0; i < N_SERIES; i++) {
                bool is_known = point->mean[i] != CODE_UNKNOWN;

                if (point->min[i] > point->mean[i] || point->mean[i] > point->max[i])
                        return false;
                if (is_known ? point->observed == 0 || point->max[i] == CODE_UNKNOWN : point->min[i] != CODE_UNKNOWN)
                        return false;
        }
        return true;
}

int timeline_read(ColumnReader *reader, Timeline *ret) {
        scoped(timeline_deinit) Timeline timeline = {};
        scoped(freep) RoundedPoint *points = NULL;
        unsigned n_dropped;
        int r;

        r = read_head(reader, &timeline, &n_dropped);
        if (r != 0)
                return r;
        points = calloc(timeline.n + 1, sizeof(*points));
        if (!points)
                return -ENOMEM;
        if (!read_columns(reader, points, timeline.n, n_dropped))
                return PARSE_MALFORMED;
        for (size_t i = 0; i < timeline.n; i++) {
                if (!is_possible(&points[i]))
                        return PARSE_MALFORMED;
                timeline_restore_point(&points[i], timeline.interval_ns, &timeline.points[i]);
        }
        *ret = timeline;
        timeline = (Timeline){};
        return 0;
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* Writes five digits, which is enough for plots. */
static void put_float(Json *json, float v) {
        char text[32];

        if (!isfinite(v)) {
                json_null(json);
                return;
        }

        (void)snprintf(text, sizeof(text), "%.5g", (double)v);
        json_raw(json, text);
}

static void put_values(const Timeline *timeline, Series series, const char *name, size_t offset, Json *json) {
        json_put_array_begin(json, name);
        for (size_t i = 0; i < timeline->n; i++)
                put_float(json,
                          *(const float *)(const void *)((const char *)&timeline->points[i].series[series] + offset));
        json_array_end(json);
}

static void put_series(const Timeline *timeline, Series series, Json *json) {
        json_put_object_begin(json, timeline_series_name(series));
        json_put_string(json, "unit", timeline_series_unit(series));
        put_values(timeline, series, "mean", offsetof(TimelineValue, mean), json);
        put_values(timeline, series, "min", offsetof(TimelineValue, min), json);
        put_values(timeline, series, "max", offsetof(TimelineValue, max), json);
        json_object_end(json);
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
                put_series(timeline, series, &json);
        json_object_end(&json);
        json_object_end(&json);
}
