/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/shift.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rank_sum.h"
#include "analysis/statistics.h"
#include "analysis/student.h"
#include "util/scoped.h"

/* --- partition ------------------------------------------------------------------------------------- */

/* --- medians of all segments ---------------------------------------------------------------------- */

/*
 * Values from one place of the series to another, as a list sorted by rank. Values are only removed, so that the
 * median moves by at most one place each time: O(1) for each segment.
 */
typedef struct RankList {
        uint32_t *next, *previous; /* borrowed; of the rank; rank n is before the first and behind the last */
        uint32_t median;           /* rank of the lower median */
        size_t n;
} RankList;

static void ranks_remove(RankList *ranks, uint32_t rank) {
        if (ranks->n % 2 == 1 && rank >= ranks->median)
                ranks->median = ranks->previous[ranks->median];
        else if (ranks->n % 2 == 0 && rank <= ranks->median)
                ranks->median = ranks->next[ranks->median];
        ranks->next[ranks->previous[rank]] = ranks->next[rank];
        ranks->previous[ranks->next[rank]] = ranks->previous[rank];
        ranks->n--;
}

/* The series sorted, and lists of ranks; one allocation. */
typedef struct Sorted {
        const double *series; /* borrowed */
        size_t n;
        double *values;       /* owned, with all below; of the rank */
        double *added;        /* cost that the value at a place adds to the segment that ends there */
        uint32_t *ranks;      /* of the place */
        RankList rest, segment;  /* values from a start to the end of the series, and to any other place */
} Sorted;

static void sorted_deinit(Sorted *sorted) {
        free(sorted->values);
}

typedef struct RankedValue {
        double value;
        uint32_t at;
} RankedValue;

static int compare(const void *a, const void *b) {
        const RankedValue *x = a, *y = b;

        return x->value != y->value ? (x->value > y->value) - (x->value < y->value) : (x->at > y->at) - (x->at < y->at);
}

static int sorted_init(Sorted *sorted, const double *series, size_t n) {
        scoped(freep) RankedValue *order = malloc((n + 1) * sizeof(*order));
        double *room = malloc((n + 1) * (2 * sizeof(double) + 5 * sizeof(uint32_t)));
        uint32_t *lists;

        *sorted = (Sorted){ .series = series, .n = n, .values = room };
        if (!order || !room)
                return -ENOMEM;

        sorted->added = room + n + 1;
        lists = (uint32_t *)(sorted->added + n + 1);
        sorted->ranks = lists;
        sorted->rest = (RankList){ lists + n + 1, lists + 2 * (n + 1), (uint32_t)(n - 1) / 2, n };
        sorted->segment = (RankList){ .next = lists + 3 * (n + 1), .previous = lists + 4 * (n + 1) };
        for (size_t i = 0; i < n; i++)
                order[i] = (RankedValue){ series[i], (uint32_t)i };
        qsort(order, n, sizeof(*order), compare);
        for (size_t i = 0; i < n; i++) {
                sorted->values[i] = order[i].value;
                sorted->ranks[order[i].at] = (uint32_t)i;
        }
        for (size_t i = 0; i <= n; i++) {
                sorted->rest.next[i] = (uint32_t)(i < n ? i + 1 : 0);
                sorted->rest.previous[i] = (uint32_t)(i > 0 ? i - 1 : n);
        }
        return 0;
}

/* Computes `added` for all segments from `begin` on, of which `rest` has the values. */
static void sorted_measure(Sorted *sorted, size_t begin) {
        RankList *segment = &sorted->segment;

        memcpy(segment->next, sorted->rest.next, (sorted->n + 1) * sizeof(*segment->next));
        memcpy(segment->previous, sorted->rest.previous, (sorted->n + 1) * sizeof(*segment->previous));
        segment->median = sorted->rest.median;
        segment->n = sorted->rest.n;
        for (size_t at = sorted->n - 1; at > begin; at--) {
                double v = sorted->series[at], low, high;

                ranks_remove(segment, sorted->ranks[at]);
                low = sorted->values[segment->median];
                high = segment->n % 2 == 1 ? low : sorted->values[segment->next[segment->median]];
                sorted->added[at] = v < low ? low - v : v > high ? v - high : 0;
        }
        sorted->added[begin] = 0;
}

/* --- the lowest cost ------------------------------------------------------------------------------ */

static void reverse(size_t *items, size_t n) {
        for (size_t i = 0; i < n / 2; i++) {
                size_t other = items[i];

                items[i] = items[n - 1 - i];
                items[n - 1 - i] = other;
        }
}

/* Tries all segments from `begin` on. lowest: cost of the best partition up to each place; begins: the start of its
 * last segment. */
static void try_segments(const Sorted *sorted, const PartitionSettings *settings, size_t begin, double *lowest,
                         size_t *begins) {
        double cost = 0;

        for (size_t end = begin + 1; end <= sorted->n; end++) {
                size_t n_min;
                double sum;

                cost += sorted->added[end - 1];
                sum = lowest[begin] + cost + settings->penalty;
                n_min = end == sorted->n ? settings->n_min_last : begin == 0 ? settings->n_min_first : settings->n_min;
                if (end - begin < n_min || sum >= lowest[end])
                        continue;
                lowest[end] = sum;
                begins[end] = begin;
        }
}

int shift_find_partition(const double *series, size_t n, const PartitionSettings *settings, size_t *ret_begins,
                         size_t *ret_n) {
        scoped(freep) double *lowest = malloc((n + 1) * sizeof(*lowest));
        scoped(freep) size_t *begins = calloc(n + 1, sizeof(*begins));
        scoped(sorted_deinit) Sorted sorted;
        size_t n_begins = 0;

        assert(n > 0 && n < UINT32_MAX);
        if (sorted_init(&sorted, series, n) < 0 || !lowest || !begins)
                return -ENOMEM;

        lowest[0] = -settings->penalty;
        for (size_t i = 1; i <= n; i++)
                lowest[i] = INFINITY;
        for (size_t begin = 0; begin < n; begin++) {
                if (isfinite(lowest[begin]) && (begin == 0 || !settings->allowed || settings->allowed[begin])) {
                        sorted_measure(&sorted, begin);
                        try_segments(&sorted, settings, begin, lowest, begins);
                }
                ranks_remove(&sorted.rest, sorted.ranks[begin]);
        }

        for (size_t end = n; isfinite(lowest[n]) && begins[end] > 0; end = begins[end])
                ret_begins[n_begins++] = begins[end];
        reverse(ret_begins, n_begins);
        *ret_n = n_begins;
        return 0;
}

/* --- shift ------------------------------------------------------------------------------------------- */

#define SHIFT_WINDOW 30U     /* values of each side for the t-test */
#define SHIFT_SD_FLOOR 1e-3  /* relative noise that every series has at least */
#define SHIFT_PRIOR_N 3.0    /* weight of the noise of the whole series, in values */
#define CLIP_SD 3.0
#define CLIP_SD_MAX 6.0 /* where a tenth of the values or more are beyond the limit */
#define AUTOCORRELATION_MAX 0.9
#define AUTOCORRELATION_WEIGHT 100.0 /* of the whole series, in values */
#define RANK_WINDOW 200U             /* values before the place for the rank test */
#define RANK_EXACT_MAX 8U            /* the limits are tuned with the normal approximation for more values */
#define RANK_P_LIMIT 0.01            /* however few values there are */
#define EFFECT_SD_MIN 0.75           /* least change in standard deviations */
#define PENALTY 3.0
#define SEGMENT_MIN 5U
#define FIRST_SEGMENT_MIN 2U
#define PARTITION_WINDOW 2048U /* a change that passes the tests is seen with far less than a quarter on each side */
#define PRIOR_SD 0.01        /* prior noise of a series */
#define DIFFERENCES_ENOUGH 30U
#define PLACE_BEFORE_MIN 3U  /* values before a change point that was moved */
#define PLACE_DISTANCE 10U   /* maximum distance by which a change point is moved */
#define SUSPECTS_MAX 12U      /* newest values that are tested as a new level that is not found yet */
#define SUSPECT_P 3e-3
#define SINGLE_P 1e-3         /* of the newest value alone */
#define SINGLE_SHARE 0.05     /* of values before it that may be as extreme as the newest alone */
#define SMALLEST_P 1e-5       /* with which the smallest change that is found was calibrated */
#define SAME_LEVEL_SD 2.0     /* largest difference of two equal levels in their standard deviations */

/* --- the test of a place -------------------------------------------------------------------------- */

/* A series after the transformation, and its noise. */
typedef struct ShiftSeries {
        const double *values; /* borrowed */
        size_t n;
        bool is_logarithmic;
        double sd;              /* robust, from the differences of neighbours */
        double autocorrelation; /* of neighbours around the levels, 0…0.8 */
        double *scratch;        /* borrowed; room for 2 * n values */
        double *rank_sums;      /* borrowed; scratch space of the rank-sum test */
} ShiftSeries;

typedef struct ShiftTest {
        double p, difference, sd;
        double relative; /* difference as a share of the level before */
} ShiftTest;

/* scratch: room for n. */
static double median_of(const double *values, size_t n, double *scratch) {
        memcpy(scratch, values, n * sizeof(*values));
        return statistics_median_in_place(scratch, n);
}

/* Limits residuals to three of their robust standard deviations, of which the series' noise has at least half, or
 * further out if a tenth of them are beyond: these are no outliers, but another mode. */
static void clip(const ShiftSeries *series, double *residuals, size_t n, double *scratch) {
        double sd, limit;

        for (size_t i = 0; i < n; i++)
                scratch[i] = fabs(residuals[i]);
        statistics_sort(scratch, n);
        sd = 1.4826 * statistics_quantile_of_sorted(scratch, n, 0.5);
        if (n > 2)
                sd *= n > 4 ? sqrt((double)n / ((double)n - 2)) : 1.4; /* the medians were taken from the same values */
        sd = fmax(fmax(sd, 0.5 * series->sd), SHIFT_SD_FLOOR);
        limit = fmin(fmax(CLIP_SD * sd, scratch[n * 9 / 10]), CLIP_SD_MAX * sd);
        for (size_t i = 0; i < n; i++)
                residuals[i] = fmin(fmax(residuals[i], -limit), limit);
}

/* Values of both sides of a place; residuals of the first side come first. */
typedef struct Sides {
        const double *before, *after;
        size_t n_before, n_after;
        double median_before, median_after;
        double residuals[2 * SHIFT_WINDOW];
} Sides;

static double mean_of(const double *values, size_t n) {
        double sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += values[i];
        return sum / (double)n;
}

/* Level of the values after the place. Of fewer than five values, an order statistic that is close to the level
 * before. */
static double level_after(const Sides *sides) {
        bool is_up = sides->median_after > sides->median_before;
        double sorted[4];

        if (sides->n_after >= 5)
                return sides->median_after + mean_of(sides->residuals + sides->n_before, sides->n_after);

        memcpy(sorted, sides->after, sides->n_after * sizeof(*sorted));
        statistics_sort(sorted, sides->n_after);
        switch (sides->n_after) {
        case 1:
                return sorted[0];
        case 2:
                return sorted[is_up ? 0 : 1];
        case 3:
                return sorted[1];
        default:
                return sorted[is_up ? 1 : 2];
        }
}

static double autocorrelation_of(const Sides *sides, double sum_of_squares, double of_series) {
        size_t n = sides->n_before + sides->n_after;
        double products = 0, own = 0;

        if (n < 10)
                return fmin(of_series, AUTOCORRELATION_MAX);

        for (size_t i = 0; i + 1 < n; i++)
                if (i + 1 != sides->n_before)
                        products += sides->residuals[i] * sides->residuals[i + 1];
        if (sum_of_squares > 0)
                /* the estimate is too low by this */
                own = products / sum_of_squares + (sides->n_after >= 5 ? 2.0 : 1.0) / (double)n;
        own = ((double)n * own + AUTOCORRELATION_WEIGHT * of_series) / ((double)n + AUTOCORRELATION_WEIGHT);
        return fmin(fmax(own, 0), AUTOCORRELATION_MAX);
}

/* Factor by which autocorrelation increases the variance of a mean of n values. */
static double variance_factor(size_t n, double rho) {
        double m = (double)n;

        if (rho <= 0 || n < 2)
                return 1;
        return (1 + rho) / (1 - rho) - 2 * rho * (1 - pow(rho, m)) / (m * (1 - rho) * (1 - rho));
}

/* Standard deviation of the difference of two means, in standard deviations of a value. */
static double error_of_difference(size_t n_before, size_t n_after, double rho) {
        return sqrt(variance_factor(n_before, rho) / (double)n_before +
                    variance_factor(n_after, rho) / (double)n_after);
}

static double degrees_of_freedom(double df, double rho) {
        return rho > 0 ? fmax(SHIFT_PRIOR_N, df * (1 - rho) / (1 + rho)) : df;
}

/* Change from a level as a share of it; of a series with values <= 0, infinite from the level 0. */
static double relative_of(const ShiftSeries *series, double difference, double level) {
        if (series->is_logarithmic)
                return expm1(difference);
        return difference == 0 ? 0 : difference / fabs(level);
}

/* One-sided probability that chance alone separates two samples completely. */
static double separation_p(size_t n_before, size_t n_after) {
        return exp(lgamma((double)n_before + 1) + lgamma((double)n_after + 1) -
                   lgamma((double)(n_before + n_after) + 1));
}

/* Few values pass if they are separated as only one of many arrangements is. */
static double find_rank_limit(const ShiftSettings *settings, size_t n_before, size_t n_after) {
        return fmin(fmax(settings->rank_p_max, settings->separation * separation_p(n_before, n_after)), RANK_P_LIMIT);
}

static void fill_sides(const ShiftSeries *series, size_t begin, size_t at, size_t end, Sides *ret) {
        size_t first = at - begin > SHIFT_WINDOW ? at - SHIFT_WINDOW : begin;

        ret->before = &series->values[first];
        ret->n_before = at - first;
        ret->after = &series->values[at];
        ret->n_after = end - at > SHIFT_WINDOW ? SHIFT_WINDOW : end - at;
        ret->median_before = median_of(ret->before, ret->n_before, series->scratch);
        ret->median_after = median_of(ret->after, ret->n_after, series->scratch);
        for (size_t i = 0; i < ret->n_before; i++)
                ret->residuals[i] = ret->before[i] - ret->median_before;
        for (size_t i = 0; i < ret->n_after; i++)
                ret->residuals[ret->n_before + i] = ret->after[i] - ret->median_after;
        clip(series, ret->residuals, ret->n_before + ret->n_after, series->scratch);
}

/* One-sided p-value of the rank-sum test between the values before the place and those after. */
static double find_rank_p(const ShiftSeries *series, size_t begin, size_t at, const Sides *sides) {
        double before[RANK_WINDOW], after[SHIFT_WINDOW];

        memcpy(before, &series->values[begin], (at - begin) * sizeof(*before));
        memcpy(after, sides->after, sides->n_after * sizeof(*after));
        statistics_sort(before, at - begin);
        statistics_sort(after, sides->n_after);
        return rank_sum_test(before, at - begin, after, sides->n_after, RANK_EXACT_MAX, series->rank_sums).one_sided;
}

/* Difference of the levels of both sides, and the t-test about it. at - begin >= 2, end > at. */
static ShiftTest test_levels(const ShiftSeries *series, const Sides *sides, double level_after) {
        size_t n = sides->n_before + sides->n_after;
        double squares = 0, df = SHIFT_PRIOR_N + (double)n - 2, rho, error, level;
        ShiftTest ret = {};

        for (size_t i = 0; i < n; i++)
                squares += sides->residuals[i] * sides->residuals[i];
        ret.sd = fmax(sqrt((SHIFT_PRIOR_N * series->sd * series->sd + squares) / df), SHIFT_SD_FLOOR);
        rho = autocorrelation_of(sides, squares, series->autocorrelation);
        error = ret.sd * error_of_difference(sides->n_before, sides->n_after, rho);
        level = sides->median_before + mean_of(sides->residuals, sides->n_before);
        ret.difference = level_after - level;
        ret.p = student_two_sided(ret.difference / error, degrees_of_freedom(df, rho));
        ret.relative = relative_of(series, ret.difference, level);
        return ret;
}

/* Returns the score of the least clear part of the evidence for a change: 1 or more passes. begin, end: the
 * neighbouring change points, or the ends of the series. *ret_p: of the t-test. */
static double test(const ShiftSeries *series, const ShiftSettings *settings, size_t begin, size_t at, size_t end,
                   double *ret_p) {
        size_t rank_begin = at - begin > RANK_WINDOW ? at - RANK_WINDOW : begin;
        double t_score, rank_score;
        ShiftTest levels;
        Sides sides;

        *ret_p = 1;
        if (at - begin < 2 || end <= at)
                return 0;
        fill_sides(series, begin, at, end, &sides);
        levels = test_levels(series, &sides, level_after(&sides));
        *ret_p = levels.p;
        t_score = log(fmax(levels.p, 1e-300)) / log(settings->t_p_max);
        rank_score = log(fmax(find_rank_p(series, rank_begin, at, &sides), 1e-300)) /
                     log(find_rank_limit(settings, at - rank_begin, sides.n_after));
        return fmin(fmin(t_score, rank_score), fmin(fabs(levels.relative) / settings->effect_min,
                                                    fabs(levels.difference) / (EFFECT_SD_MIN * levels.sd)));
}

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

        scale = median_of(values, n, transformed->scratch);
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
        sd = 1.4826 * median_of(differences, n, series->scratch) / sqrt(2);
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
                double median = median_of(&series->values[begin], end - begin, series->scratch), before = 0;

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
        double *room = malloc((4 * (n + 1) + RANK_SUM_SCRATCH) * sizeof(*room));

        if (!room)
                return -ENOMEM;
        *ret = (ShiftSeries){ .values = room, .n = n, .scratch = room + n + 1, .rank_sums = room + 4 * (n + 1) };
        transform(series, n, ret, room);
        ret->sd = find_sd(ret);
        *ret_room = room;
        return 0;
}

/* --- change points -------------------------------------------------------------------------------- */

static void remove_weak(const ShiftSeries *series, const ShiftSettings *settings, ShiftPlaces *places, double *scores) {
        double unused;

        for (size_t i = 0; i < places->n; i++)
                scores[i] = test(series, settings, begin_of(places, i), places->at[i], end_of(places, i, series->n),
                                 &unused);

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
                        scores[i] = test(series, settings, begin_of(places, i), places->at[i],
                                         end_of(places, i, series->n), &unused);
        }
}

static double cost_of(const ShiftSeries *series, size_t begin, size_t end) {
        double median = median_of(&series->values[begin], end - begin, series->scratch), cost = 0;

        for (size_t i = begin; i < end; i++)
                cost += fabs(series->values[i] - median);
        return cost;
}

/* Finds the partition of a short series, or of windows of half their length in common: each place is judged with a
 * quarter of a window at least on each side, or up to the nearest change. */
static int find_candidates(const ShiftSeries *series, const ShiftSettings *settings, ShiftPlaces *places) {
        PartitionSettings partition = {
                .penalty = PENALTY * 0.8 * series->sd * log(fmax((double)series->n, 8)), .n_min = SEGMENT_MIN,
        };

        for (size_t begin = 0, end = 0; end < series->n;) {
                size_t *found = &places->at[places->n], n_found, n_kept = 0;
                int r;

                end = series->n - begin > PARTITION_WINDOW ? begin + PARTITION_WINDOW : series->n;
                partition.n_min_first = begin == 0 ? FIRST_SEGMENT_MIN : SEGMENT_MIN;
                partition.n_min_last = end == series->n ? settings->n_min_last : SEGMENT_MIN;
                partition.allowed = settings->allowed ? &settings->allowed[begin] : NULL;
                r = shift_find_partition(&series->values[begin], end - begin, &partition, found, &n_found);
                if (r < 0)
                        return r;

                while (n_kept < n_found && (end == series->n || begin + found[n_kept] + PARTITION_WINDOW / 4 <= end))
                        found[n_kept++] += begin;
                places->n += n_kept;
                begin += PARTITION_WINDOW / 2;
                if (n_kept > 0 && found[n_kept - 1] > begin)
                        begin = found[n_kept - 1];
        }
        return 0;
}

/* Moves a change point to the place where the medians of its neighbouring windows fit best. */
static size_t refine(const ShiftSeries *series, const ShiftSettings *settings, size_t begin, size_t at, size_t end) {
        size_t first = at - begin > SHIFT_WINDOW ? at - SHIFT_WINDOW : begin,
               last = end - at > SHIFT_WINDOW ? at + SHIFT_WINDOW : end;
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

static ChangePoint describe(const double *values, const ShiftSeries *series, const ShiftSettings *settings,
                            size_t begin, size_t at, size_t end) {
        ChangePoint point = {
                .index = at,
                .mean_before = median_of(&values[begin], at - begin, series->scratch),
                .mean_after = median_of(&values[at], end - at, series->scratch),
                .sd_before = sd_of(&values[begin], at - begin),
                .sd_after = sd_of(&values[at], end - at),
        };

        (void)test(series, settings, begin, at, end, &point.p_value);
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
        if (r == 0 && room)
                r = find_candidates(&transformed, settings, &places);
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
                points[i] = describe(series, &transformed, settings, begin_of(&places, i), at[i],
                                     end_of(&places, i, n));
        *ret = points;
        *ret_n = places.n;
        return 0;
}

/* --- the newest values ---------------------------------------------------------------------------- */

/* Returns the number of values in [begin, at) that are at least as extreme as the least extreme behind them. */
static size_t count_as_extreme(const ShiftSeries *series, size_t begin, size_t at, bool is_up) {
        double least = series->values[at];
        size_t n = 0;

        for (size_t i = at + 1; i < series->n; i++)
                least = is_up ? fmin(least, series->values[i]) : fmax(least, series->values[i]);
        for (size_t i = begin; i < at; i++)
                n += is_up ? series->values[i] >= least : series->values[i] <= least;
        return n;
}

/* Tests the values from `at` on, with their median, against those from `begin` up to there. */
static ShiftTest test_newest(const ShiftSeries *all, size_t begin, size_t at) {
        ShiftSeries base = { .values = &all->values[begin], .n = at - begin, .sd = all->sd, .scratch = all->scratch },
                    series = *all;
        Sides sides;

        series.autocorrelation = find_autocorrelation(&base, &(ShiftPlaces){});
        fill_sides(&series, begin, at, series.n, &sides);
        return test_levels(&series, &sides, sides.n_after < 5 ? sides.median_after : level_after(&sides));
}

/* True if the n newest values differ from those before. */
static bool is_suspect(const ShiftSeries *all, const ShiftSettings *settings, size_t begin, size_t n,
                       const ShiftTest *levels) {
        size_t at = all->n - n, n_extreme;

        if (fabs(levels->relative) < settings->effect_min || fabs(levels->difference) < EFFECT_SD_MIN * levels->sd ||
            levels->p >= (n == 1 ? SINGLE_P : SUSPECT_P))
                return false;
        n_extreme = count_as_extreme(all, begin, at, levels->difference > 0);
        return n_extreme == 0 ||
               (n == 1 && (double)(n_extreme + 1) / (double)(at - begin + 1) <= SINGLE_SHARE);
}

int shift_suspects(const double *series, size_t n, const ChangePoint *points, size_t n_points,
                   const ShiftSettings *settings, ShiftSuspects *ret) {
        size_t begin = n_points > 0 ? points[n_points - 1].index : 0, n_before_min = n_points > 0 ? SHIFT_BASE : 2;
        scoped(freep) double *room = NULL;
        ShiftSeries all;
        int r;

        *ret = (ShiftSuspects){ .relative = NAN, .p_value = NAN };
        if (n < SHIFT_POINTS_MIN || n - begin < 3)
                return 0;
        r = make_series(series, n, &all, &room);
        if (r < 0)
                return r;
        for (size_t k = 1; k <= SUSPECTS_MAX && k + n_before_min <= n - begin; k++) {
                ShiftTest levels;
                bool is_found;

                if (k > 1 && settings->allowed && !settings->allowed[n - k])
                        continue;
                levels = test_newest(&all, begin, n - k);
                is_found = is_suspect(&all, settings, begin, k, &levels);
                if (k > 1 && (!is_found || (ret->n > 0 && levels.p >= ret->p_value)))
                        continue;
                *ret = (ShiftSuspects){ is_found ? k : 0, n - k - begin, levels.relative, levels.p };
        }
        return 0;
}

size_t shift_needed(size_t n_before, const ShiftSettings *settings) {
        size_t n = settings->n_min_last;

        while (separation_p(n_before, n) > RANK_P_LIMIT)
                n++;
        return n;
}

/* --- levels that come back ------------------------------------------------------------------------ */

/* Returns the level of the end of a segment. */
static double find_level(const ShiftSeries *series, size_t begin, size_t end, size_t *ret_n) {
        *ret_n = end - begin < SHIFT_WINDOW ? end - begin : SHIFT_WINDOW;
        return median_of(&series->values[end - *ret_n], *ret_n, series->scratch);
}

int shift_back_to(const double *series, size_t n, const ChangePoint *points, size_t n_points,
                  const ShiftSettings *settings, size_t *ret) {
        scoped(freep) double *room = NULL;
        ShiftSeries all;
        size_t n_now;
        double now;
        int r;

        *ret = n;
        if (n_points < 2)
                return 0;
        r = make_series(series, n, &all, &room);
        if (r < 0)
                return r;
        now = find_level(&all, points[n_points - 1].index, n, &n_now);
        for (size_t i = n_points - 1; i-- > 0;) {
                size_t begin = i > 0 ? points[i - 1].index : 0, n_then;
                double then = find_level(&all, begin, points[i].index, &n_then), difference = now - then;

                if (fabs(relative_of(&all, difference, then)) >= settings->effect_min &&
                    fabs(difference) > SAME_LEVEL_SD * all.sd * error_of_difference(n_then, n_now, 0))
                        continue;
                *ret = begin;
                return 0;
        }
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

/* Estimates the least difference that is found after `n_more` further values of the current level. */
static double find_smallest(const ShiftSeries *all, const ShiftSettings *settings, size_t n_level, size_t n_more,
                            double rho, size_t *ret_n_after) {
        size_t n_before = n_level + n_more < SHIFT_WINDOW ? n_level + n_more : SHIFT_WINDOW,
               n_after = shift_needed(n_level + n_more, settings);
        double t = find_t(SMALLEST_P, degrees_of_freedom(SHIFT_PRIOR_N + (double)(n_before + n_after) - 2, rho)),
               n = (double)(all->n + n_more + n_after), difference;

        /* The t-test, with a factor that is calibrated by simulation; the cost of a segment; the least effect. */
        difference = (1.3 + 3 / (double)n_before) * t * all->sd * error_of_difference(n_before, n_after, rho);
        difference = fmax(difference, all->sd * (PENALTY * 0.8 * log(fmax(n, 8)) / (double)n_after + 1.2));
        *ret_n_after = n_after;
        difference = fmax(difference, log1p(settings->effect_min) + 0.6 * all->sd);
        return all->is_logarithmic ? expm1(difference) : difference;
}

int shift_smallest(const double *series, size_t n, const ChangePoint *points, size_t n_points,
                   const ShiftSettings *settings, ShiftSmallest *ret) {
        size_t n_level = n - (n_points > 0 ? points[n_points - 1].index : 0), unused;
        scoped(freep) size_t *at = calloc(n_points + 1, sizeof(*at));
        scoped(freep) double *room = NULL;
        ShiftSeries all;
        double rho;
        int r;

        *ret = (ShiftSmallest){ .change = NAN };
        if (n < SHIFT_POINTS_MIN)
                return 0;
        r = at ? make_series(series, n, &all, &room) : -ENOMEM;
        if (r < 0)
                return r;

        for (size_t i = 0; i < n_points; i++)
                at[i] = points[i].index;
        rho = find_autocorrelation(&all, &(ShiftPlaces){ at, n_points });
        ret->change = find_smallest(&all, settings, n_level, 0, rho, &ret->n_after);
        for (size_t i = 1; ret->change > SHIFT_SMALLEST_MAX && ret->n_more == 0 && n_level + i <= SHIFT_WINDOW; i++)
                if (find_smallest(&all, settings, n_level, i, rho, &unused) <= SHIFT_SMALLEST_MAX)
                        ret->n_more = i;
        return 0;
}
