/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Inspection: Amun's directories of results
 *
 * DIRECTORY/build/specification and DIRECTORY/results/N/{result,hwinfo,log}, N from 0, with gaps where runs left nothing. One is a
 * batch. Its id and those of its results follow from the directory's name and N alone, so that the same again is known as such.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/import/amun.h"
#include "client/run/kept_parameters.h"

#define INSPECTION_RUNS_MAX 10000U

/* Files below a directory that may belong to another user. */
typedef struct InputTree {
        int fd; /* owned; of the directory, -1: not open */
        bool is_own;
} InputTree;

/* Only one run is in memory at a time. */
typedef struct InspectionRun {
        uint32_t index;
        char file[PATH_MAX];  /* its result's */
        Arena arena;          /* in which the rest lives */
        const Value *result;  /* as it was read; NULL: it was not */
        const Value *hwinfo;  /* NULL: none */
        Submission submission;
} InspectionRun;

typedef struct Inspection {
        char id[NAME_MAX + 1];
        uint8_t batch[RESULT_ID_BYTES];
        const char *directory; /* borrowed */
        InputTree tree;
        Arena arena;          /* in which the specification lives */
        AmunContext context;
        char *said[3];        /* owned: name, component and version that a run of it has said */
        KeptParameters parameters; /* and those */
        uint32_t *indices;    /* owned, of all runs, in order */
        size_t n_runs, n_allocated, n_read;
        size_t n_skipped;     /* of those read, spoken of */
        InspectionRun run;    /* the one read last */
        bool is_quiet;        /* its turn to be spoken of has not come */
} Inspection;

/*
 * Finds the runs and what they have in common. What is wrong with a file is said on standard error with its place, and the others
 * are taken. name, component: of failed runs, where neither they nor the first that says what it is say; may be NULL. They and
 * directory are borrowed. 0, or a negative errno, -ENODATA when there are no results at all; *ret needs inspection_deinit() either way.
 */
int inspection_open(Inspection *ret, const char *directory, const char *name, const char *component);
void inspection_deinit(Inspection *inspection);

enum {
        INSPECTION_END = 1,
};

/* The next run whose submission is complete, valid until the next call. 0, INSPECTION_END or a negative errno. */
int inspection_next(Inspection *inspection, const InspectionRun **ret);

/* 128 bits of a digest, in the form of a UUID of version 8. */
void inspection_derive_id(const char *inspection, uint8_t ret[static RESULT_ID_BYTES]);
void inspection_derive_result_id(const char *inspection, uint32_t index, uint8_t ret[static RESULT_ID_BYTES]);
