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
#include <stdint.h>

#include "client/sweep/placeholder.h"
#include "client/sweep/sweep_text.h"
#include "util/arena.h"
#include "util/buffer.h"
#include "value/value.h"

#define SWEEP_POINTS_MAX 100000U
#define SWEEP_EXTRA_MAX 1000U
#define SWEEP_NAME_MAX 128U

#define SWEEP_DIRECTORY "directory" /* name of the placeholder that is not a setting */

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

/*
 * Reads the plan from the tree of the file. specification: content of the file that the file names as its
 * specification; NULL: none. 0, SWEEP_WRONG or a negative errno.
 */
int sweep_plan_read(const Value *file, const Value *specification, Arena *arena, SweepPlan *ret, SweepError *ret_error);
/* Returns the memory for the plan of a file of n bytes, without its tree. */
size_t sweep_plan_arena_size(size_t n);

/* Returns the text of the point's value of setting i. */
const char *sweep_plan_text(const SweepPlan *plan, const SweepPoint *point, size_t i);
/* Returns the object of the point's settings, in order of declaration. Its members are in `all`. */
Value sweep_plan_settings(const SweepPlan *plan, const SweepPoint *point, Member all[static SWEEP_SETTINGS_MAX]);
/* Writes "k=v k2=v2", for messages. */
void sweep_plan_put_point(const SweepPlan *plan, const SweepPoint *point, Buffer *out);
/* Fills `all` with the values of the point's placeholders: its settings and the directory. */
void sweep_plan_bind(const SweepPlan *plan, const SweepPoint *point, const char *directory,
                     Binding all[static SWEEP_SETTINGS_MAX + 1], Bindings *ret);
