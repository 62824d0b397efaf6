/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Run results: the submissions made of one run of a command
 *
 * The indicators among what it printed, each with the record of the run. A run that failed has no result: what it printed is kept
 * with its exit status, and where it printed nothing and somebody wants to know all the same, a submission without a document.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/run/capture.h"
#include "client/run/run_record.h"
#include "request/request.h"

typedef struct RunResultsPlan {
        const char *job;
        bool is_wanted; /* that there is none is worth a word, and a failed run without one is kept */
        bool has_batch;
        uint8_t batch[RESULT_ID_BYTES];
        const RunPlace *place;
} RunResultsPlan;

typedef struct RunResults {
        Arena arena;
        Submission *items; /* owned */
        size_t n_items;
        bool is_unnamed; /* its only item is a failed run, and what it results is still to be given */
} RunResults;

void run_results_deinit(RunResults *results);

/*
 * index: of the run in its batch. What is no proper indicator is spoken of. 0 or a negative errno; *ret is to be deinitialised in any case.
 */
int run_results_read(RunResults *ret, const RunResultsPlan *plan, const Capture *capture, const RunFacts *facts, int exit_status,
                     uint32_t index);

/* Names what is unnamed. document: in place of what it printed, or NULL. Both borrowed. False when the name cannot be one. */
bool run_results_name(RunResults *results, const Value *document, const IndicatorGiven *given);
