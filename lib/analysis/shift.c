/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/shift.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/partition.h"
#include "analysis/shift_test.h"
#include "analysis/student.h"
#include "util/scoped.h"

#define PENALTY 3.0
#define SEGMENT_MIN 5U
#define FIRST_SEGMENT_MIN 2U
#define PRIOR_SD 0.01        /* prior noise of a series */
#define DIFFERENCES_ENOUGH 30U
#define PLACE_BEFORE_MIN 3U  /* values before a change point that was moved */
#define PLACE_DISTANCE 10U   /* maximum distance by which a change point is moved */
#define OUTLIER_P 1e-3
#define OUTLIER_SHARE 0.05
#define OUTLIER_ENOUGH 20U

/* --- the series ----------------------------------------------------------------------------------- */

static void transform(const double *series, size_t n, ShiftSeries *transformed, double *values) {
        double lowest = INFINITY, scale = 0;

        for (size_t i = 0; i < n; i++)
                lowest = fmin(lowest, series[i]);
        transformed->is_logarithmic = lowest > 0;
        for (size_t i = 0; i < n; i++)
                values[i] = transformed->is_logarithmic ? log(series[i]) : fabs(series[i]);
        if (transformed->is_logarithmic)
                return;

        scale = shift_test_median(values, n, transformed->scratch);
        for (size_t i = 0; i < n && scale == 0; i++)
                scale += values[i] / (double)n; /* more than half of the values are 0 */
        for (size_t i = 0; i < n; i++)
                values[i] = scale > 0 ? series[i] / scale : 0;
}

static double find_sd(const ShiftSeries *series) {
        size_t n = series->n - 1;
        double sd, *differences = series->scratch + n;

        for (size_t i = 0; i < n; i++)
                differences[i] = fabs(series->values[i + 1] - series->values[i]);
        sd = 1.4826 * shift_test_median(differences, n, series->scratch) / sqrt(2);
        if (n < DIFFERENCES_ENOUGH)
                sd = sqrt((SHIFT_PRIOR_N * PRIOR_SD * PRIOR_SD + (double)n * sd * sd) / (SHIFT_PRIOR_N + (double)n));
        return fmax(sd, SHIFT_SD_FLOOR);
}

/* Sorted places of change points. */
typedef struct ShiftPlaces {
        size_t *at;
        size_t n;
} ShiftPlaces;

static size_t begin_of(const ShiftPlaces *places, size_t i) {
        return i > 0 ? places->at[i - 1] : 0;
}

static size_t end_of(const ShiftPlaces *places, size_t i, size_t n) {
        return i + 1 < places->n ? places->at[i + 1] : n;
}

static double find_autocorrelation(const ShiftSeries *series, const ShiftPlaces *places) {
        double products = 0, squares = 0, limit = 3 * series->sd, n = (double)series->n, rho;

        for (size_t i = 0; i <= places->n; i++) {
                size_t begin = begin_of(places, i), end = i < places->n ? places->at[i] : series->n;
                double median = shift_test_median(&series->values[begin], end - begin, series->scratch), before = 0;

                for (size_t at = begin; at < end; at++) {
                        double residual = fmin(fmax(series->values[at] - median, -limit), limit);

                        squares += residual * residual;
                        products += residual * before;
                        before = residual;
                }
        }
        if (squares <= 0)
                return 0;
        rho = (products / squares + (double)(places->n + 1) / n) * n / (n + 20);
        return fmin(fmax(rho, 0), 0.8);
}

/* Copies and transforms the series. *room: one allocation for the values and the scratch space. 0 or -ENOMEM. */
static int make_series(const double *series, size_t n, ShiftSeries *ret, double **ret_room) {
        double *room = malloc(4 * (n + 1) * sizeof(*room));

        if (!room)
                return -ENOMEM;
        *ret = (ShiftSeries){ .values = room, .n = n, .scratch = room + n + 1 };
        transform(series, n, ret, room);
        ret->sd = find_sd(ret);
        *ret_room = room;
        return 0;
}

/* --- change points -------------------------------------------------------------------------------- */

static void remove_weak(const ShiftSeries *series, const ShiftSettings *settings, ShiftPlaces *places, double *scores) {
        for (size_t i = 0; i < places->n; i++)
                scores[i] = shift_test(series, settings, begin_of(places, i), places->at[i], end_of(places, i, series->n)).score;

        while (places->n > 0) {
                size_t weakest = 0, n_moved;

                for (size_t i = 1; i < places->n; i++)
                        if (scores[i] < scores[weakest])
                                weakest = i;
                if (scores[weakest] >= 1)
                        return;

                n_moved = --places->n - weakest;
                memmove(&places->at[weakest], &places->at[weakest + 1], n_moved * sizeof(*places->at));
                memmove(&scores[weakest], &scores[weakest + 1], n_moved * sizeof(*scores));
                for (size_t i = weakest > 0 ? weakest - 1 : 0; i <= weakest && i < places->n; i++)
                        scores[i] = shift_test(series, settings, begin_of(places, i), places->at[i], end_of(places, i, series->n)).score;
        }
}

static double cost_of(const ShiftSeries *series, size_t begin, size_t end) {
        MedianCost cost = { .sorted = series->scratch };

        for (size_t i = begin; i < end; i++)
                partition_cost_add(&cost, series->values[i]);
        return cost.cost;
}

/* Moves a change point to the place where the medians of its neighbouring windows fit best. */
static size_t refine(const ShiftSeries *series, const ShiftSettings *settings, size_t begin, size_t at, size_t end) {
        size_t first = at - begin > SHIFT_WINDOW ? at - SHIFT_WINDOW : begin, last = end - at > SHIFT_WINDOW ? at + SHIFT_WINDOW : end;
        size_t low = at > PLACE_DISTANCE ? at - PLACE_DISTANCE : 0, best = at, first_place;
        double lowest = cost_of(series, first, at) + cost_of(series, at, last);

        first_place = first + (first == 0 ? FIRST_SEGMENT_MIN : PLACE_BEFORE_MIN);
        if (low < first_place)
                low = first_place;
        for (size_t place = low; place <= at + PLACE_DISTANCE && place + settings->n_min_last <= last; place++) {
                double cost;

                if (settings->allowed && !settings->allowed[place])
                        continue;
                cost = cost_of(series, first, place) + cost_of(series, place, last);
                if (cost < lowest - 1e-12) {
                        lowest = cost;
                        best = place;
                }
        }
        return best;
}

static double sd_of(const double *values, size_t n) {
        double mean = 0, squares = 0;

        for (size_t i = 0; i < n; i++)
                mean += values[i] / (double)n;
        for (size_t i = 0; i < n; i++)
                squares += (values[i] - mean) * (values[i] - mean);
        return n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
}

static ChangePoint describe(const double *values, const ShiftSeries *series, const ShiftSettings *settings, size_t begin, size_t at,
                            size_t end) {
        ChangePoint point = {
                .index = at,
                .mean_before = shift_test_median(&values[begin], at - begin, series->scratch),
                .mean_after = shift_test_median(&values[at], end - at, series->scratch),
                .sd_before = sd_of(&values[begin], at - begin),
                .sd_after = sd_of(&values[at], end - at),
                .p_value = shift_test(series, settings, begin, at, end).t_p,
        };

        point.relative = (point.mean_after - point.mean_before) / fabs(point.mean_before);
        return point;
}

int shift_find(const double *series, size_t n, const ShiftSettings *settings, ChangePoint **ret, size_t *ret_n) {
        scoped(freep) size_t *at = calloc(n + 1, sizeof(*at));
        scoped(freep) double *room = NULL, *scores = calloc(n + 1, sizeof(*scores));
        ChangePoint *points = calloc(n + 1, sizeof(*points));
        ShiftPlaces places = { .at = at };
        ShiftSeries transformed;
        int r = at && scores && points ? 0 : -ENOMEM;

        if (r == 0 && n >= SHIFT_POINTS_MIN)
                r = make_series(series, n, &transformed, &room);
        if (r == 0 && room) {
                PartitionSettings partition = {
                        .penalty = PENALTY * 0.8 * transformed.sd * log(fmax((double)n, 8)),
                        .n_min = SEGMENT_MIN, .n_min_first = FIRST_SEGMENT_MIN, .n_min_last = settings->n_min_last,
                        .allowed = settings->allowed,
                };

                r = partition_find(transformed.values, n, &partition, at, &places.n);
        }
        if (r < 0) {
                free(points);
                return r;
        }
        if (room) {
                transformed.autocorrelation = find_autocorrelation(&transformed, &places);
                remove_weak(&transformed, settings, &places, scores);
        }

        for (size_t i = 0; i < places.n; i++)
                at[i] = refine(&transformed, settings, begin_of(&places, i), at[i], end_of(&places, i, n));
        for (size_t i = 0; i < places.n; i++)
                points[i] = describe(series, &transformed, settings, begin_of(&places, i), at[i], end_of(&places, i, n));
        *ret = points;
        *ret_n = places.n;
        return 0;
}

/* --- the newest value ----------------------------------------------------------------------------- */

int shift_newest(const double *series, size_t n, size_t begin, const ShiftSettings *settings, ShiftNewest *ret) {
        scoped(freep) double *room = NULL;
        double residuals[SHIFT_WINDOW], median, squares = 0, df, variance, difference;
        size_t n_segment = n > begin ? n - 1 - begin : 0, n_before = n_segment < SHIFT_WINDOW ? n_segment : SHIFT_WINDOW, n_beyond = 0;
        ShiftSeries all;
        int r;

        if (n < SHIFT_POINTS_MIN || n_before < 3)
                return SHIFT_TOO_FEW;
        r = make_series(series, n, &all, &room);
        if (r < 0)
                return r;

        median = shift_test_median(&all.values[n - 1 - n_before], n_before, all.scratch);
        for (size_t i = 0; i < n_before; i++)
                residuals[i] = all.values[n - 1 - n_before + i] - median;
        (void)shift_test_clip(&all, residuals, n_before, all.scratch);
        for (size_t i = 0; i < n_before; i++)
                squares += residuals[i] * residuals[i];
        df = SHIFT_PRIOR_N + (double)n_before - 1;
        variance = fmax((SHIFT_PRIOR_N * all.sd * all.sd + squares) / df, SHIFT_SD_FLOOR * SHIFT_SD_FLOOR);
        difference = all.values[n - 1] - median;
        for (size_t i = begin; i < n - 1; i++)
                n_beyond += difference > 0 ? all.values[i] >= all.values[n - 1] : all.values[i] <= all.values[n - 1];

        ret->relative = all.is_logarithmic ? expm1(difference) : difference / fabs(median);
        ret->p_value = student_two_sided(difference / sqrt(variance * (1 + 1 / (double)n_before)), df);
        ret->is_outlier = ret->p_value < OUTLIER_P && fabs(ret->relative) >= settings->effect_min &&
                          (n_segment < OUTLIER_ENOUGH || (double)(n_beyond + 1) / (double)(n_segment + 1) <= OUTLIER_SHARE);
        return 0;
}

/* --- detectable changes --------------------------------------------------------------------------- */

/* Returns the t of which the two-sided probability is p, by bisection: the probability falls as t grows. */
static double find_t(double p, double df) {
        double low = 0, high = 1;

        while (student_two_sided(high, df) > p && high < 1e12)
                high *= 2;
        for (unsigned i = 0; i < 60; i++) {
                double middle = (low + high) / 2;

                if (student_two_sided(middle, df) > p)
                        low = middle;
                else
                        high = middle;
        }
        return high;
}

int shift_smallest(const double *series, size_t n, const ShiftSettings *settings, double *ret) {
        size_t n_before = n < SHIFT_WINDOW ? n : SHIFT_WINDOW, n_after = settings->n_min_last;
        scoped(freep) double *room = NULL;
        double difference;
        ShiftSeries all;
        int r;

        *ret = NAN;
        if (n < SHIFT_POINTS_MIN)
                return 0;
        r = make_series(series, n, &all, &room);
        if (r < 0)
                return r;

        difference = find_t(settings->t_p_max, SHIFT_PRIOR_N + (double)(n_before + n_after) - 2) * all.sd *
                     sqrt(1 / (double)n_before + 1 / (double)n_after);
        *ret = fmax(settings->effect_min, all.is_logarithmic ? expm1(difference) : difference);
        return 0;
}
