/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Run results: the submissions made of one run of a command
 *
 * Each indicator that the run printed is submitted with the record of the run, which perfd-protocol(7) describes. A
 * run that failed has no result: its output is kept with its exit status. A failed run without output becomes a
 * submission without a document if results were asked for. Facts that do not change from run to run are found once,
 * after the first, so that no run is delayed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/cli/options.h"
#include "client/format/format.h"
#include "client/run/capture.h"
#include "client/facts/host_facts.h"
#include "client/results/command_result.h"
#include "client/facts/script.h"
#include "request/request.h"

/* Facts that all runs of one command share. */
typedef struct RunPlace {
        HostFacts host;
        bool has_script;
        Script script;
        const char *program; /* the first word of the command; borrowed */
        const char *component, *version; /* of results that do not name them; borrowed; NULL: unknown */
        char python[PROGRAM_VERSION_MAX], gcc[PROGRAM_VERSION_MAX], cuda[PROGRAM_VERSION_MAX]; /* "": not known */
        OptionTexts environment; /* names of the variables to record */
        OptionTexts labels;      /* of the job, KEY=VALUE; the settings of a sweep are among them */
        const SubmissionStack *stack; /* borrowed; NULL: unknown */
        const Value *specification;   /* borrowed; NULL: none */
} RunPlace;

/* Finds hardware and versions, after the first run. The script, which may change itself, is found before. */
void run_results_read_place(RunPlace *place);

/* Memory of a record in an arena. Values of the environment are cut to 4 KiB. */
#define RUN_RECORD_ARENA_BYTES (HOST_FACTS_ARENA_BYTES + 2U * OUTPUT_TAIL_BYTES_MAX + OPTION_TEXTS_MAX * (4352U + 512U))

typedef struct RunResultsPlan {
        const char *job;
        bool is_wanted;    /* a missing indicator is reported */
        bool keeps_failed; /* a failed run without an indicator is a result */
        const OutputFormat *format; /* of the output; NULL: the output has indicators. Borrowed */
        /* of runs that print no indicator; NULL: such a run is not a result. Borrowed */
        const CommandBenchmark *benchmark;
        bool has_batch;
        uint8_t batch[RESULT_ID_BYTES];
        const RunPlace *place;
} RunResultsPlan;

typedef struct RunResults {
        Arena arena;
        Submission *items; /* owned */
        size_t n_items;
        bool is_unnamed; /* the only item is a failed run, whose indicator is not known yet */
} RunResults;

void run_results_deinit(RunResults *results);

/* Reports output that is not a valid indicator. index: of the run in its batch. 0 or a negative errno; *ret is
 * always initialised. */
int run_results_read(RunResults *ret, const RunResultsPlan *plan, Capture *capture, const RunFacts *facts,
                     int exit_status, uint32_t index);
