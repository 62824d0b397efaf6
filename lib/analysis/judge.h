/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Judge: change points of a series, and the verdict about its newest value
 */

#include <stddef.h>

#include "analysis/change_point.h"
#include "analysis/hunter.h"
#include "analysis/baseline.h"
#include "analysis/shift.h"

typedef enum JudgeMethod {
        JUDGE_PERFD,    /* shift.h */
        JUDGE_HUNTER,   /* hunter.h: only the newest value, if it alone is a new level */
        JUDGE_STDEV,    /* the newest value is beyond three standard deviations of all before it */
        JUDGE_ZSCORE,   /* as above, with the standard deviation of a population */
        JUDGE_RELATIVE, /* the newest value differs by more than 10 % from the mean of all before it */
        N_JUDGE_METHODS,
} JudgeMethod;

/* Names of the methods in command lines and answers, NULL-terminated. */
extern const char *const judge_method_names[N_JUDGE_METHODS + 1];

typedef enum JudgeDirection {
        JUDGE_NEITHER, /* neither is better */
        JUDGE_LOWER,
        JUDGE_HIGHER,
        N_JUDGE_DIRECTIONS,
} JudgeDirection;

/* Names in command lines, requests and answers, NULL-terminated: "none", "lower", "higher". */
extern const char *const judge_direction_names[N_JUDGE_DIRECTIONS + 1];

typedef enum JudgeVerdict {
        JUDGE_NO_CHANGE,   /* no change as large as `smallest` */
        JUDGE_REGRESSION,  /* a new, worse level */
        JUDGE_IMPROVEMENT, /* a new, better level */
        JUDGE_RETURNED,    /* a better level that was there before */
        JUDGE_CHANGED,     /* a new level, and no direction is better */
        JUDGE_RUN_AGAIN,   /* the newest values differ: more values show whether a new level began */
        JUDGE_UNKNOWN,     /* too few values, or too much noise */
        N_JUDGE_VERDICTS,
} JudgeVerdict;

extern const char *const judge_verdict_names[N_JUDGE_VERDICTS];

#define JUDGE_FRESH 40U /* number of values for which a new level is reported */

typedef struct JudgeSettings {
        JudgeMethod method;
        JudgeDirection direction;
        HunterSettings hunter;
        ShiftSettings shift;
} JudgeSettings;

typedef struct JudgeResult {
        ChangePoint *points; /* owned; ascending */
        size_t n_points;
        JudgeVerdict verdict;
        double relative; /* change from the level before to the newest value, or to the new level; NAN: not known */
        double p_value;  /* NAN: the method has none */
        size_t since;    /* index of the first value of the new level, or of those that differ; n if there is none */
        size_t back_to;  /* index of the first value of an earlier level that is reached again; n if there is none */
        size_t n_before; /* values of the level before `since`; 0: no change */
        size_t n_needed; /* more values that are needed for a verdict; 0: none */
        ShiftSmallest smallest; /* change that a few values of a new level would show */
} JudgeResult;

void judge_deinit(JudgeResult *judgement);
/* Judges a series of finite numbers. Caller deinits *ret. Returns 0 or -ENOMEM. */
int judge_series(const double *series, size_t n, const JudgeSettings *settings, JudgeResult *ret);

/* Makes "no change" unknown if the values vary so much that it says nothing. */
void judge_refuse_noise(JudgeResult *judgement);

/* Status of the newest value as matrix-benchmarking's method of this name reports it. method: hunter, stdev or
 * zscore. */
BaselineStatus judge_compat_status(const double *series, size_t n, const JudgeSettings *settings,
                                   const JudgeResult *judgement);
