/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/shift_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rank_test.h"
#include "analysis/student.h"

#define CLIP_SD 3.0
#define AUTOCORRELATION_MAX 0.9
#define AUTOCORRELATION_WEIGHT 100.0 /* of the whole series, in values */
#define RANK_WINDOW 200U             /* values before the place for the rank test */
#define RANK_P_LIMIT 0.01            /* however few values there are */
#define EFFECT_SD_MIN 0.75           /* least change in standard deviations */

static int compare(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

double shift_test_median(const double *values, size_t n, double *scratch) {
        memcpy(scratch, values, n * sizeof(*values));
        qsort(scratch, n, sizeof(*scratch), compare);
        return n % 2 == 1 ? scratch[n / 2] : 0.5 * (scratch[n / 2 - 1] + scratch[n / 2]);
}

double shift_test_clip(const ShiftSeries *series, double *residuals, size_t n, double *scratch) {
        double sd;

        for (size_t i = 0; i < n; i++)
                scratch[n + i] = fabs(residuals[i]);
        sd = 1.4826 * shift_test_median(scratch + n, n, scratch);
        if (n > 2)
                sd *= n > 4 ? sqrt((double)n / ((double)n - 2)) : 1.4; /* the medians were taken from the same values */
        sd = fmax(fmax(sd, 0.5 * series->sd), SHIFT_SD_FLOOR);
        for (size_t i = 0; i < n; i++)
                residuals[i] = fmin(fmax(residuals[i], -CLIP_SD * sd), CLIP_SD * sd);
        return sd;
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

/* Level of the values after the place. Of fewer than five values, an order statistic that is close to the level before. */
static double level_after(const Sides *sides) {
        bool is_up = sides->median_after > sides->median_before;
        double sorted[4];

        if (sides->n_after >= 5)
                return sides->median_after + mean_of(sides->residuals + sides->n_before, sides->n_after);

        memcpy(sorted, sides->after, sides->n_after * sizeof(*sorted));
        qsort(sorted, sides->n_after, sizeof(*sorted), compare);
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

static double find_autocorrelation(const Sides *sides, double sum_of_squares, double of_series) {
        size_t n = sides->n_before + sides->n_after;
        double products = 0, own = 0;

        if (n < 10)
                return fmin(of_series, AUTOCORRELATION_MAX);

        for (size_t i = 0; i + 1 < n; i++)
                if (i + 1 != sides->n_before)
                        products += sides->residuals[i] * sides->residuals[i + 1];
        if (sum_of_squares > 0)
                own = products / sum_of_squares + (sides->n_after >= 5 ? 2.0 : 1.0) / (double)n; /* the estimate is too low by this */
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

/* Few values pass if they are separated as only one of many arrangements is. */
static double find_rank_limit(const ShiftSettings *settings, size_t n_before, size_t n_after) {
        double arrangements = lgamma((double)(n_before + n_after) + 1) - lgamma((double)n_before + 1) - lgamma((double)n_after + 1);

        return fmin(fmax(settings->rank_p_max, settings->separation * exp(-arrangements)), RANK_P_LIMIT);
}

static void fill_sides(const ShiftSeries *series, size_t begin, size_t at, size_t end, Sides *ret) {
        size_t first = at - begin > SHIFT_WINDOW ? at - SHIFT_WINDOW : begin;

        ret->before = &series->values[first];
        ret->n_before = at - first;
        ret->after = &series->values[at];
        ret->n_after = end - at > SHIFT_WINDOW ? SHIFT_WINDOW : end - at;
        ret->median_before = shift_test_median(ret->before, ret->n_before, series->scratch);
        ret->median_after = shift_test_median(ret->after, ret->n_after, series->scratch);
        for (size_t i = 0; i < ret->n_before; i++)
                ret->residuals[i] = ret->before[i] - ret->median_before;
        for (size_t i = 0; i < ret->n_after; i++)
                ret->residuals[ret->n_before + i] = ret->after[i] - ret->median_after;
        (void)shift_test_clip(series, ret->residuals, ret->n_before + ret->n_after, series->scratch);
}

ShiftScore shift_test(const ShiftSeries *series, const ShiftSettings *settings, size_t begin, size_t at, size_t end) {
        size_t rank_begin = at - begin > RANK_WINDOW ? at - RANK_WINDOW : begin;
        double squares = 0, df, variance, rho, error, level, relative, t_score, rank_score;
        ShiftScore ret = { .t_p = 1, .rank_p = 1 };
        Sides sides;

        if (at - begin < 2 || end <= at)
                return ret;

        fill_sides(series, begin, at, end, &sides);
        for (size_t i = 0; i < sides.n_before + sides.n_after; i++)
                squares += sides.residuals[i] * sides.residuals[i];
        df = SHIFT_PRIOR_N + (double)(sides.n_before + sides.n_after) - 2;
        variance = fmax((SHIFT_PRIOR_N * series->sd * series->sd + squares) / df, SHIFT_SD_FLOOR * SHIFT_SD_FLOOR);
        rho = find_autocorrelation(&sides, squares, series->autocorrelation);
        error = sqrt(variance * (variance_factor(sides.n_before, rho) / (double)sides.n_before +
                                 variance_factor(sides.n_after, rho) / (double)sides.n_after));
        level = sides.median_before + mean_of(sides.residuals, sides.n_before);
        ret.difference = level_after(&sides) - level;
        if (rho > 0)
                df = fmax(SHIFT_PRIOR_N, df * (1 - rho) / (1 + rho));
        ret.t_p = student_two_sided(ret.difference / error, df);
        ret.rank_p = rank_test(&series->values[rank_begin], at - rank_begin, sides.after, sides.n_after, series->scratch);

        relative = series->is_logarithmic ? fabs(expm1(ret.difference)) : fabs(ret.difference / level);
        t_score = log(fmax(ret.t_p, 1e-300)) / log(settings->t_p_max);
        rank_score = log(fmax(ret.rank_p, 1e-300)) / log(find_rank_limit(settings, at - rank_begin, sides.n_after));
        ret.score = fmin(fmin(t_score, rank_score),
                         fmin(relative / settings->effect_min, fabs(ret.difference) / (EFFECT_SD_MIN * sqrt(variance))));
        return ret;
}
