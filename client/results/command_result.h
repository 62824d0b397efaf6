/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Command result: the result of a run whose command printed no indicator
 *
 * Makes an indicator of the component `command` from the times and the resources of a run. perfd-indicators(5)
 * describes its members.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/run/output_tail.h"
#include "document/indicator.h"
#include "request/request.h"

#define COMMAND_RESULT_COMPONENT "command"
#define COMMAND_RESULT_TEXT_MAX 1024U /* of a command line; the rest of a longer one is replaced by its SHA-256 */

/* Memory of a command result in an arena. */
#define COMMAND_RESULT_ARENA_BYTES (3U * COMMAND_RESULT_TEXT_MAX + 4096U)

/* Times and resources of one run of a command. */
typedef struct RunFacts {
        bool has_rusage;
        JobRusage rusage;
        const OutputTail *error; /* NULL: standard error was not kept */
        uint64_t begin_realtime_ns, end_realtime_ns;
        double wall_seconds;
        uint64_t n_oom_kills;
} RunFacts;

/* A command whose runs are results themselves. */
typedef struct CommandBenchmark {
        char name[NAME_MAX_BYTES + 1]; /* of the indicator */
        const char *component;
        char *const *words;            /* the command, recorded as a parameter; NULL: not recorded. Borrowed */
} CommandBenchmark;

/* Copies a text as the name of an indicator: '_' replaces each character that such a name cannot contain. */
void command_result_name(const char *text, char ret[static NAME_MAX_BYTES + 1]);

/* Makes the document of a run, in the arena. 0 or -ENOMEM. */
int command_result_make(const CommandBenchmark *benchmark, const RunFacts *facts, Arena *arena, const Value **ret);
