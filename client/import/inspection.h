#pragma once

/*
 * Inspections: Amun's directories of results
 *
 * DIRECTORY/build/specification and DIRECTORY/results/N/{result,hwinfo,log}, N from 0, with gaps where runs left nothing. One is a
 * batch. Its id and those of its results follow from the directory's name and N alone, so that the same again is known as such.
 */

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "client/import/amun.h"

#define INSPECTION_RUNS_MAX 10000U

typedef struct InspectionRun {
        uint32_t index;
        char *file;           /* owned: of its result */
        Arena arena;          /* in which the rest lives */
        const Value *result;  /* as it was read; NULL: it was not */
        const Value *hwinfo;  /* NULL: none */
        Submission submission;
        bool is_good; /* the submission is complete */
} InspectionRun;

typedef struct Inspection {
        char id[NAME_MAX + 1];
        uint8_t batch[RESULT_ID_BYTES];
        Arena arena;
        const Value *specification; /* NULL: none that can be read */
        InspectionRun *runs;        /* owned, in order of their indices */
        size_t n_runs;
        size_t n_skipped; /* of them, spoken of */
} Inspection;

void inspection_deinit(Inspection *inspection);

/*
 * Reads all of it. What is wrong with a file is said on standard error with its place, and the others are taken. name, component: of failed
 * runs, where neither they nor the others of the inspection say; may be NULL. 0, or a negative errno when there are no results at all.
 */
int inspection_read(Inspection *ret, const char *directory, const char *name, const char *component);

/* 128 bits of a digest, in the form of a UUID of version 8. */
void inspection_derive_id(const char *inspection, uint8_t ret[static RESULT_ID_BYTES]);
void inspection_derive_result_id(const char *inspection, uint32_t index, uint8_t ret[static RESULT_ID_BYTES]);
