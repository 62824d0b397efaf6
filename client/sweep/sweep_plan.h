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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/sweep/placeholder.h"
#include "client/sweep/sweep_text.h"
#include "document/value.h"
#include "util/arena.h"
#include "util/buffer.h"

#define SWEEP_POINTS_MAX 100000U
#define SWEEP_EXTRA_MAX 1000U
#define SWEEP_NODES_MAX 4096U
#define SWEEP_NAME_MAX 128U

/* Names of placeholders that are not settings. */
#define SWEEP_NODE "node"
#define SWEEP_DIRECTORY "directory"

typedef struct SweepSetting {
        const char *key;
        const Value *values; /* scalars, at least one */
        const char **texts;  /* text of each value */
        size_t n;
} SweepSetting;

typedef struct SweepBlock {
        SweepSetting *settings;
        size_t n;
} SweepBlock;

typedef struct SweepPoint {
        uint32_t block;
        uint32_t ordinal; /* in the block's product */
} SweepPoint;

/* All members except `points` live in the arena of the file's Value, or are borrowed from it. */
typedef struct SweepPlan {
        const char *name;   /* NULL: not given */
        const char *output; /* directory; NULL: not given */
        const char *script; /* for sh; NULL: the command is words */
        const char *const *words;
        size_t n_words;
        const Value *specification; /* of which the settings are fields; NULL: the plan has a command */
        const char *specification_script; /* file of the script; NULL: that of the specification */
        const char *const *launcher; /* words before the command */
        size_t n_launcher;
        const char *const *nodes;
        size_t n_nodes;
        SweepBlock *blocks;
        size_t n_blocks;
        SweepPoint *points; /* owned */
        size_t n_points;
        Buffer warnings; /* owned; a line each */
} SweepPlan;

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
