/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Path: names of members and items within a JSON value, as benchmarks[0].mean
 *
 * The steps are keys (letters, digits and _, or anything in quotation marks, behind a point), indexes [0], [] for
 * all items of a list or members of an object, and [*], see format.h. Expressions have no [*].
 */

#include <stddef.h>

#include "value/value.h"

typedef enum PathStepKind {
        PATH_END,
        PATH_KEY,     /* a member of an object */
        PATH_ALL,     /* [] */
        PATH_INDEX,   /* [3] */
        PATH_PRODUCT, /* [*] */
        PATH_WRONG,   /* the path ends in the middle of a step */
} PathStepKind;

typedef struct PathStep {
        PathStepKind kind;
        const char *key; /* n bytes; borrowed from the path */
        size_t n, index;
} PathStep;

/* Reads the step at *p, of a path that began at `begin`, and moves *p behind it. */
PathStep path_next(const char *begin, const char **p);
/* Returns the member or item of a value that a step names; NULL: the value has none. */
const Value *path_get(const Value *value, const PathStep *step);
