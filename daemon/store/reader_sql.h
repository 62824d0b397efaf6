/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Questions: the SQL of the reader
 *
 * A filter that is not given does not appear in the statement, so that each statement can
 * name the index it runs on (INDEXED BY: it would not compile if it could not). Values are
 * bound, never spliced: ?1 … ?3 the filters, ?4 since, ?5 and ?6 the key rows come before.
 */

#include <stddef.h>

typedef enum Question {
        QUESTION_RESULTS = 0, /* + RESULTS_BY_… */
        QUESTION_JOBS = 8,    /* + JOBS_BY_… */
        QUESTION_JOB = 16,
        QUESTION_INDICATORS,
        QUESTION_NODE_SAMPLES,
        QUESTION_LAYOUT,
        QUESTION_PHASES,
        /* Those of points.c, inside each other; their values are told there. */
        QUESTION_PAIRS,
        QUESTION_ALL_PAIRS,
        QUESTION_SERIES,
        QUESTION_SERIES_EQUAL,
        QUESTION_SERIES_RANGE,
        QUESTION_POINTS,
        QUESTION_UNINDEXED,
        QUESTION_BATCH,
        QUESTION_MODEL,
        QUESTION_PARAMETERS,
        QUESTION_ALL_PARAMETERS,
        QUESTION_RESULT,
        N_QUESTIONS,
} Question;

enum {
        RESULTS_BY_NAME = 1,
        RESULTS_BY_COMPONENT = 2,
        RESULTS_BY_JOB = 4,

        JOBS_BY_NAME = 1,
        JOBS_BY_USER = 2,
        JOBS_BY_STATE = 4,
};

#define QUESTION_SQL_MAX 1024

void question_write_sql(unsigned question, char ret[static QUESTION_SQL_MAX]);
