/*
 * The timeline as text
 *
 *   timeline boottime_ns=… realtime_ns=… interval_ns=… n=120
 *   observed shares=…               left out where every point was observed in full
 *   cpu levels=1000 lo=0.01 hi=0.98 range=…
 *   memory levels=4000 lo=0.3 hi=0.31 mean=…
 *   end
 *
 * A plot needs no more digits than it has pixels, and a finished job's row has no room for more:
 * values become steps between the lowest and the highest of their series (of their logarithm,
 * for rates), and steps become printable characters. Neighbours are alike, so a mean is
 * the step from the mean before, min and max are the steps from it, and small numbers take one
 * character, larger ones two. `mean`: min and max are the same everywhere, and left out. Of what
 * gets too long in all, the longest series is told in coarser steps until it fits.
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

/* From fine to coarse: how many different values a series may have. */
static const unsigned levels_steps[] = { 4000, 2000, 1000, 500, 250, 120, 60 };
#define LEVELS_MAX 4000U
#define POINTS_MAX 10000U

/* 2.5 KiB for 120 points. */
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

typedef struct Scale {
        bool is_logarithmic;
        double lo, hi; /* as printed */
        unsigned levels;
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

static bool is_mean_only(const Timeline *timeline, Series series, const Scale *scale) {
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

static void put_run(Buffer *out, unsigned *n) {
        if (*n > 0) {
                buffer_putc(out, RUN);
                buffer_putc(out, digits[*n - 1]);
        }
        *n = 0;
}

static void put_point(const Scale *scale, const Steps *steps, int before, bool mean_only, Buffer *out) {
        put_signed(out, steps->mean - before, scale->levels);
        if (mean_only)
                return;
        put_number(out, (unsigned)(steps->mean - steps->min), scale->levels);
        put_number(out, (unsigned)(steps->max - steps->mean), scale->levels);
}

static void put_codes(const Timeline *timeline, Series series, const Scale *scale, bool mean_only, Buffer *out) {
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
                put_point(scale, &steps, before, mean_only, out);
                before = steps.mean;
        }

        put_run(out, &n_run);
}

static void put_series(const Timeline *timeline, Series series, unsigned levels, Buffer *out) {
        Scale scale = scale_of(timeline, series, levels);
        bool mean_only = is_mean_only(timeline, series, &scale);

        buffer_puts(out, series_name(series));
        words_put_u64(out, "levels", levels);
        words_put_double(out, "lo", scale.lo);
        words_put_double(out, "hi", scale.hi);
        buffer_puts(out, mean_only ? " mean=" : " range=");
        put_codes(timeline, series, &scale, mean_only, out);
        buffer_putc(out, '\n');
}

/* How much of each point was observed, in BASE - 1 steps; what was observed at all is at least one. */
static void put_observed(const Timeline *timeline, Buffer *out) {
        bool has_all = true;

        for (size_t i = 0; i < timeline->n; i++)
                has_all &= timeline->points[i].observed_ns >= timeline->interval_ns;
        if (has_all)
                return;

        buffer_puts(out, "observed shares=");
        for (size_t i = 0; i < timeline->n; i++) {
                uint64_t observed_ns = timeline->points[i].observed_ns;
                double share = fmin((double)observed_ns / (double)timeline->interval_ns, 1);
                unsigned step = (unsigned)lrint(share * (BASE - 1));

                buffer_putc(out, digits[observed_ns > 0 && step == 0 ? 1 : step]);
        }
        buffer_putc(out, '\n');
}

typedef struct CodedSeries {
        size_t level;
        Buffer text;
} CodedSeries;

/* The longest one that can still be told in coarser steps; NULL when there is none. */
static CodedSeries *find_longest(CodedSeries coded[static N_SERIES]) {
        CodedSeries *longest = NULL;

        for (Series series = 0; series < N_SERIES; series++)
                if (coded[series].level + 1 < N_ELEMENTS(levels_steps) &&
                    (!longest || coded[series].text.n > longest->text.n))
                        longest = &coded[series];
        return longest;
}

static void put_all_series(const Timeline *timeline, CodedSeries coded[static N_SERIES], Buffer *out) {
        size_t n = 0;

        for (Series series = 0; series < N_SERIES; series++) {
                put_series(timeline, series, levels_steps[0], &coded[series].text);
                n += coded[series].text.n;
        }

        while (out->n + n > TEXT_TARGET(timeline->n)) {
                CodedSeries *longest = find_longest(coded);

                if (!longest)
                        break;
                n -= longest->text.n;
                buffer_clear(&longest->text);
                put_series(timeline, (Series)(longest - coded), levels_steps[++longest->level], &longest->text);
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

static int parse_observed(const char *text, Timeline *timeline) {
        Cursor cursor;
        Word word;

        if (!words_next(&text, &word) || !word_is(&word, "shares"))
                return PARSE_MALFORMED;

        cursor = (Cursor){ word.value, word.value + word.n_value };
        for (size_t i = 0; i < timeline->n; i++) {
                unsigned step;

                if (get_digit(&cursor, &step) != 0)
                        return PARSE_MALFORMED;
                timeline->points[i].observed_ns =
                        (uint64_t)((double)timeline->interval_ns * step / (BASE - 1));
        }

        return cursor.p == cursor.end ? 0 : PARSE_MALFORMED;
}

static int get_run(Cursor *cursor, unsigned *ret) {
        if (cursor->p == cursor->end || *cursor->p != RUN)
                return 0;

        cursor->p++;
        if (get_digit(cursor, ret) != 0)
                return PARSE_MALFORMED;
        (*ret)++;
        return 0;
}

static int get_point(Cursor *cursor, const Scale *scale, bool mean_only, Steps *steps) {
        unsigned below = 0, above = 0;
        int step;

        if (get_signed(cursor, scale->levels, &step) != 0)
                return PARSE_MALFORMED;
        if (!mean_only && (get_number(cursor, scale->levels, &below) != 0 ||
                           get_number(cursor, scale->levels, &above) != 0))
                return PARSE_MALFORMED;

        steps->mean += step;
        steps->min = steps->mean - (int)below;
        steps->max = steps->mean + (int)above;
        return steps->min >= 0 && steps->max < (int)scale->levels ? 0 : PARSE_MALFORMED;
}

static int get_codes(Cursor *cursor, const Scale *scale, bool mean_only, Series series, Timeline *timeline) {
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
                } else if (get_point(cursor, scale, mean_only, &steps) != 0)
                        return PARSE_MALFORMED;

                v->mean = value_of(scale, steps.mean);
                v->min = value_of(scale, steps.min);
                v->max = value_of(scale, steps.max);
        }

        return n_run == 0 && cursor->p == cursor->end ? 0 : PARSE_MALFORMED;
}

static int parse_series(const char *text, Series series, Timeline *timeline) {
        Scale scale = { .is_logarithmic = is_logarithmic(series) };
        Cursor cursor = {};
        bool mean_only = false;
        uint64_t levels = 0;
        Word word;
        int r = 0;

        while (r == 0 && words_next(&text, &word)) {
                if (word_is(&word, "levels"))
                        r = word_u64(&word, &levels);
                else if (word_is(&word, "lo"))
                        r = word_double(&word, &scale.lo);
                else if (word_is(&word, "hi"))
                        r = word_double(&word, &scale.hi);
                else if (word_is(&word, "mean") || word_is(&word, "range")) {
                        mean_only = word_is(&word, "mean");
                        cursor = (Cursor){ word.value, word.value + word.n_value };
                }
        }

        if (r != 0 || !cursor.p || levels < 2 || levels > LEVELS_MAX || scale.lo < 0 || scale.hi < scale.lo ||
            scale.hi > 1e30)
                return PARSE_MALFORMED;

        scale.levels = (unsigned)levels;
        return get_codes(&cursor, &scale, mean_only, series, timeline);
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
