/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sweep types: the parts of a plan (sweep_plan.h) */

#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"
#include "value/value.h"

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
