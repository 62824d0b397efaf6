/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep plan: the content of a file for `perfctl sweep`
 *
 * A block is a list of settings with one or several values each, and stands for their cartesian product in the order of
 * declaration: the last setting changes fastest. The first block is the file's `settings`; each entry of `extra` is
 * a further block, with some of these settings replaced. Points listed in `exclude` are left out. A point is
 * identified by the texts of its settings: 1 and "1" are the same.
 */

#include <stddef.h>

#include "client/sweep/sweep_types.h"
#include "util/arena.h"
#include "value/value.h"

typedef struct SweepError {
        char text[512]; /* "settings.x: is an empty list: …" */
} SweepError;

enum {
        SWEEP_WRONG = 1, /* *ret_error has the reason and a fix */
};

void sweep_plan_deinit(SweepPlan *plan);

/* Parts of a plan from other places than the file; NULL: not given. */
typedef struct SweepGiven {
        const char *launcher, *nodes; /* of the command line, instead of those of the file; nodes are separated by commas */
        const Value *specification;   /* content of the file that the file names as its specification */
} SweepGiven;

/* Reads the plan from the tree of the file. 0, SWEEP_WRONG or a negative errno. */
int sweep_plan_read(const Value *file, const SweepGiven *given, Arena *arena, SweepPlan *ret, SweepError *ret_error);
/* Returns the memory for the plan of a file of n bytes, without its tree, including the words of the command line. */
size_t sweep_plan_arena_size(size_t n);
