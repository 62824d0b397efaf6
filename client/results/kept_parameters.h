/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kept parameters: the parameters that all runs of a batch share
 *
 * A failed run has seldom printed its parameters. If the other runs agree, the failed run gets their parameters, and
 * is counted in queries for results with these parameters.
 */

#include <stdbool.h>

#include "document/indicator.h"
#include "util/arena.h"
#include "util/buffer.h"

typedef struct KeptParameters {
        /* of an object with @parameters, and the build information of frameworks; "": no run has printed parameters */
        Buffer text;
        bool differ; /* the runs have different parameters, so that none are shared */
        Arena arena;
} KeptParameters;

void kept_parameters_deinit(KeptParameters *kept);

/* Adds the parameters of a run that printed them. 0 or -ENOMEM. */
int kept_parameters_add(KeptParameters *kept, const Indicator *indicator);

/* The document of a run that printed nothing, or NULL; valid as long as *kept. 0 or -ENOMEM. */
int kept_parameters_document(KeptParameters *kept, const Value **ret);
