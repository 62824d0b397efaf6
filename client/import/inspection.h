/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Inspection: reads a directory of Amun results
 *
 * An inspection consists of DIRECTORY/build/specification and DIRECTORY/results/N/{result,hwinfo,log}, where N counts
 * from 0, with gaps for runs without files. It becomes one batch. The ids of the batch and of its results are derived
 * from the directory's name and N, so that a second import of the same directory yields duplicates.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/import/amun.h"
#include "client/results/kept_parameters.h"

#define INSPECTION_RUNS_MAX 10000U

/* Files below a directory that may belong to another user. */
typedef struct InputTree {
        int fd; /* owned; the open directory, or -1 */
        bool is_own;
} InputTree;

/* A run; only one is in memory at a time. */
typedef struct InspectionRun {
        uint32_t index;
        char file[PATH_MAX];  /* path of its result */
        Arena arena;          /* memory of the members below */
        const Value *result;  /* parsed result; NULL if it could not be read */
        const Value *hwinfo;  /* NULL if there is none */
        Submission submission;
} InspectionRun;

typedef struct Inspection {
        char id[NAME_MAX + 1];
        uint8_t batch[RESULT_ID_BYTES];
        const char *directory; /* borrowed */
        InputTree tree;
        Arena arena;          /* memory of the specification */
        AmunContext context;
        char *names[3];       /* owned: name, component and version that a run printed */
        KeptParameters parameters; /* parameters of that run */
        uint32_t *indices;    /* owned, indices of all runs, sorted */
        size_t n_runs, n_allocated, n_read;
        size_t n_skipped;     /* runs read so far that were skipped with a message */
        InspectionRun run;    /* latest run */
        bool is_quiet;        /* suppress messages during the first pass */
} Inspection;

/*
 * Finds the runs, their specification and their names. Errors in a file are reported on standard error, and the other
 * files are used. name, component: for failed runs, if neither the run nor the first valid run has them; may be NULL.
 * All strings are borrowed. Returns 0, or a negative errno: -ENODATA if there are no results. Call
 * inspection_deinit() in all cases.
 */
int inspection_open(Inspection *ret, const char *directory, const char *name, const char *component);
void inspection_deinit(Inspection *inspection);

enum {
        INSPECTION_END = 1,
};

/*
 * Reads the next run with a complete submission, valid until the next call. Returns 0, INSPECTION_END or a negative
 * errno.
 */
int inspection_next(Inspection *inspection, const InspectionRun **ret);

/* Derives 128 bits from a SHA-256 digest, in the form of a UUID version 8. */
void inspection_derive_id(const char *inspection, uint8_t ret[static RESULT_ID_BYTES]);
void inspection_derive_result_id(const char *inspection, uint32_t index, uint8_t ret[static RESULT_ID_BYTES]);
