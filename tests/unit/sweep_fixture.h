/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parses a plan from the text of a file. */

#include <string.h>

#include "client/sweep/sweep_plan.h"
#include "text/yaml.h"

typedef struct Planned {
        Arena arena;
        SweepPlan plan;
        SweepError error;
} Planned;

static inline void planned_deinit(Planned *planned) {
        sweep_plan_deinit(&planned->plan);
        arena_deinit(&planned->arena);
}

static inline int planned_read(Planned *ret, const char *text) {
        const Value *file;
        YamlError error;

        assert_int_equal(arena_init(&ret->arena, yaml_arena_size(strlen(text)) + sweep_plan_arena_size(strlen(text))),
                         0);
        assert_int_equal(yaml_read(text, strlen(text), &ret->arena, &file, &error), 0);
        return sweep_plan_read(file, NULL, &ret->arena, &ret->plan, &ret->error);
}
