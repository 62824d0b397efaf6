/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Run job: a command run as a job, once or several times */

#include "client/cli/command.h"
#include "client/kpi/kpi_gate.h"
#include "client/results/summary.h"
#include "client/run/job_info.h"
#include "client/wire/id.h"

/* A command that runs several times. */
typedef struct RunBatchOptions {
        uint64_t repeat, warmup; /* 0: not given */
        const char *output; /* file of the statistics */
        const struct RunOfBatch *place; /* NULL: all runs are a new batch */
        /* the numbers of the only run; then there is no summary, and results are kept only with their job; NULL: not
         * wanted */
        struct RunMeasured *measured;
} RunBatchOptions;

/* One run, of a batch that the caller makes of several jobs. */
typedef struct RunOfBatch {
        uint8_t batch[RESULT_ID_BYTES];
        uint64_t index;
        bool is_stored; /* otherwise the run leaves nothing but its job */
} RunOfBatch;

#define RUN_LAST_WORDS_MAX 200U

/* A number of an indicator that a run printed; the mean if it printed several. */
typedef struct RunResultNumber {
        char name[128]; /* of the indicator, and of the result */
        double value;
} RunResultNumber;

/* Numbers of a run: plain memory, which a caller may share with the process that runs the job. */
typedef struct RunMeasured {
        bool is_there;  /* the command was executed */
        bool has_job;   /* perfd has the end of the job */
        int exec_error; /* 0: none */
        size_t n_left;  /* processes of the command that still run */
        char last_words[RUN_LAST_WORDS_MAX]; /* last line of standard error; cut */
        double wall_seconds;
        JobRusage rusage;
        RunResultNumber numbers[SUMMARY_SERIES_MAX];
        size_t n_numbers;
} RunMeasured;

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
