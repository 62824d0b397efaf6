/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/judge.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

const char *const judge_method_names[N_JUDGE_METHODS + 1] = {
        [JUDGE_PERFD] = "perfd", [JUDGE_HUNTER] = "hunter", [JUDGE_STDEV] = "stdev", [JUDGE_ZSCORE] = "zscore",
        [JUDGE_RELATIVE] = "relative",
};

const char *const judge_direction_names[N_JUDGE_DIRECTIONS + 1] = {
        [JUDGE_NEITHER] = "none", [JUDGE_LOWER] = "lower", [JUDGE_HIGHER] = "higher",
};

const char *const judge_verdict_names[N_JUDGE_VERDICTS] = {
        [JUDGE_NO_CHANGE] = "no change", [JUDGE_REGRESSION] = "regression", [JUDGE_IMPROVEMENT] = "improvement",
        [JUDGE_RETURNED] = "returned",   [JUDGE_CHANGED] = "changed",       [JUDGE_RUN_AGAIN] = "run again",
        [JUDGE_UNKNOWN] = "unknown",
};

void judge_deinit(JudgeResult *judgement) {
        free(judgement->points);
        *judgement = (JudgeResult){};
}

static void set_new_level(JudgeResult *judgement, JudgeDirection direction, double difference,
                          const ChangePoint *point) {
        judgement->relative = point->relative;
        judgement->p_value = point->p_value;
        judgement->since = point->index;
        if (direction == JUDGE_NEITHER)
                judgement->verdict = JUDGE_CHANGED;
        else
                judgement->verdict = (direction == JUDGE_LOWER) == (difference < 0) ? JUDGE_IMPROVEMENT
                                                                                    : JUDGE_REGRESSION;
}

static double difference_of(const ChangePoint *point) {
        return point->mean_after - point->mean_before;
}

/* --- methods with change points ------------------------------------------------------------------- */

/* Values that seem to begin a new level say more than a change for the better before them. */
static void set_suspects(JudgeResult *judgement, const ShiftSuspects *suspects, size_t n,
                         const ShiftSettings *settings) {
        size_t n_needed = shift_needed(suspects->n_before, settings);

        judgement->verdict = suspects->n_before < SHIFT_BASE ? JUDGE_UNKNOWN : JUDGE_RUN_AGAIN;
        judgement->since = n - suspects->n;
        judgement->n_before = suspects->n_before;
        judgement->n_needed = n_needed > suspects->n ? n_needed - suspects->n : 1;
        judgement->back_to = n;
}

static int judge_fresh(const double *series, size_t n, const JudgeSettings *settings, JudgeResult *judgement) {
        const ChangePoint *last = &judgement->points[judgement->n_points - 1];
        size_t begin = judgement->n_points > 1 ? judgement->points[judgement->n_points - 2].index : 0;
        int r;

        set_new_level(judgement, settings->direction, difference_of(last), last);
        judgement->n_before = last->index - begin;
        r = shift_back_to(series, n, judgement->points, judgement->n_points, &settings->shift, &judgement->back_to);
        if (r == 0 && judgement->verdict == JUDGE_IMPROVEMENT && judgement->back_to < n)
                judgement->verdict = JUDGE_RETURNED;
        return r;
}

static int judge_shift(const double *series, size_t n, const JudgeSettings *settings, JudgeResult *judgement) {
        const ChangePoint *last;
        ShiftSuspects suspects;
        bool is_fresh;
        int r;

        judgement->n_needed = n < SHIFT_POINTS_MIN ? SHIFT_POINTS_MIN - n : 0;
        r = shift_find(series, n, &settings->shift, &judgement->points, &judgement->n_points);
        if (r < 0 || n < SHIFT_POINTS_MIN)
                return r;

        judgement->verdict = JUDGE_NO_CHANGE;
        last = judgement->n_points > 0 ? &judgement->points[judgement->n_points - 1] : NULL;
        is_fresh = last && n - last->index <= JUDGE_FRESH;
        r = shift_smallest(series, n, judgement->points, judgement->n_points, &settings->shift, &judgement->smallest);
        if (r == 0 && is_fresh)
                r = judge_fresh(series, n, settings, judgement);
        if (r < 0 || judgement->verdict == JUDGE_REGRESSION || judgement->verdict == JUDGE_CHANGED)
                return r;

        r = shift_suspects(series, n, judgement->points, judgement->n_points, &settings->shift, &suspects);
        if (r < 0)
                return r;
        if (suspects.n > 0)
                set_suspects(judgement, &suspects, n, &settings->shift);
        if (suspects.n > 0 || !is_fresh) {
                judgement->relative = suspects.relative;
                judgement->p_value = suspects.p_value;
        }
        return 0;
}

static int judge_hunter(const double *series, size_t n, const JudgeSettings *settings, JudgeResult *judgement) {
        const ChangePoint *last;
        int r;

        r = hunter_find(series, n, &settings->hunter, &judgement->points, &judgement->n_points);
        if (r < 0 || n < 3)
                return r;

        judgement->verdict = JUDGE_NO_CHANGE;
        last = judgement->n_points > 0 ? &judgement->points[judgement->n_points - 1] : NULL;
        if (last && last->index == n - 1)
                set_new_level(judgement, settings->direction, difference_of(last), last);
        return 0;
}

/* --- methods for the newest value ----------------------------------------------------------------- */

static bool is_beyond(JudgeMethod method, const BaselineMoments *moments, double value) {
        switch (method) {
        case JUDGE_STDEV:
                return baseline_band(moments, value) > BASELINE_BANDS;
        case JUDGE_ZSCORE:
                return fabs(value - moments->mean) > BASELINE_Z_MAX * moments->sd;
        case JUDGE_RELATIVE:
                return fabs(value - moments->mean) > BASELINE_RELATIVE_MAX * fabs(moments->mean);
        case JUDGE_PERFD:
        case JUDGE_HUNTER:
        case N_JUDGE_METHODS:
                break;
        }
        assert(false);
        return false;
}

static int judge_newest(const double *series, size_t n, const JudgeSettings *settings, JudgeResult *judgement) {
        size_t n_before = n > 0 ? n - 1 : 0, n_needed = settings->method == JUDGE_RELATIVE ? 1 : 2;
        BaselineMoments moments = baseline_moments(series, n_before, settings->method == JUDGE_ZSCORE ? 0 : 1);
        ChangePoint point;

        judgement->points = calloc(1, sizeof(*judgement->points));
        if (!judgement->points)
                return -ENOMEM;
        if (n_before < n_needed)
                return 0;

        point = (ChangePoint){
                .index = n - 1, .mean_before = moments.mean, .mean_after = series[n - 1], .sd_before = moments.sd,
                .relative = (series[n - 1] - moments.mean) / fabs(moments.mean), .p_value = NAN,
        };
        judgement->verdict = JUDGE_NO_CHANGE;
        judgement->relative = point.relative;
        if (!is_beyond(settings->method, &moments, series[n - 1]))
                return 0;

        judgement->points[judgement->n_points++] = point;
        set_new_level(judgement, settings->direction, difference_of(&point), &point);
        return 0;
}

int judge_series(const double *series, size_t n, const JudgeSettings *settings, JudgeResult *ret) {
        JudgeResult judgement = {
                .verdict = JUDGE_UNKNOWN, .relative = NAN, .p_value = NAN, .since = n, .back_to = n,
                .smallest.change = NAN,
        };
        int r;

        if (settings->method == JUDGE_PERFD)
                r = judge_shift(series, n, settings, &judgement);
        else if (settings->method == JUDGE_HUNTER)
                r = judge_hunter(series, n, settings, &judgement);
        else
                r = judge_newest(series, n, settings, &judgement);
        if (r < 0)
                judge_deinit(&judgement);
        else
                *ret = judgement;
        return r;
}

void judge_refuse_noise(JudgeResult *judgement) {
        if (judgement->verdict != JUDGE_NO_CHANGE || !(judgement->smallest.change > SHIFT_SMALLEST_MAX))
                return;
        judgement->verdict = JUDGE_UNKNOWN;
        judgement->n_needed = judgement->smallest.n_more;
}

/* --- statuses ------------------------------------------------------------------------------------- */

static BaselineStatus hunter_status(size_t n, BaselineBool is_lower_better, const JudgeResult *judgement) {
        const ChangePoint *last = judgement->n_points > 0 ? &judgement->points[judgement->n_points - 1] : NULL;
        BaselineStatus status = { .is_accepted = BASELINE_TRUE, .is_improved = BASELINE_NONE, .description = "Inline" };
        bool is_improved;

        if (!last)
                return status;
        status.mean = last->mean_before;
        status.sd = last->sd_before;
        status.score = last->relative * 100;
        is_improved = is_lower_better == BASELINE_TRUE ? last->relative < 0 : last->relative >= 0;
        status.is_improved = is_improved ? BASELINE_TRUE : BASELINE_FALSE;
        if (last->index + 1 != n)
                return status;

        status.is_accepted = BASELINE_FALSE;
        status.rating = 1;
        status.description = is_improved ? "Jump" : "Regression";
        return status;
}

BaselineStatus judge_compat_status(const double *series, size_t n, const JudgeSettings *settings,
                                   const JudgeResult *judgement) {
        static const BaselineBool directions[] = {
                [JUDGE_NEITHER] = BASELINE_NONE, [JUDGE_LOWER] = BASELINE_TRUE, [JUDGE_HIGHER] = BASELINE_FALSE,
        };

        assert(n > 0);
        if (settings->method == JUDGE_HUNTER)
                return hunter_status(n, directions[settings->direction], judgement);
        if (settings->method == JUDGE_ZSCORE)
                return baseline_zscore_status(series, n - 1, series[n - 1]);
        return baseline_stdev_status(series, n - 1, series[n - 1], directions[settings->direction]);
}
