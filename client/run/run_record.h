/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The record of a run: how a measurement was made
 *
 * perfd-protocol(7), run, has its members. What does not change from run to run is found once, after the first, so that it
 * delays none.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/cli/options.h"
#include "client/run/host_facts.h"
#include "client/run/output_tail.h"
#include "client/run/script.h"
#include "job/job.h"

/* Facts that all runs of one command share. */
typedef struct RunPlace {
        HostFacts host;
        bool has_script;
        Script script;
        const char *program; /* the first word of the command; borrowed */
        char python[PROGRAM_VERSION_MAX], gcc[PROGRAM_VERSION_MAX], cuda[PROGRAM_VERSION_MAX]; /* "": not known */
        OptionTexts environment; /* names of the variables to record */
} RunPlace;

/* Hardware and versions; the script, which may change itself, is found before the first run. */
void run_record_read_place(RunPlace *place);

typedef struct RunFacts {
        bool has_rusage;
        JobRusage rusage;
        const OutputTail *error; /* NULL: standard error was not kept */
        uint64_t begin_realtime_ns, end_realtime_ns;
        double wall_seconds;
        uint64_t n_oom_kills;
} RunFacts;

/* The record, in the arena, of at least RUN_RECORD_ARENA_BYTES. 0 or -ENOMEM. */
int run_record_make(const RunPlace *place, const RunFacts *facts, Arena *arena, const Value **ret);
/* Values of the environment are cut to 4 KiB. */
#define RUN_RECORD_ARENA_BYTES (HOST_FACTS_ARENA_BYTES + 2U * OUTPUT_TAIL_BYTES_MAX + OPTION_TEXTS_MAX * 4352U)
