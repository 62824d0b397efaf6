/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Result energy: what the job of a result has used since its begin, or since its last result that has it
 *
 * The numbers are those that perfd has now; nothing waits for a meter. Each result has the sum so far as well, from
 * which the next one goes on, so that the results of a job add up to what it used.
 */

#include "client/cli/common_options.h"
#include "util/arena.h"
#include "value/value.h"

typedef struct ResultEnergy {
        double joules, total_joules;
        Arena arena; /* of the document */
} ResultEnergy;

void result_energy_deinit(ResultEnergy *energy);
/*
 * Adds energy_joules and energy_total_joules to the result of a document, or nothing after a message that has the
 * reason. job: an id; "": the job of Slurm. 0 or -ENOMEM. *document is borrowed from `energy`.
 */
int result_energy_add(ResultEnergy *energy, const GlobalOptions *global, const char *job, const Value **document);
