/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep layout: names and settings of points on disk
 */

#include <stddef.h>

#include "client/sweep/sweep_plan.h"
#include "util/buffer.h"

#define SWEEP_DIRECTORY_MAX 200U /* bytes of a directory's name */

/* "007__threads=4__dtype=float32": no more than SWEEP_DIRECTORY_MAX bytes of [A-Za-z0-9._=+,@%:-], and no "..". */
void sweep_layout_put_directory(Buffer *out, const SweepPlan *plan, const SweepPoint *point, size_t number);

/* settings.yaml, in order of declaration. */
void sweep_layout_put_settings(Buffer *out, const SweepPlan *plan, const SweepPoint *point);

/* As sweep_text_identify_value() of its settings.yaml. 0 or -ENOMEM. */
int sweep_layout_identify(const SweepPlan *plan, const SweepPoint *point, Buffer *out);
