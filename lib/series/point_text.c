/* SPDX-License-Identifier: Apache-2.0 */
#include "series/point_text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "json/record.h"
#include "series/digits.h"
#include "util/parse.h"

/* Range of values with logarithmic steps; smaller values are 0, which is step 0. */
#define VALUE_MIN 1e-9
#define VALUE_MAX 1e30
#define N_DIGITS 4U
#define STEP_MAX (DIGITS_BASE * DIGITS_BASE * DIGITS_BASE * DIGITS_BASE - 1)

typedef struct PointText {
        uint64_t boottime_ns, realtime_ns, interval_ns;
        uint64_t unobserved_ns; /* part of the interval */
        char series[N_SERIES][3 * N_DIGITS + 1]; /* digits of the mean, or of mean, min and max; "" if the series is
                                                  * unknown */
} PointText;

static const RecordField fields[] = {
        RECORD_VALUE_AS("boot_ns", PointText, boottime_ns),
        RECORD_VALUE_AS("real_ns", PointText, realtime_ns),
        RECORD_VALUE_AS("step_ns", PointText, interval_ns),
        RECORD_VALUE(PointText, unobserved_ns),
#define X(id, name, unit, key) RECORD_TEXT_AS(key, PointText, series[SERIES_##id]),
        SERIES(X)
#undef X
};

static const Record point_record = RECORD(PointText, fields);

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

static void put_series(Buffer *out, const TimelineValue *v) {
        if (isnan(v->mean))
                return;

        put_value(out, v->mean);
        if (v->min == v->mean && v->max == v->mean)
                return;

        put_value(out, v->min);
        put_value(out, v->max);
}

int point_text_format(const Timeline *timeline, char **ret) {
        const TimelinePoint *point = &timeline->points[0];
        scoped(buffer_deinit) Buffer codes = {};
        PointText text = {
                .boottime_ns = timeline->begin_boottime_ns,
                .realtime_ns = timeline->begin_realtime_ns,
                .interval_ns = timeline->interval_ns,
                .unobserved_ns = point->observed_ns < timeline->interval_ns ? timeline->interval_ns - point->observed_ns : 0,
        };

        assert(timeline->n == 1);
        for (Series series = 0; series < N_SERIES && point->observed_ns > 0; series++) {
                buffer_clear(&codes);
                put_series(&codes, &point->series[series]);
                if (buffer_error(&codes) < 0)
                        return -ENOMEM;
                assert(codes.n < sizeof(text.series[series]));
                memcpy(text.series[series], codes.n > 0 ? codes.text : "", codes.n + 1);
        }
        return record_format(&point_record, &text, ret);
}

static int parse_series(const char *codes, TimelineValue *ret) {
        DigitReader reader = { .p = codes, .end = codes + strlen(codes) };
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

static bool is_possible(const PointText *text) {
        return text->boottime_ns <= INT64_MAX && text->realtime_ns <= INT64_MAX && text->interval_ns > 0 &&
               text->interval_ns <= INT64_MAX / TIMELINE_POINTS_MAX && text->unobserved_ns <= text->interval_ns;
}

int point_text_parse(const char *text, Timeline *ret) {
        TimelinePoint point = timeline_hole;
        Timeline timeline = {};
        PointText parsed;
        int r;

        r = record_parse(&point_record, text, &parsed);
        if (r != 0)
                return r;
        if (!is_possible(&parsed))
                return PARSE_MALFORMED;

        point.observed_ns = parsed.interval_ns - parsed.unobserved_ns;
        for (Series series = 0; series < N_SERIES; series++)
                if (parsed.series[series][0] && (point.observed_ns == 0 || parse_series(parsed.series[series], &point.series[series]) != 0))
                        return PARSE_MALFORMED;

        r = timeline_reserve(&timeline, 1);
        if (r < 0)
                return r;

        timeline.begin_boottime_ns = parsed.boottime_ns;
        timeline.begin_realtime_ns = parsed.realtime_ns;
        timeline.interval_ns = parsed.interval_ns;
        timeline.points[0] = point;
        *ret = timeline;
        return 0;
}
