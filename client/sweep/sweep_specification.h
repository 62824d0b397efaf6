/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep specification: the specification of a point
 *
 * A setting is the path of a field, with dots between the keys, as run.requests.cpu or
 * python.requirements.packages.numpy. In a list of named entries, a name takes the place of a key:
 * environment.OMP_NUM_THREADS is the value of the variable. Settings that begin with @ number repetitions and change
 * no field.
 */

#include "client/sweep/sweep_text.h"
#include "util/buffer.h"
#include "value/value.h"

typedef enum SweepUse {
        SWEEP_USE_NONE,    /* the specification has no object for the field */
        SWEEP_USE_CHANGED, /* the field had another value, or was added to a list of named entries */
        SWEEP_USE_ADDED,   /* the object had no such field */
} SweepUse;

/* Appends the specification with the settings as JSON. uses: of each setting. 0 or -ENOMEM. */
int sweep_specification_write(const Value *specification, const Value *settings, Buffer *out,
                              SweepUse uses[static SWEEP_SETTINGS_MAX]);
