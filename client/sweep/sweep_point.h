/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sweep point: the settings of one point of a plan. */

#include "client/sweep/placeholder.h"
#include "client/sweep/sweep_text.h"
#include "client/sweep/sweep_types.h"

/* Returns the text of the point's value of setting i. */
const char *sweep_point_text(const SweepPlan *plan, const SweepPoint *point, size_t i);
/* Returns the object of the point's settings, in order of declaration. Its members are in `all`. */
Value sweep_point_settings(const SweepPlan *plan, const SweepPoint *point, Member all[static SWEEP_SETTINGS_MAX]);
/* Writes "k=v k2=v2", for messages. */
void sweep_point_put(const SweepPlan *plan, const SweepPoint *point, Buffer *out);

/*
 * Fills `all` with the values of the point's placeholders: its settings, `node` (NULL: none) and the directory. `all` has space for
 * SWEEP_SETTINGS_MAX + 2 bindings.
 */
void sweep_point_bind(const SweepPlan *plan, const SweepPoint *point, const char *node, const char *directory, Binding *all,
                      Bindings *ret);
