/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline as text
 *
 *   {"boot_ns":…,"real_ns":…,"step_ns":…,"n":120,
 *    "observed":"…",                                                left out where every point was observed in full
 *    "series":{"c":{"lo":0.01,"hi":0.98,"levels":1000,"about":"…"},
 *              "m":{"lo":0.3,"hi":0.31,"levels":4000,"range":"…"},
 *              "dr":{"hi":2.1e+08,"levels":4000,"mean":"…"},
 *              "dw":{"lo":4096},                             the same everywhere
 *              "ns":{}}}                                       0 everywhere
 *
 * A series without a member is unknown. The text of a single point has no "series", see point_text.h.
 *
 * A plot needs no more digits than pixels, and the row of a finished job has limited space. Values
 * become steps between the lowest and the highest value of the series (of the logarithm for rates), and steps
 * become printable characters. Neighbours are similar, so a mean is stored as the difference to the
 * previous mean: small differences take one character, larger differences two. Min and max are stored as distances
 * from the mean: left out where there are none (`mean`), exact (`range`), or with min in one
 * character, within 4 % of its distance (`about`). While the text is too long, the longest series is stored with less
 * precision.
 *
 * Characters: the digits of digits.h, '}' for an unknown value, and '~' with a digit d for d + 1
 * points equal to the mean before.
 */

#include "series/timeline.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "json/json_text.h"
#include "json/record.h"
#include "series/digits.h"
#include "series/point_text.h"
#include "series/scale.h"
#include "util/parse.h"

/* Precisions from fine to coarse: number of distinct values in a series, and whether min is exact. */
static const struct {
        unsigned levels;
        bool is_about;
} precisions[] = { { 4000, false }, { 1000, false }, { 1000, true }, { 500, true }, { 300, true } };
#define LEVELS_MAX 4000U
#define VALUE_MAX 1e30 /* fits a float */
#define SERIES_KEY "series"

/* 2 KiB for 120 points; the rest of the text takes 0.5 KiB. White noise takes 3 KiB at any precision. */
#define CODES_TARGET(n) (19 * (n) - 19 * (n) / 16)

/* --- values as steps ------------------------------------------------------------------------ */

typedef enum Detail {
        DETAIL_MEAN,
        DETAIL_ABOUT,
        DETAIL_RANGE,
        N_DETAILS,
} Detail;

/* A series: digits of one detail, or none if all points have the value `lo`. */
typedef struct SeriesText {
        double lo, hi;
        uint32_t levels;
        char *codes[N_DETAILS]; /* owned */
} SeriesText;

typedef struct AllSeriesText {
        bool has[N_SERIES];
        SeriesText series[N_SERIES];
} AllSeriesText;

typedef struct TimelineText {
        uint64_t boottime_ns, realtime_ns, interval_ns;
        uint32_t n;
        char *observed; /* owned */
        AllSeriesText all;
} TimelineText;

static const RecordField series_fields[] = {
        RECORD_VALUE(SeriesText, lo),
        RECORD_VALUE(SeriesText, hi),
        RECORD_VALUE(SeriesText, levels),
        RECORD_VALUE_AS("mean", SeriesText, codes[DETAIL_MEAN]),
        RECORD_VALUE_AS("about", SeriesText, codes[DETAIL_ABOUT]),
        RECORD_VALUE_AS("range", SeriesText, codes[DETAIL_RANGE]),
};

static const Record series_record = RECORD(SeriesText, series_fields);

static const RecordField all_series_fields[] = {
#define X(id, name, unit, series_key) \
        RECORD_OPTIONAL_AS(series_key, AllSeriesText, series[SERIES_##id], has[SERIES_##id], &series_record),
        SERIES(X)
#undef X
};

static const Record all_series_record = RECORD(AllSeriesText, all_series_fields);

static const RecordField fields[] = {
        RECORD_VALUE_AS("boot_ns", TimelineText, boottime_ns),
        RECORD_VALUE_AS("real_ns", TimelineText, realtime_ns),
        RECORD_VALUE_AS("step_ns", TimelineText, interval_ns),
        RECORD_VALUE(TimelineText, n),
        RECORD_VALUE(TimelineText, observed),
        RECORD_STRUCT_AS(SERIES_KEY, TimelineText, all, &all_series_record),
};

static const Record timeline_record = RECORD(TimelineText, fields);

static void timeline_text_deinit(TimelineText *text) {
        record_deinit(&timeline_record, text);
}

/* Scale and precision of one series. */
typedef struct Coding {
        Scale scale;
        Detail detail;
} Coding;

typedef struct Steps {
        int mean, min, max;
} Steps;

static double with_six_digits(double v) {
        char text[32];

        if (v == 0)
                return 0;
        (void)snprintf(text, sizeof(text), "%.6g", v);
        return strtod(text, NULL);
}

static void set_scale(const Timeline *timeline, Series series, unsigned levels, Scale *ret) {
        double lo = 0, hi = 0;
        bool has = false;

        for (size_t i = 0; i < timeline->n; i++) {
                const TimelineValue *v = &timeline->points[i].series[series];

                if (timeline->points[i].observed_ns == 0 || isnan(v->mean))
                        continue;
                lo = has ? fmin(lo, v->min) : v->min;
                hi = has ? fmax(hi, v->max) : v->max;
                has = true;
        }

        lo = with_six_digits(fmax(lo, 0));
        scale_init(ret, !series_is_ratio(series), lo, with_six_digits(fmax(hi, lo)), levels);
}

static Steps steps_of(const Scale *scale, const TimelineValue *value) {
        int mean = scale_step(scale, value->mean);

        /* Most points are those of one sample, or of equal samples. */
        return (Steps){
                .mean = mean,
                .min = value->min == value->mean ? mean : scale_step(scale, value->min),
                .max = value->max == value->mean ? mean : scale_step(scale, value->max),
        };
}

/* --- writing -------------------------------------------------------------------------------- */

static bool is_flat(const Steps *steps) {
        return steps->min == steps->mean && steps->max == steps->mean;
}

static bool has_only_means(const Timeline *timeline, Series series, const Scale *scale) {
        for (size_t i = 0; i < timeline->n; i++) {
                const TimelineValue *v = &timeline->points[i].series[series];
                Steps steps;

                if (timeline->points[i].observed_ns == 0 || isnan(v->mean))
                        continue;
                steps = steps_of(scale, v);
                if (!is_flat(&steps))
                        return false;
        }

        return true;
}

/* Returns true if all points have the same value and none is unknown. */
static bool is_constant(const Timeline *timeline, Series series, const Scale *scale) {
        for (size_t i = 0; i < timeline->n; i++)
                if (timeline->points[i].observed_ns > 0 && isnan(timeline->points[i].series[series].mean))
                        return false;
        return scale->lo == scale->hi;
}

static void put_run(Buffer *out, unsigned *n) {
        if (*n > 0) {
                buffer_putc(out, DIGIT_RUN);
                digit_put(out, *n - 1);
        }
        *n = 0;
}

static void put_point(const Coding *coding, const Steps *steps, int before, Buffer *out) {
        unsigned below = (unsigned)(steps->mean - steps->min), above = (unsigned)(steps->max - steps->mean);

        digits_put_signed(out, steps->mean - before, coding->scale.levels);
        if (coding->detail == DETAIL_MEAN)
                return;

        if (coding->detail == DETAIL_ABOUT)
                digit_put(out, scale_about(&coding->scale, below));
        else
                digits_put(out, below, coding->scale.levels);
        digits_put(out, above, coding->scale.levels);
}

static void put_codes(const Timeline *timeline, Series series, const Coding *coding, Buffer *out) {
        unsigned n_run = 0;
        int before = 0;

        for (size_t i = 0; i < timeline->n; i++) {
                const TimelineValue *v = &timeline->points[i].series[series];
                Steps steps;

                if (timeline->points[i].observed_ns == 0)
                        continue;
                if (isnan(v->mean)) {
                        put_run(out, &n_run);
                        buffer_putc(out, DIGIT_UNKNOWN);
                        continue;
                }

                steps = steps_of(&coding->scale, v);
                if (steps.mean == before && is_flat(&steps)) {
                        if (++n_run == DIGITS_BASE)
                                put_run(out, &n_run);
                        continue;
                }

                put_run(out, &n_run);
                put_point(coding, &steps, before, out);
                before = steps.mean;
        }

        put_run(out, &n_run);
}

/* Returns 0 or -ENOMEM. */
static int write_series(const Timeline *timeline, Series series, size_t precision, SeriesText *ret) {
        scoped(buffer_deinit) Buffer codes = {};
        Coding coding = {};

        set_scale(timeline, series, precisions[precision].levels, &coding.scale);
        record_deinit(&series_record, ret);
        *ret = (SeriesText){ .lo = coding.scale.lo };
        if (is_constant(timeline, series, &coding.scale))
                return 0;

        if (!has_only_means(timeline, series, &coding.scale))
                coding.detail = precisions[precision].is_about ? DETAIL_ABOUT : DETAIL_RANGE;
        if (coding.detail == DETAIL_ABOUT)
                scale_fill_about(&coding.scale);

        put_codes(timeline, series, &coding, &codes);
        ret->hi = coding.scale.hi;
        ret->levels = coding.scale.levels;
        ret->codes[coding.detail] = buffer_take(&codes);
        return ret->codes[coding.detail] ? 0 : -ENOMEM;
}

/* Returns the observed share of a point in DIGITS_BASE - 1 steps; at least 1 if any part was observed. */
static unsigned share_of(const Timeline *timeline, size_t at) {
        uint64_t observed_ns = timeline->points[at].observed_ns;
        double share = fmin((double)observed_ns / (double)timeline->interval_ns, 1);
        unsigned step = (unsigned)lrint(share * (DIGITS_BASE - 1));

        return observed_ns > 0 && step == 0 ? 1 : step;
}

/* Sets *ret to NULL if all points were observed in full. Returns 0 or -ENOMEM. */
static int write_observed(const Timeline *timeline, char **ret) {
        scoped(buffer_deinit) Buffer shares = {};
        unsigned before = DIGITS_BASE - 1, n_run = 0;
        bool has_all = true;

        for (size_t i = 0; i < timeline->n; i++)
                has_all &= timeline->points[i].observed_ns >= timeline->interval_ns;
        if (has_all)
                return 0;

        for (size_t i = 0; i < timeline->n; i++) {
                unsigned share = share_of(timeline, i);

                if (share == before) {
                        if (++n_run == DIGITS_BASE)
                                put_run(&shares, &n_run);
                        continue;
                }
                put_run(&shares, &n_run);
                digit_put(&shares, share);
                before = share;
        }
        put_run(&shares, &n_run);
        *ret = buffer_take(&shares);
        return *ret ? 0 : -ENOMEM;
}

/* Returns the length of the digits, without the members that every series has. */
static size_t codes_length(const SeriesText *series) {
        size_t n = 0;

        for (Detail detail = 0; detail < N_DETAILS; detail++)
                n += series->codes[detail] ? strlen(series->codes[detail]) : 0;
        return n;
}

/* Returns the longest series whose precision can still be reduced, or N_SERIES. */
static Series find_longest(const SeriesText series[static N_SERIES], const size_t precision[static N_SERIES]) {
        Series longest = N_SERIES;

        for (Series i = 0; i < N_SERIES; i++)
                if (precision[i] + 1 < N_ELEMENTS(precisions) &&
                    (longest == N_SERIES || codes_length(&series[i]) > codes_length(&series[longest])))
                        longest = i;
        return longest;
}

static int write_all_series(const Timeline *timeline, size_t n_max, AllSeriesText *ret) {
        size_t precision[N_SERIES] = {}, n = 0;
        int r;

        for (Series series = 0; series < N_SERIES; series++) {
                ret->has[series] = true;
                r = write_series(timeline, series, 0, &ret->series[series]);
                if (r < 0)
                        return r;
                n += codes_length(&ret->series[series]);
        }

        while (n > n_max) {
                Series longest = find_longest(ret->series, precision);

                if (longest == N_SERIES)
                        break;
                n -= codes_length(&ret->series[longest]);
                r = write_series(timeline, longest, ++precision[longest], &ret->series[longest]);
                if (r < 0)
                        return r;
                n += codes_length(&ret->series[longest]);
        }
        return 0;
}

int timeline_format(const Timeline *timeline, char **ret) {
        scoped(timeline_text_deinit) TimelineText text = {
                .boottime_ns = timeline->begin_boottime_ns,
                .realtime_ns = timeline->begin_realtime_ns,
                .interval_ns = timeline->interval_ns,
                .n = (uint32_t)timeline->n,
        };
        int r;

        assert(timeline->n <= TIMELINE_POINTS_MAX);
        if (timeline->n == 1)
                return point_text_format(timeline, ret);

        r = write_observed(timeline, &text.observed);
        if (r == 0)
                r = write_all_series(timeline, CODES_TARGET(timeline->n), &text.all);
        return r == 0 ? record_format(&timeline_record, &text, ret) : r;
}

/* --- reading -------------------------------------------------------------------------------- */

static int read_begin(const TimelineText *text, Timeline *timeline) {
        int r;

        if (text->n > TIMELINE_POINTS_MAX || text->interval_ns == 0 || text->interval_ns > INT64_MAX / TIMELINE_POINTS_MAX ||
            text->boottime_ns > INT64_MAX || text->realtime_ns > INT64_MAX)
                return PARSE_MALFORMED;

        timeline->begin_boottime_ns = text->boottime_ns;
        timeline->begin_realtime_ns = text->realtime_ns;
        timeline->interval_ns = text->interval_ns;
        r = timeline_reserve(timeline, text->n);
        if (r < 0)
                return r;

        for (size_t i = 0; i < text->n; i++)
                timeline->points[i].observed_ns = timeline->interval_ns;
        return 0;
}

/* Reads the length of a run of points equal to the previous point; 0 if there is no run. */
static int get_run(DigitReader *reader, unsigned *ret) {
        if (!digit_take(reader, DIGIT_RUN))
                return 0;
        if (digit_get(reader, ret) != 0)
                return PARSE_MALFORMED;
        (*ret)++;
        return 0;
}

static int read_observed(const char *shares, Timeline *timeline) {
        DigitReader reader = { shares, shares + strlen(shares) };
        unsigned share = DIGITS_BASE - 1, n_run = 0;

        for (size_t i = 0; i < timeline->n; i++) {
                if (n_run == 0 && get_run(&reader, &n_run) != 0)
                        return PARSE_MALFORMED;
                if (n_run > 0)
                        n_run--;
                else if (digit_get(&reader, &share) != 0)
                        return PARSE_MALFORMED;
                /* Rounds up, so that a partly observed point does not become a gap. */
                timeline->points[i].observed_ns = (timeline->interval_ns * share + DIGITS_BASE - 2) / (DIGITS_BASE - 1);
        }

        return n_run == 0 && reader.p == reader.end ? 0 : PARSE_MALFORMED;
}

static int get_distances(DigitReader *reader, const Coding *coding, unsigned *ret_below, unsigned *ret_above) {
        unsigned digit;

        *ret_below = *ret_above = 0;
        if (coding->detail == DETAIL_MEAN)
                return 0;

        if (coding->detail == DETAIL_ABOUT) {
                if (digit_get(reader, &digit) != 0)
                        return PARSE_MALFORMED;
                *ret_below = coding->scale.about[digit];
        } else if (digits_get(reader, coding->scale.levels, ret_below) != 0)
                return PARSE_MALFORMED;

        return digits_get(reader, coding->scale.levels, ret_above);
}

static int get_point(DigitReader *reader, const Coding *coding, Steps *steps) {
        int highest = (int)coding->scale.levels - 1, step;
        unsigned below, above;

        if (digits_get_signed(reader, coding->scale.levels, &step) != 0 || get_distances(reader, coding, &below, &above) != 0)
                return PARSE_MALFORMED;

        steps->mean += step;
        if (steps->mean < 0 || steps->mean > highest)
                return PARSE_MALFORMED;

        /* An approximate min can be slightly below the lowest value. */
        steps->min = (int)below < steps->mean ? steps->mean - (int)below : 0;
        steps->max = steps->mean + (int)above;
        return steps->max <= highest ? 0 : PARSE_MALFORMED;
}

static int get_codes(DigitReader *reader, const Coding *coding, Series series, Timeline *timeline) {
        Steps steps = {};
        unsigned n_run = 0;

        for (size_t i = 0; i < timeline->n; i++) {
                TimelineValue *v = &timeline->points[i].series[series];

                if (timeline->points[i].observed_ns == 0)
                        continue;
                if (n_run == 0 && digit_take(reader, DIGIT_UNKNOWN))
                        continue;
                if (n_run == 0 && get_run(reader, &n_run) != 0)
                        return PARSE_MALFORMED;
                if (n_run > 0) {
                        n_run--;
                        steps.min = steps.max = steps.mean;
                } else if (get_point(reader, coding, &steps) != 0)
                        return PARSE_MALFORMED;

                *v = (TimelineValue){
                        .mean = scale_value(&coding->scale, steps.mean),
                        .min = scale_value(&coding->scale, steps.min),
                        .max = scale_value(&coding->scale, steps.max),
                };
        }

        return n_run == 0 && reader->p == reader->end ? 0 : PARSE_MALFORMED;
}

static void set_constant(Timeline *timeline, Series series, float v) {
        for (size_t i = 0; i < timeline->n; i++)
                if (timeline->points[i].observed_ns > 0)
                        timeline->points[i].series[series] = (TimelineValue){ v, v, v };
}

/* Returns the only detail with digits, or N_DETAILS. */
static Detail detail_of(const SeriesText *text) {
        Detail detail = 0;

        while (detail < N_DETAILS && !text->codes[detail])
                detail++;
        return detail;
}

static int read_series(const SeriesText *text, Series series, Timeline *timeline) {
        Coding coding = { .detail = detail_of(text) };
        DigitReader reader;

        if (text->lo < 0 || text->lo > VALUE_MAX)
                return PARSE_MALFORMED;
        if (coding.detail == N_DETAILS) {
                set_constant(timeline, series, (float)text->lo);
                return 0;
        }

        if (text->levels < 2 || text->levels > LEVELS_MAX || text->hi < text->lo || text->hi > VALUE_MAX)
                return PARSE_MALFORMED;

        scale_init(&coding.scale, !series_is_ratio(series), text->lo, text->hi, text->levels);
        if (coding.detail == DETAIL_ABOUT)
                scale_fill_about(&coding.scale);
        reader = (DigitReader){ text->codes[coding.detail], strchr(text->codes[coding.detail], '\0') };
        return get_codes(&reader, &coding, series, timeline);
}

/* Reads the observed shares first: the series have digits for observed points only. */
static int read_timeline(const TimelineText *text, Timeline *timeline) {
        int r;

        r = read_begin(text, timeline);
        if (r == 0 && text->observed)
                r = read_observed(text->observed, timeline);
        for (Series series = 0; r == 0 && series < N_SERIES; series++)
                if (text->all.has[series])
                        r = read_series(&text->all.series[series], series, timeline);
        return r;
}

int timeline_parse(const char *text, Timeline *ret) {
        scoped(timeline_text_deinit) TimelineText parsed = {};
        scoped(timeline_deinit) Timeline timeline = {};
        int r;

        if (!json_text_find(json_text(text, strlen(text)), SERIES_KEY).text)
                return point_text_parse(text, ret);

        r = record_parse(&timeline_record, text, &parsed);
        if (r == 0)
                r = read_timeline(&parsed, &timeline);
        if (r != 0)
                return r;

        *ret = timeline;
        timeline = (Timeline){};
        return 0;
}
