/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/sweep_point.h"

#include <assert.h>

/* Returns the index of the point's value of setting i. */
static size_t point_choice(const SweepPlan *plan, const SweepPoint *point, size_t i) {
        const SweepBlock *block = &plan->blocks[point->block];
        size_t ordinal = point->ordinal;

        assert(point->block < plan->n_blocks && i < block->n);
        for (size_t k = block->n - 1; k > i; k--)
                ordinal /= block->settings[k].n;
        return ordinal % block->settings[i].n;
}

const char *sweep_point_text(const SweepPlan *plan, const SweepPoint *point, size_t i) {
        return plan->blocks[point->block].settings[i].texts[point_choice(plan, point, i)];
}

Value sweep_point_settings(const SweepPlan *plan, const SweepPoint *point, Member all[static SWEEP_SETTINGS_MAX]) {
        const SweepBlock *block = &plan->blocks[point->block];

        for (size_t i = 0; i < block->n; i++)
                all[i] = (Member){ block->settings[i].key, block->settings[i].values[point_choice(plan, point, i)] };
        return (Value){ .type = VALUE_OBJECT, .members = all, .n_members = block->n };
}

void sweep_point_put(const SweepPlan *plan, const SweepPoint *point, Buffer *out) {
        const SweepBlock *block = &plan->blocks[point->block];

        for (size_t i = 0; i < block->n; i++)
                buffer_printf(out, "%s%s=%s", i > 0 ? " " : "", block->settings[i].key, sweep_point_text(plan, point, i));
}

void sweep_point_bind(const SweepPlan *plan, const SweepPoint *point, const char *node, const char *directory, Binding *all,
                      Bindings *ret) {
        const SweepBlock *block = &plan->blocks[point->block];
        size_t n = 0;

        for (; n < block->n; n++)
                all[n] = (Binding){ .name = block->settings[n].key, .text = sweep_point_text(plan, point, n) };
        all[n++] = (Binding){ .name = SWEEP_DIRECTORY, .text = directory };
        if (node)
                all[n++] = (Binding){ .name = SWEEP_NODE, .text = node };
        *ret = (Bindings){ .all = all, .n = n };
}
