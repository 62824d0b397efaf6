/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline as text
 *
 *   timeline boottime_ns=… realtime_ns=… interval_ns=… n=120
 *   observed shares=…               left out where every point was observed in full
 *   cpu lo=0.01 hi=0.98 levels=1000 about=…
 *   memory lo=0.3 hi=0.31 levels=4000 range=…
 *   disk_read hi=2.1e+08 levels=4000 mean=…
 *   disk_write lo=4096              the same everywhere
 *   net_sent                        0 everywhere
 *   end
 *
 * A single point has a line of its own kind, see point_text.h.
 *
 * A plot needs no more digits than it has pixels, and a finished job's row has no room for more:
 * values become steps between the lowest and the highest of their series (of their logarithm,
 * for rates), and steps become printable characters. Neighbours are alike, so a mean is
 * the step from the mean before, and small numbers take one character, larger ones two. Min and max
 * are distances from the mean: left out where there are none (`mean`), exact (`range`), or with
 * min in one character, within 4 % of its distance (`about`). Of what gets too long in all, the longest
 * series is told more coarsely, until it fits.
 *
 * Characters: the digits of digits.h, '}' for a value that is unknown, and '~' with a digit for so many
 * points more (and one) which are all like the mean before.
 */

#include "series/timeline.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "measure/words.h"
#include "series/digits.h"
#include "series/point_text.h"
#include "series/scale.h"
#include "util/parse.h"

#define TEXT_MAGIC "timeline"
#define TEXT_END "end"

/* From fine to coarse: how many different values a series may have, and whether min is exact. */
static const struct {
        unsigned levels;
        bool is_about;
} precisions[] = { { 4000, false }, { 1000, false }, { 1000, true }, { 500, true }, { 300, true } };
#define LEVELS_MAX 4000U
#define VALUE_MAX 1e30 /* a float holds it */

/* 2.5 KiB for 120 points. Pure noise takes 3.5, however coarsely told. */
#define TEXT_TARGET(n) (240 + 19 * (n))

/* --- values as steps ------------------------------------------------------------------------ */

typedef enum Detail {
        DETAIL_MEAN,
        DETAIL_ABOUT,
        DETAIL_RANGE,
} Detail;

static const char *const details[] = {
        [DETAIL_MEAN] = "mean",
        [DETAIL_ABOUT] = "about",
        [DETAIL_RANGE] = "range",
};

/* How one series is told. */
typedef struct Coding {
        Scale scale;
        Detail detail;
} Coding;

typedef struct Steps {
        int mean, min, max;
} Steps;

static double with_six_digits(double v) {
        char text[32];

        (void)snprintf(text, sizeof(text), "%.6g", v);
        return strtod(text, NULL);
}

static Scale scale_of(const Timeline *timeline, Series series, unsigned levels) {
        Scale scale = { .is_logarithmic = !series_is_ratio(series), .levels = levels };
        bool has = false;

        for (size_t i = 0; i < timeline->n; i++) {
                const TimelineValue *v = &timeline->points[i].series[series];

                if (timeline->points[i].observed_ns == 0 || isnan(v->mean))
                        continue;
                scale.lo = has ? fmin(scale.lo, v->min) : v->min;
                scale.hi = has ? fmax(scale.hi, v->max) : v->max;
                has = true;
        }

        scale.lo = with_six_digits(fmax(scale.lo, 0));
        scale.hi = with_six_digits(fmax(scale.hi, scale.lo));
        return scale;
}

static Steps steps_of(const Scale *scale, const TimelineValue *value) {
        return (Steps){
                .mean = scale_step(scale, value->mean),
                .min = scale_step(scale, value->min),
                .max = scale_step(scale, value->max),
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

/* The same value everywhere, and no point unknown. */
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

static void put_series(const Timeline *timeline, Series series, size_t precision, Buffer *out) {
        Coding coding = { .scale = scale_of(timeline, series, precisions[precision].levels) };

        buffer_puts(out, series_name(series));
        words_put_double(out, "lo", coding.scale.lo);
        if (is_constant(timeline, series, &coding.scale)) {
                buffer_putc(out, '\n');
                return;
        }

        if (!has_only_means(timeline, series, &coding.scale))
                coding.detail = precisions[precision].is_about ? DETAIL_ABOUT : DETAIL_RANGE;
        if (coding.detail == DETAIL_ABOUT)
                scale_fill_about(&coding.scale);

        words_put_double(out, "hi", coding.scale.hi);
        words_put_u64(out, "levels", coding.scale.levels);
        buffer_putc(out, ' ');
        buffer_puts(out, details[coding.detail]);
        buffer_putc(out, '=');
        put_codes(timeline, series, &coding, out);
        buffer_putc(out, '\n');
}

/* How much of a point was observed, in DIGITS_BASE - 1 steps; what was observed at all is at least one. */
static unsigned share_of(const Timeline *timeline, size_t at) {
        uint64_t observed_ns = timeline->points[at].observed_ns;
        double share = fmin((double)observed_ns / (double)timeline->interval_ns, 1);
        unsigned step = (unsigned)lrint(share * (DIGITS_BASE - 1));

        return observed_ns > 0 && step == 0 ? 1 : step;
}

static void put_observed(const Timeline *timeline, Buffer *out) {
        unsigned before = DIGITS_BASE - 1, n_run = 0;
        bool has_all = true;

        for (size_t i = 0; i < timeline->n; i++)
                has_all &= timeline->points[i].observed_ns >= timeline->interval_ns;
        if (has_all)
                return;

        buffer_puts(out, "observed shares=");
        for (size_t i = 0; i < timeline->n; i++) {
                unsigned share = share_of(timeline, i);

                if (share == before) {
                        if (++n_run == DIGITS_BASE)
                                put_run(out, &n_run);
                        continue;
                }
                put_run(out, &n_run);
                digit_put(out, share);
                before = share;
        }
        put_run(out, &n_run);
        buffer_putc(out, '\n');
}

typedef struct CodedSeries {
        size_t precision;
        Buffer text;
} CodedSeries;

/* The longest one that can still be told more coarsely; NULL when there is none. */
static CodedSeries *find_longest(CodedSeries coded[static N_SERIES]) {
        CodedSeries *longest = NULL;

        for (Series series = 0; series < N_SERIES; series++)
                if (coded[series].precision + 1 < N_ELEMENTS(precisions) &&
                    (!longest || coded[series].text.n > longest->text.n))
                        longest = &coded[series];
        return longest;
}

static void put_all_series(const Timeline *timeline, CodedSeries coded[static N_SERIES], Buffer *out) {
        size_t n = 0;

        for (Series series = 0; series < N_SERIES; series++) {
                put_series(timeline, series, 0, &coded[series].text);
                n += coded[series].text.n;
        }

        while (out->n + n > TEXT_TARGET(timeline->n)) {
                CodedSeries *longest = find_longest(coded);

                if (!longest)
                        break;
                n -= longest->text.n;
                buffer_clear(&longest->text);
                put_series(timeline, (Series)(longest - coded), ++longest->precision, &longest->text);
                n += longest->text.n;
        }

        for (Series series = 0; series < N_SERIES; series++) {
                out->failed |= buffer_error(&coded[series].text) < 0;
                if (!out->failed)
                        buffer_put(out, coded[series].text.text, coded[series].text.n);
                buffer_deinit(&coded[series].text);
        }
}

static void put_timeline(const Timeline *timeline, Buffer *out) {
        CodedSeries coded[N_SERIES] = {};

        buffer_puts(out, TEXT_MAGIC);
        words_put_u64(out, "boottime_ns", timeline->begin_boottime_ns);
        words_put_u64(out, "realtime_ns", timeline->begin_realtime_ns);
        words_put_u64(out, "interval_ns", timeline->interval_ns);
        words_put_u64(out, "n", timeline->n);
        buffer_putc(out, '\n');
        put_observed(timeline, out);
        put_all_series(timeline, coded, out);
        buffer_puts(out, TEXT_END "\n");
}

int timeline_format(const Timeline *timeline, char **ret) {
        scoped(buffer_deinit) Buffer text = {};
        char *taken;

        if (timeline->n == 1)
                point_text_put(timeline, &text);
        else
                put_timeline(timeline, &text);

        taken = buffer_take(&text);
        if (!taken)
                return -ENOMEM;

        *ret = taken;
        return 0;
}

/* --- reading -------------------------------------------------------------------------------- */

static int parse_begin(const char *text, Timeline *timeline) {
        uint64_t n = 0;
        Word word;
        int r = 0;

        while (r == 0 && words_next(&text, &word)) {
                if (word_is(&word, "boottime_ns"))
                        r = word_u64(&word, &timeline->begin_boottime_ns);
                else if (word_is(&word, "realtime_ns"))
                        r = word_u64(&word, &timeline->begin_realtime_ns);
                else if (word_is(&word, "interval_ns"))
                        r = word_u64(&word, &timeline->interval_ns);
                else if (word_is(&word, "n"))
                        r = word_u64(&word, &n);
        }

        if (r != 0 || n > TIMELINE_POINTS_MAX || timeline->interval_ns == 0 || timeline->interval_ns > INT64_MAX / TIMELINE_POINTS_MAX ||
            timeline->begin_boottime_ns > INT64_MAX || timeline->begin_realtime_ns > INT64_MAX)
                return PARSE_MALFORMED;

        r = timeline_reserve(timeline, n);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n; i++)
                timeline->points[i].observed_ns = timeline->interval_ns;
        return 0;
}

/* A run of points like the one before: how many, or 0. */
static int get_run(DigitReader *reader, unsigned *ret) {
        if (!digit_take(reader, DIGIT_RUN))
                return 0;
        if (digit_get(reader, ret) != 0)
                return PARSE_MALFORMED;
        (*ret)++;
        return 0;
}

static int parse_observed(const char *text, Timeline *timeline) {
        unsigned share = DIGITS_BASE - 1, n_run = 0;
        DigitReader reader;
        Word word;

        if (!words_next(&text, &word) || !word_is(&word, "shares"))
                return PARSE_MALFORMED;

        reader = (DigitReader){ word.value, word.value + word.n_value };
        for (size_t i = 0; i < timeline->n; i++) {
                if (n_run == 0 && get_run(&reader, &n_run) != 0)
                        return PARSE_MALFORMED;
                if (n_run > 0)
                        n_run--;
                else if (digit_get(&reader, &share) != 0)
                        return PARSE_MALFORMED;
                /* Rounded up: what was observed at all is no hole. */
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

        /* What is about right can be a little below the lowest. */
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

static int parse_series_word(const Word *word, Coding *coding, DigitReader *reader) {
        uint64_t levels;

        if (word_is(word, "lo"))
                return word_double(word, &coding->scale.lo);
        if (word_is(word, "hi"))
                return word_double(word, &coding->scale.hi);
        if (word_is(word, "levels")) {
                if (word_u64(word, &levels) != 0 || levels < 2 || levels > LEVELS_MAX)
                        return PARSE_MALFORMED;
                coding->scale.levels = (unsigned)levels;
                return 0;
        }

        for (size_t i = 0; i < N_ELEMENTS(details); i++) {
                if (!word_is(word, details[i]))
                        continue;
                coding->detail = (Detail)i;
                *reader = (DigitReader){ word->value, word->value + word->n_value };
        }

        return 0;
}

static void set_constant(Timeline *timeline, Series series, float v) {
        for (size_t i = 0; i < timeline->n; i++)
                if (timeline->points[i].observed_ns > 0)
                        timeline->points[i].series[series] = (TimelineValue){ v, v, v };
}

static int parse_series(const char *text, Series series, Timeline *timeline) {
        Coding coding = { .scale = { .is_logarithmic = !series_is_ratio(series) } };
        Scale *scale = &coding.scale;
        DigitReader reader = {};
        Word word;

        while (words_next(&text, &word))
                if (parse_series_word(&word, &coding, &reader) != 0)
                        return PARSE_MALFORMED;

        if (scale->lo < 0 || scale->lo > VALUE_MAX)
                return PARSE_MALFORMED;
        if (!reader.p) {
                set_constant(timeline, series, (float)scale->lo);
                return 0;
        }

        if (scale->levels == 0 || scale->hi < scale->lo || scale->hi > VALUE_MAX)
                return PARSE_MALFORMED;

        if (coding.detail == DETAIL_ABOUT)
                scale_fill_about(scale);
        return get_codes(&reader, &coding, series, timeline);
}

/* Which series a line is of, or N_SERIES. */
static Series find_series(const Word *kind) {
        Series series = 0;

        while (series < N_SERIES && !word_is(kind, series_name(series)))
                series++;
        return series;
}

static int parse_line(const Word *kind, const char *text, unsigned *seen, Timeline *timeline) {
        Series series = find_series(kind);

        /* The series are told for the points observed, so these come first, and nothing twice. */
        if (word_is(kind, "observed"))
                return *seen == 0 ? parse_observed(text, timeline) : PARSE_MALFORMED;
        if (series == N_SERIES)
                return 0;
        if (*seen & (1U << series))
                return PARSE_MALFORMED;

        *seen |= 1U << series;
        return parse_series(text, series, timeline);
}

int timeline_parse(const char *text, Timeline *ret) {
        scoped(timeline_deinit) Timeline timeline = {};
        unsigned seen = 0;
        Word kind;
        int r;

        if (!words_next(&text, &kind))
                return PARSE_MALFORMED;
        if (word_is(&kind, POINT_TEXT_MAGIC))
                return point_text_parse(text, ret);
        if (!word_is(&kind, TEXT_MAGIC))
                return PARSE_MALFORMED;

        r = parse_begin(text, &timeline);
        while (r == 0 && words_next_line(&text, &kind)) {
                if (word_is(&kind, TEXT_END)) {
                        *ret = timeline;
                        timeline = (Timeline){};
                        return 0;
                }

                r = parse_line(&kind, text, &seen, &timeline);
        }

        return r < 0 ? r : PARSE_MALFORMED;
}
