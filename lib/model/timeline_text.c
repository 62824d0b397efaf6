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
 * A plot needs no more digits than it has pixels, and a finished job's row has no room for more:
 * values become steps between the lowest and the highest of their series (of their logarithm,
 * for rates), and steps become printable characters. Neighbours are alike, so a mean is
 * the step from the mean before, and small numbers take one character, larger ones two. Min and max
 * are distances from the mean: left out where there are none (`mean`), exact (`range`), or with
 * min in one character, within 4 % of its distance (`about`). Of what gets too long in all, the longest
 * series is told more coarsely, until it fits.
 *
 * Characters: 90 digits, then '}' for a value that is unknown, and '~' with a digit for so many points
 * more which are all like the mean before.
 */

#include "model/timeline.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/words.h"
#include "util/parse.h"

#define TEXT_MAGIC "timeline"
#define TEXT_END "end"

/* Printable ASCII without '"', '\\' (for JSON and shells), and the two that are not digits. */
static const char digits[] = "!#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|";
#define BASE 90U
#define UNKNOWN '}'
#define RUN '~'
_Static_assert(sizeof(digits) - 1 == BASE, "one character for each digit");

/* From fine to coarse: how many different values a series may have, and whether min is exact. */
static const struct {
        unsigned levels;
        bool is_about;
} precisions[] = { { 4000, false }, { 1000, false }, { 1000, true }, { 500, true }, { 300, true } };
#define LEVELS_MAX 4000U
#define POINTS_MAX 10000U
#define VALUE_MAX 1e30 /* a float holds it */

/* 2.5 KiB for 120 points. Pure noise takes 3.5, however coarsely told. */
#define TEXT_TARGET(n) (240 + 19 * (n))

/* --- numbers as characters ------------------------------------------------------------------ */

/* How many of the digits stand for themselves when n numbers must be told apart in two characters at most. */
static unsigned n_single(unsigned n) {
        return n <= BASE ? BASE : (BASE * BASE - n) / (BASE - 1);
}

static void put_number(Buffer *out, unsigned v, unsigned n) {
        unsigned single = n_single(n);

        if (v >= single) {
                buffer_putc(out, digits[single + (v - single) / BASE]);
                v = (v - single) % BASE;
        }
        buffer_putc(out, digits[v]);
}

/* Small numbers of either sign: 0, -1, 1, -2, … */
static void put_signed(Buffer *out, int v, unsigned n) {
        put_number(out, v < 0 ? (unsigned)(-v) * 2 - 1 : (unsigned)v * 2, 2 * n - 1);
}

/* What is left to read. */
typedef struct Cursor {
        const char *p, *end;
} Cursor;

static int get_digit(Cursor *cursor, unsigned *ret) {
        const char *at = cursor->p < cursor->end && *cursor->p ? strchr(digits, *cursor->p) : NULL;

        if (!at)
                return PARSE_MALFORMED;

        cursor->p++;
        *ret = (unsigned)(at - digits);
        return 0;
}

static int get_number(Cursor *cursor, unsigned n, unsigned *ret) {
        unsigned single = n_single(n), v, low;

        if (get_digit(cursor, &v) != 0)
                return PARSE_MALFORMED;
        if (v >= single) {
                if (get_digit(cursor, &low) != 0)
                        return PARSE_MALFORMED;
                v = single + (v - single) * BASE + low;
        }
        if (v >= n)
                return PARSE_MALFORMED;

        *ret = v;
        return 0;
}

static int get_signed(Cursor *cursor, unsigned n, int *ret) {
        unsigned v;

        if (get_number(cursor, 2 * n - 1, &v) != 0)
                return PARSE_MALFORMED;

        *ret = v % 2 ? -(int)(v / 2) - 1 : (int)(v / 2);
        return 0;
}

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

typedef struct Scale {
        bool is_logarithmic;
        double lo, hi; /* as printed */
        unsigned levels;
        Detail detail;
        unsigned about[BASE]; /* what each digit stands for, with DETAIL_ABOUT */
} Scale;

typedef struct Steps {
        int mean, min, max;
} Steps;

/* log1p: a rate of 0 is frequent, and 1 byte/s is as good as 0. */
static double bend(const Scale *scale, double v) {
        return scale->is_logarithmic ? log1p(v) : v;
}

static int step_of(const Scale *scale, double v) {
        double lo = bend(scale, scale->lo), hi = bend(scale, scale->hi), at;

        if (!(hi > lo))
                return 0;

        /* The ends were rounded when they were printed, so a value can be a little outside. */
        at = (bend(scale, v) - lo) / (hi - lo) * (scale->levels - 1);
        return (int)lrint(fmin(fmax(at, 0), scale->levels - 1));
}

static float value_of(const Scale *scale, int step) {
        double lo = bend(scale, scale->lo), hi = bend(scale, scale->hi), v;

        if (step == 0)
                return (float)scale->lo;

        v = lo + (hi - lo) * step / (scale->levels - 1);
        return (float)(scale->is_logarithmic ? expm1(v) : v);
}

/* Distances for one digit each: 0, 1, 2, … and, once that is more, equal factors up to the largest there is. */
static void scale_fill_about(Scale *scale) {
        for (unsigned i = 0; i < BASE; i++) {
                unsigned power = (unsigned)lrint(pow(scale->levels - 1, (double)i / (BASE - 1)));

                scale->about[i] = i > 0 && power > i ? power : i;
        }
}

static unsigned nearest_about(const Scale *scale, unsigned distance) {
        unsigned nearest = 0;

        while (nearest + 1 < BASE && 2 * distance > scale->about[nearest] + scale->about[nearest + 1])
                nearest++;
        return nearest;
}

static double with_six_digits(double v) {
        char text[32];

        (void)snprintf(text, sizeof(text), "%.6g", v);
        return strtod(text, NULL);
}

static bool is_logarithmic(Series series) {
        return strcmp(series_unit(series), "ratio") != 0;
}

static Scale scale_of(const Timeline *timeline, Series series, unsigned levels) {
        Scale scale = { .is_logarithmic = is_logarithmic(series), .levels = levels };
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
                .mean = step_of(scale, value->mean),
                .min = step_of(scale, value->min),
                .max = step_of(scale, value->max),
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
                buffer_putc(out, RUN);
                buffer_putc(out, digits[*n - 1]);
        }
        *n = 0;
}

static void put_point(const Scale *scale, const Steps *steps, int before, Buffer *out) {
        unsigned below = (unsigned)(steps->mean - steps->min), above = (unsigned)(steps->max - steps->mean);

        put_signed(out, steps->mean - before, scale->levels);
        if (scale->detail == DETAIL_MEAN)
                return;

        if (scale->detail == DETAIL_ABOUT)
                buffer_putc(out, digits[nearest_about(scale, below)]);
        else
                put_number(out, below, scale->levels);
        put_number(out, above, scale->levels);
}

static void put_codes(const Timeline *timeline, Series series, const Scale *scale, Buffer *out) {
        unsigned n_run = 0;
        int before = 0;

        for (size_t i = 0; i < timeline->n; i++) {
                const TimelineValue *v = &timeline->points[i].series[series];
                Steps steps;

                if (timeline->points[i].observed_ns == 0)
                        continue;
                if (isnan(v->mean)) {
                        put_run(out, &n_run);
                        buffer_putc(out, UNKNOWN);
                        continue;
                }

                steps = steps_of(scale, v);
                if (steps.mean == before && is_flat(&steps)) {
                        if (++n_run == BASE)
                                put_run(out, &n_run);
                        continue;
                }

                put_run(out, &n_run);
                put_point(scale, &steps, before, out);
                before = steps.mean;
        }

        put_run(out, &n_run);
}

static void put_series(const Timeline *timeline, Series series, size_t precision, Buffer *out) {
        Scale scale = scale_of(timeline, series, precisions[precision].levels);

        if (!has_only_means(timeline, series, &scale))
                scale.detail = precisions[precision].is_about ? DETAIL_ABOUT : DETAIL_RANGE;
        if (scale.detail == DETAIL_ABOUT)
                scale_fill_about(&scale);

        buffer_puts(out, series_name(series));
        words_put_double(out, "lo", scale.lo);
        if (is_constant(timeline, series, &scale)) {
                buffer_putc(out, '\n');
                return;
        }

        words_put_double(out, "hi", scale.hi);
        words_put_u64(out, "levels", scale.levels);
        buffer_putc(out, ' ');
        buffer_puts(out, details[scale.detail]);
        buffer_putc(out, '=');
        put_codes(timeline, series, &scale, out);
        buffer_putc(out, '\n');
}

/* How much of a point was observed, in BASE - 1 steps; what was observed at all is at least one. */
static unsigned share_of(const Timeline *timeline, size_t at) {
        uint64_t observed_ns = timeline->points[at].observed_ns;
        double share = fmin((double)observed_ns / (double)timeline->interval_ns, 1);
        unsigned step = (unsigned)lrint(share * (BASE - 1));

        return observed_ns > 0 && step == 0 ? 1 : step;
}

static void put_observed(const Timeline *timeline, Buffer *out) {
        unsigned before = BASE - 1, n_run = 0;
        bool has_all = true;

        for (size_t i = 0; i < timeline->n; i++)
                has_all &= timeline->points[i].observed_ns >= timeline->interval_ns;
        if (has_all)
                return;

        buffer_puts(out, "observed shares=");
        for (size_t i = 0; i < timeline->n; i++) {
                unsigned share = share_of(timeline, i);

                if (share == before) {
                        if (++n_run == BASE)
                                put_run(out, &n_run);
                        continue;
                }
                put_run(out, &n_run);
                buffer_putc(out, digits[share]);
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

int timeline_format(const Timeline *timeline, char **ret) {
        scoped(buffer_deinit) Buffer text = {};
        CodedSeries coded[N_SERIES] = {};
        char *taken;

        buffer_puts(&text, TEXT_MAGIC);
        words_put_u64(&text, "boottime_ns", timeline->begin_boottime_ns);
        words_put_u64(&text, "realtime_ns", timeline->begin_realtime_ns);
        words_put_u64(&text, "interval_ns", timeline->interval_ns);
        words_put_u64(&text, "n", timeline->n);
        buffer_putc(&text, '\n');
        put_observed(timeline, &text);
        put_all_series(timeline, coded, &text);
        buffer_puts(&text, TEXT_END "\n");

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

        if (r != 0 || n > POINTS_MAX || timeline->interval_ns == 0 || timeline->interval_ns > INT64_MAX / POINTS_MAX ||
            timeline->begin_boottime_ns > INT64_MAX || timeline->begin_realtime_ns > INT64_MAX)
                return PARSE_MALFORMED;

        timeline->n = n;
        timeline->n_max = n < 2 ? 2 : n + n % 2;
        timeline->n_allocated = timeline->n_max;
        timeline->points = calloc(timeline->n_max, sizeof(*timeline->points));
        if (!timeline->points)
                return -ENOMEM;

        for (size_t i = 0; i < timeline->n_max; i++)
                for (Series series = 0; series < N_SERIES; series++)
                        timeline->points[i].series[series] = (TimelineValue){ NAN, NAN, NAN };
        for (size_t i = 0; i < n; i++)
                timeline->points[i].observed_ns = timeline->interval_ns;
        return 0;
}

/* A run of points like the one before: how many, or 0. */
static int get_run(Cursor *cursor, unsigned *ret) {
        if (cursor->p == cursor->end || *cursor->p != RUN)
                return 0;

        cursor->p++;
        if (get_digit(cursor, ret) != 0)
                return PARSE_MALFORMED;
        (*ret)++;
        return 0;
}

static int parse_observed(const char *text, Timeline *timeline) {
        unsigned share = BASE - 1, n_run = 0;
        Cursor cursor;
        Word word;

        if (!words_next(&text, &word) || !word_is(&word, "shares"))
                return PARSE_MALFORMED;

        cursor = (Cursor){ word.value, word.value + word.n_value };
        for (size_t i = 0; i < timeline->n; i++) {
                if (n_run == 0 && get_run(&cursor, &n_run) != 0)
                        return PARSE_MALFORMED;
                if (n_run > 0)
                        n_run--;
                else if (get_digit(&cursor, &share) != 0)
                        return PARSE_MALFORMED;
                timeline->points[i].observed_ns = (uint64_t)((double)timeline->interval_ns * share / (BASE - 1));
        }

        return n_run == 0 && cursor.p == cursor.end ? 0 : PARSE_MALFORMED;
}

static int get_distances(Cursor *cursor, const Scale *scale, unsigned *ret_below, unsigned *ret_above) {
        unsigned digit;

        *ret_below = *ret_above = 0;
        if (scale->detail == DETAIL_MEAN)
                return 0;

        if (scale->detail == DETAIL_ABOUT) {
                if (get_digit(cursor, &digit) != 0)
                        return PARSE_MALFORMED;
                *ret_below = scale->about[digit];
        } else if (get_number(cursor, scale->levels, ret_below) != 0)
                return PARSE_MALFORMED;

        return get_number(cursor, scale->levels, ret_above);
}

static int get_point(Cursor *cursor, const Scale *scale, Steps *steps) {
        int highest = (int)scale->levels - 1, step;
        unsigned below, above;

        if (get_signed(cursor, scale->levels, &step) != 0 || get_distances(cursor, scale, &below, &above) != 0)
                return PARSE_MALFORMED;

        steps->mean += step;
        if (steps->mean < 0 || steps->mean > highest)
                return PARSE_MALFORMED;

        /* What is about right can be a little below the lowest. */
        steps->min = (int)below < steps->mean ? steps->mean - (int)below : 0;
        steps->max = steps->mean + (int)above;
        return steps->max <= highest ? 0 : PARSE_MALFORMED;
}

static int get_codes(Cursor *cursor, const Scale *scale, Series series, Timeline *timeline) {
        Steps steps = {};
        unsigned n_run = 0;

        for (size_t i = 0; i < timeline->n; i++) {
                TimelineValue *v = &timeline->points[i].series[series];

                if (timeline->points[i].observed_ns == 0)
                        continue;
                if (n_run == 0 && cursor->p < cursor->end && *cursor->p == UNKNOWN) {
                        cursor->p++;
                        continue;
                }

                if (n_run == 0 && get_run(cursor, &n_run) != 0)
                        return PARSE_MALFORMED;
                if (n_run > 0) {
                        n_run--;
                        steps.min = steps.max = steps.mean;
                } else if (get_point(cursor, scale, &steps) != 0)
                        return PARSE_MALFORMED;

                *v = (TimelineValue){
                        .mean = value_of(scale, steps.mean),
                        .min = value_of(scale, steps.min),
                        .max = value_of(scale, steps.max),
                };
        }

        return n_run == 0 && cursor->p == cursor->end ? 0 : PARSE_MALFORMED;
}

static int parse_series_word(const Word *word, Scale *scale, Cursor *cursor) {
        uint64_t levels;

        if (word_is(word, "lo"))
                return word_double(word, &scale->lo);
        if (word_is(word, "hi"))
                return word_double(word, &scale->hi);
        if (word_is(word, "levels")) {
                if (word_u64(word, &levels) != 0 || levels < 2 || levels > LEVELS_MAX)
                        return PARSE_MALFORMED;
                scale->levels = (unsigned)levels;
                return 0;
        }

        for (size_t i = 0; i < N_ELEMENTS(details); i++) {
                if (!word_is(word, details[i]))
                        continue;
                scale->detail = (Detail)i;
                *cursor = (Cursor){ word->value, word->value + word->n_value };
        }

        return 0;
}

static void set_constant(Timeline *timeline, Series series, float v) {
        for (size_t i = 0; i < timeline->n; i++)
                if (timeline->points[i].observed_ns > 0)
                        timeline->points[i].series[series] = (TimelineValue){ v, v, v };
}

static int parse_series(const char *text, Series series, Timeline *timeline) {
        Scale scale = { .is_logarithmic = is_logarithmic(series) };
        Cursor cursor = {};
        Word word;

        while (words_next(&text, &word))
                if (parse_series_word(&word, &scale, &cursor) != 0)
                        return PARSE_MALFORMED;

        if (scale.lo < 0 || scale.lo > VALUE_MAX)
                return PARSE_MALFORMED;
        if (!cursor.p) {
                set_constant(timeline, series, (float)scale.lo);
                return 0;
        }

        if (scale.levels == 0 || scale.hi < scale.lo || scale.hi > VALUE_MAX)
                return PARSE_MALFORMED;

        if (scale.detail == DETAIL_ABOUT)
                scale_fill_about(&scale);
        return get_codes(&cursor, &scale, series, timeline);
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

        if (!words_next(&text, &kind) || !word_is(&kind, TEXT_MAGIC))
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
