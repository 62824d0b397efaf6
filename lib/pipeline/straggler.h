/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stragglers: ranks of a run, a stage of which is slower than in the other ranks
 *
 * All ranks of a job run the same pipeline, and the slowest delays each step of all. A straggler is a rank whose
 * stage differs clearly from the median of the ranks, and more than the ranks differ among each other.
 */

#include <stddef.h>

#include "json/json.h"
#include "util/arena.h"
#include "util/buffer.h"
#include "value/value.h"

#define STRAGGLER_RANKS_MIN 3U /* with fewer, no rank is the exception */

typedef enum StragglerMeasure {
        STRAGGLER_MEASURE_READINESS, /* of a queue, 0…1: lower is worse */
        STRAGGLER_MEASURE_TIME,      /* of a task, in seconds: higher is worse */
        N_STRAGGLER_MEASURES,
} StragglerMeasure;

/* Names in options and JSON, "readiness" and "time", NULL-terminated. */
extern const char *const straggler_measure_names[N_STRAGGLER_MEASURES + 1];

/*
 * Finds the straggler that differs most. values: of n ranks; NAN: not known. Returns its index, with the median of
 * the known values in *ret_median; n: there is none, or less than STRAGGLER_RANKS_MIN values are known.
 */
size_t straggler_find(const double *values, size_t n, StragglerMeasure measure, double *ret_median);

/* A rank has a file or a job of its own. */
typedef struct RankFile {
        const char *name;      /* of the file or job; borrowed */
        const Value *verdicts; /* list as of pipeline_verdict.h; borrowed */
} RankFile;

typedef struct Straggler {
        const char *name;  /* NULL: no straggler of the whole run, only of parts of the run */
        const char *stage; /* of the straggler; NULL: a measure of the whole rank */
        StragglerMeasure measure;
        double value, median; /* of the straggler, and of all ranks */
        size_t n_ranks;
        const char *const *in_turn; /* ranks that were slow one after the other; borrowed */
        size_t n_in_turn;           /* 0: the slow rank does not change */
} Straggler;

/*
 * Calls report() for each stage and measure with a straggler; `name` is of its file. Stages of different files are
 * the same if pipeline, position and name agree. Returns 0 or -ENOMEM.
 */
int straggler_find_all(const RankFile *files, size_t n, void (*report)(const Straggler *straggler, void *userdata),
                       void *userdata);

/* Writes "rank3.json is a straggler: a task of decode takes 412 ms, the median of 8 ranks is 170 ms." */
void straggler_put(const Straggler *straggler, Buffer *out);
void straggler_put_json(const Straggler *straggler, Json *json);

#define STRAGGLER_SERIES_PARTS 10U

/*
 * One measure of all ranks of a job, as dashboards export it: a JSON object with a list of numbers, or of texts of
 * numbers, for each rank, and `event_time`, which is ignored. null and "" are missing numbers.
 */
typedef struct RankSeries {
        Arena arena;
        const char **names; /* of the ranks; owned, the texts are in the arena */
        double *means;      /* owned; NAN: a rank without numbers */
        /* owned; means of STRAGGLER_SERIES_PARTS equal parts of the run for each rank; NAN: the list is too short */
        double *parts;
        size_t n;
        char error[512];
} RankSeries;

enum {
        STRAGGLER_SERIES_INVALID = 1, /* `error` has the place, the error and a fix */
};

/*
 * Reads a text; the first of three or more numbers of a rank does not count. 0, STRAGGLER_SERIES_INVALID or -ENOMEM.
 * Deinit in all cases.
 */
int straggler_series_read(RankSeries *series, const char *name, const Buffer *text);
void straggler_series_deinit(RankSeries *series);

/*
 * Finds whether the slow rank changes within the run. Writes the ranks that are the straggler of two parts of the
 * run or more, in the order of time, without repetitions in succession. Returns their number: 0, or at least 2. A
 * rank that is the straggler of three quarters of these parts is slow itself: then the number is 0.
 */
size_t straggler_series_find_turns(const RankSeries *series, StragglerMeasure measure,
                                   size_t ret[static STRAGGLER_SERIES_PARTS]);
