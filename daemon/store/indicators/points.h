/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Points: the numbers of results that meet conditions
 *
 * For indexed results (store_indicators.c), finds the series that meet the conditions, by an index if a condition
 * allows that, and reads their points, but no documents. Looks up other results in their documents: the rows are the
 * same, but the query takes longer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/condition.h"
#include "document/derived.h"
#include "store/indicators/stack_facts.h"
#include "store/read/reader.h"
#include "util/scoped.h"

#define POINT_NUMBERS_MAX 16U
/* Prefix for the key of a fact of a run, as run.host.kernel. Some facts are only for the user of the run, and have
 * no key. */
#define POINT_RUN "run."
/* Prefix for the key of a label, of the document (@labels) or else of the run, as label.model_name. */
#define POINT_LABEL "label."

/*
 * Conditions name parameters, or the fields component, version and hardware, a fact of the software stack
 * (stack_facts.h), a fact of the run, a label, or the batch; @parameters.version is the parameter of that name.
 * `batch` is the parameter where results have one. With with_labels, which reads every document, a key is the label
 * of its name where a result has no such parameter. Everything is borrowed while the Points live.
 *
 * A number may be a list of numbers, or name one by a path as benchmarks[].mean: its value is the median.
 */
typedef struct PointFilter {
        const char *name;                /* NULL: all */
        const char *component, *version; /* NULL: any */
        uint64_t since_ms, until_ms;     /* [since, until); 0: no bound */
        const Condition *conditions;
        size_t n_conditions;
        const char *const *numbers; /* keys or paths of @result, or overall_score */
        size_t n_numbers;           /* at most POINT_NUMBERS_MAX */
        const DerivedModels *derived; /* computes the numbers that models derive; NULL: none */
        const char *const *fields;  /* keys that will be read from the rows, beside the parameters */
        size_t n_fields;
        bool with_batches;          /* reads PointRow.batch, also of indexed results */
        bool with_labels;
        bool with_lists;            /* reads every document: numbers that models declare may be lists */
        bool sees_all;              /* keys of specifications are found in those of all users */
        int64_t viewer;             /* otherwise in those of this user */
        PageKey before;             /* only results before this key; {}: all */
} PointFilter;

/* The numbers of a list, sorted. n 0: the number is no list. */
typedef struct PointList {
        double *items; /* owned by the Points */
        size_t n, n_max;
} PointList;

typedef struct PointRow {
        int64_t series; /* not 0: results of the series are consecutive, and differ only in time and numbers */
        const char *component, *version, *hardware; /* version and hardware: NULL if unknown */
        JsonText parameters; /* sorted by key */
        uint64_t time_ms;
        int64_t row;
        bool has_failed;
        const double *numbers; /* in the order of the filter; NAN: no such number, or the run failed */
        const PointList *lists; /* of each number; NULL: no number is a list */
        int64_t stack;         /* 0: unknown */
        StackFacts *stacks;    /* borrowed; facts of the stack */
        JsonText run, labels;  /* read only if a key of the filter requires it, as is the next */
        JsonText specification; /* of a result of the viewer; else empty */
        bool with_labels;      /* of the filter */
        const char *batch;     /* as above; 32 hexadecimal digits, or NULL */
} PointRow;

typedef struct Points Points;

/* Begins a query. The results of a series come newest first, and so do those of a component and user that are not
 * indexed; otherwise there is no order. A reader has one Points at a time, with its time limit. 0 or an outcome of
 * reader.h. */
int points_new(Points **ret, Reader *reader, const PointFilter *filter);
Points *points_free(Points *points);
DEFINE_SCOPED(Points, points_free);
/* *ret is borrowed until the next step. */
int points_next(Points *points, PointRow *ret);
/* Skips the older results of the same series, or of the same component when they are not indexed. */
void points_skip(Points *points);

/* True if the result meets all conditions; of several = of one key, one. */
bool point_meets(const PointRow *row, const Condition *conditions, size_t n_conditions);
/* Returns the parameter that a key names; NULL: the key names a field. */
const char *point_parameter_key(const char *key);
/* Finds the value of a key: *ret_json if it is a parameter or a fact of a run, else *ret_text; NULL: unknown. */
void point_find(const PointRow *row, const char *key, JsonText *ret_json, const char **ret_text);
