/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Run job: a command run as a job, once or several times */

#include "client/cli/command.h"
#include "client/kpi/kpi_gate.h"
#include "client/run/job_info.h"

/* A command that runs several times. */
typedef struct RunBatchOptions {
        uint64_t repeat, warmup; /* 0: not given */
        const char *output; /* file of the statistics */
} RunBatchOptions;

typedef struct RunSpecOptions {
        const char *file, *script;
        bool keep;
} RunSpecOptions;

/* Actions when the job has ended. */
typedef struct RunEndOptions {
        const char *at_end;
        bool report, mlflow;
} RunEndOptions;

typedef struct RunOptions {
        JobOptions job;
        FailedRunOptions failed;
        RunBatchOptions batch;
        RunSpecOptions spec;
        RunEndOptions end;
        KpiGateOptions kpis;
        const char *isolation, *collect, *spool, *stack, *limits, *component_version, *from;
        const struct OutputFormat *format; /* of the output; NULL: it has indicators */
        const struct Value *specification; /* of which the command is a part; NULL: none */
        OptionTexts environment; /* names of variables */
        bool wait, verbose, quiet;
} RunOptions;

/*
 * Runs the command, whatever perfd does: trouble with perfd is reported, and never fails or delays the command.
 * command: its words, which end with NULL. Returns the command's exit status; if it is 0, the status of the gate; or
 * EXIT_USAGE.
 */
int run_job(const CommandLine *line, const RunOptions *options, char *const *command);
