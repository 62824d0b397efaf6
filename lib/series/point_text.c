/* SPDX-License-Identifier: Apache-2.0 */
#include "series/point_text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "measure/words.h"
#include "series/digits.h"
#include "util/parse.h"

/* The logarithm between the two in steps; below is 0, which is step 0. */
#define VALUE_MIN 1e-9
#define VALUE_MAX 1e30
#define N_DIGITS 4U
#define STEP_MAX (DIGITS_BASE * DIGITS_BASE * DIGITS_BASE * DIGITS_BASE - 1)

static void put_value(Buffer *out, double v) {
        double share = log(fmin(fmax(v, VALUE_MIN), VALUE_MAX) / VALUE_MIN) / log(VALUE_MAX / VALUE_MIN);
        unsigned step = v < VALUE_MIN ? 0 : 1 + (unsigned)lrint(share * (STEP_MAX - 1));

        for (unsigned unit = (STEP_MAX + 1) / DIGITS_BASE; unit > 0; unit /= DIGITS_BASE)
                digit_put(out, step / unit % DIGITS_BASE);
}

static int get_value(DigitReader *reader, float *ret) {
        unsigned step = 0;

        for (unsigned i = 0; i < N_DIGITS; i++) {
                unsigned digit;

                if (digit_get(reader, &digit) != 0)
                        return PARSE_MALFORMED;
                step = step * DIGITS_BASE + digit;
        }

        *ret = step == 0 ? 0 : (float)(VALUE_MIN * exp((step - 1) / (double)(STEP_MAX - 1) * log(VALUE_MAX / VALUE_MIN)));
        return 0;
}

static void put_series(Buffer *out, Series series, const TimelineValue *v) {
        if (isnan(v->mean))
                return;

        buffer_printf(out, " %s=", series_name(series));
        put_value(out, v->mean);
        if (v->min == v->mean && v->max == v->mean)
                return;

        put_value(out, v->min);
        put_value(out, v->max);
}

void point_text_put(const Timeline *timeline, Buffer *out) {
        const TimelinePoint *point = &timeline->points[0];

        buffer_puts(out, POINT_TEXT_MAGIC);
        words_put_u64(out, "boottime_ns", timeline->begin_boottime_ns);
        words_put_u64(out, "realtime_ns", timeline->begin_realtime_ns);
        words_put_u64(out, "interval_ns", timeline->interval_ns);
        words_put_u64(out, "observed_ns", point->observed_ns < timeline->interval_ns ? point->observed_ns : timeline->interval_ns);
        for (Series series = 0; series < N_SERIES && point->observed_ns > 0; series++)
                put_series(out, series, &point->series[series]);
        buffer_putc(out, '\n');
}

static int parse_value(const Word *word, TimelineValue *ret) {
        DigitReader reader = { .p = word->value, .end = word->value + word->n_value };
        TimelineValue v;

        if (get_value(&reader, &v.mean) != 0)
                return PARSE_MALFORMED;

        v.min = v.max = v.mean;
        if (reader.p < reader.end && (get_value(&reader, &v.min) != 0 || get_value(&reader, &v.max) != 0))
                return PARSE_MALFORMED;
        if (reader.p != reader.end || !(v.min <= v.mean && v.mean <= v.max))
                return PARSE_MALFORMED;

        *ret = v;
        return 0;
}

/* A word that is none of ours is a later version's. */
static int parse_word(const Word *word, Timeline *timeline, TimelinePoint *point) {
        if (word_is(word, "boottime_ns"))
                return word_u64(word, &timeline->begin_boottime_ns);
        if (word_is(word, "realtime_ns"))
                return word_u64(word, &timeline->begin_realtime_ns);
        if (word_is(word, "interval_ns"))
                return word_u64(word, &timeline->interval_ns);
        if (word_is(word, "observed_ns"))
                return word_u64(word, &point->observed_ns);

        for (Series series = 0; series < N_SERIES; series++)
                if (word_is(word, series_name(series)))
                        return parse_value(word, &point->series[series]);
        return 0;
}

static bool is_possible(const Timeline *timeline, const TimelinePoint *point) {
        if (timeline->begin_boottime_ns > INT64_MAX || timeline->begin_realtime_ns > INT64_MAX)
                return false;
        if (timeline->interval_ns == 0 || timeline->interval_ns > INT64_MAX / TIMELINE_POINTS_MAX)
                return false;
        if (point->observed_ns > timeline->interval_ns)
                return false;

        for (Series series = 0; series < N_SERIES; series++)
                if (point->observed_ns == 0 && !isnan(point->series[series].mean))
                        return false;
        return true;
}

int point_text_parse(const char *text, Timeline *ret) {
        TimelinePoint point = timeline_hole;
        Timeline timeline = {};
        Word word;
        int r;

        while (words_next(&text, &word))
                if (parse_word(&word, &timeline, &point) != 0)
                        return PARSE_MALFORMED;
        if (*text != '\n' || !is_possible(&timeline, &point))
                return PARSE_MALFORMED;

        r = timeline_reserve(&timeline, 1);
        if (r < 0)
                return r;

        timeline.points[0] = point;
        *ret = timeline;
        return 0;
}
