/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kept parameters: what all runs of a batch were run with
 *
 * A run that failed could seldom say it. Where the others agree, it is theirs: then the run is counted where results of those parameters
 * are asked for.
 */

#include <stdbool.h>

#include "document/indicator.h"
#include "util/arena.h"
#include "util/buffer.h"

typedef struct KeptParameters {
        Buffer text; /* of an object with @parameters alone; "": nobody has said them */
        bool differ; /* then they are nobody's */
        Arena arena;
} KeptParameters;

void kept_parameters_deinit(KeptParameters *kept);

/* Adds the parameters of a run that printed them. 0 or -ENOMEM. */
int kept_parameters_add(KeptParameters *kept, const Indicator *indicator);

/* The document of a run that printed nothing, or NULL; valid as long as *kept. 0 or -ENOMEM. */
int kept_parameters_document(KeptParameters *kept, const Value **ret);
