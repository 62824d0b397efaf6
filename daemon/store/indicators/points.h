/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Points: the numbers of results that meet some conditions
 *
 * Where results are indexed (schema.c), the series that meet the conditions are found first, by an index of the
 * store when one of the conditions allows that, and then their points are read, and no document. What is not indexed, or not yet, is
 * looked up in the documents, one by one: the answer is the same, and takes longer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/condition.h"
#include "store/reader.h"
#include "util/scoped.h"

#define POINT_NUMBERS_MAX 16U

/*
 * Conditions are on parameters, and on component, version and hardware, of which a parameter is told
 * apart as @parameters.version. All is borrowed while the Points live.
 */
typedef struct PointFilter {
        const char *name;                /* NULL: all of them */
        const char *component, *version; /* NULL: any */
        uint64_t since_ms, until_ms;     /* [since, until); 0: open */
        const Condition *conditions;
        size_t n_conditions;
        const char *const *numbers; /* keys of @result, or overall_score */
        size_t n_numbers;           /* POINT_NUMBERS_MAX at most */
        PageKey before;             /* only results before it; {}: all */
} PointFilter;

typedef struct PointRow {
        int64_t series; /* results of one that is not 0 come one after the other, and differ in time and numbers only */
        const char *component, *version, *hardware; /* of these two NULL: not known */
        JsonText parameters; /* in the order of their keys */
        uint64_t time_ms;
        int64_t row;
        bool has_failed;
        const double *numbers; /* NAN where it has none, as a failed one has */
} PointRow;

typedef struct Points Points;

/*
 * The newest of a series comes first, and so it is with what is not indexed of a component; over all there is no order.
 * One at a time for a reader, with its time limit. 0 or an outcome of reader.h.
 */
int points_new(Points **ret, Reader *reader, const PointFilter *filter);
Points *points_free(Points *points);
DEFINE_SCOPED(Points, points_free);
/* *ret is borrowed until the next step. */
int points_next(Points *points, PointRow *ret);
/* Older ones of the same series (or those not indexed of the same component) are of no interest. */
void points_skip(Points *points);

/* The result with these parameters, version and so on: all conditions at once. */
bool point_meets(const PointRow *row, const Condition *conditions, size_t n_conditions);
/* The parameter that a key names, if it does not name another field. */
const char *point_parameter_key(const char *key);
/* The other field that it names; NULL: not known. */
const char *point_field(const PointRow *row, const char *key);

/* Results of a batch in the order of their index. */
typedef struct BatchRow {
        const char *name, *component, *version; /* version may be NULL */
        uint64_t time_ms, batch_index;
        bool has_exit_status, has_score;
        int64_t exit_status;
        double score;
        JsonText document, run; /* run may be none */
} BatchRow;
int reader_batch(Reader *reader, const uint8_t id[static 16]);
int reader_next_batch(Reader *reader, BatchRow *ret);

/*
 * What models say of the results of a name: {"rate":{"unit":…,"direction":"higher"},…}. Those of one component come first, and of
 * those that are for the same the one that holds (daemon/models.h).
 */
typedef struct ModelRow {
        const char *component; /* NULL: all */
        JsonText results, declaration; /* the latter as it was declared */
} ModelRow;
int reader_models(Reader *reader, const char *name);
int reader_next_model(Reader *reader, ModelRow *ret);

/* The parameters of each series of a name (NULL: of any), in no order: all there are where results are indexed. */
int reader_parameters(Reader *reader, const char *name);
int reader_next_parameters(Reader *reader, JsonText *ret);
