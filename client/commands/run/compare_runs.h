/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compare runs: runs two commands in pairs, each run as a job, until the numbers suffice for a verdict
 *
 * A coin decides the order in each pair. Each run is a process of its own with a new process group, without input and
 * with its output read for indicators, so that all runs begin alike: perfctl's CPU affinity, limits, environment and
 * directory are those of all of them.
 */

#include "client/cli/command.h"
#include "client/compare/compare_report.h"

typedef struct CompareOptions {
        uint64_t pairs, warmup, timeout_ns; /* timeout_ns 0: none */
        const char *prepare, *objective, *direction, *fail_on;
        const char *runs; /* of A, stored; those of B are the argument. NULL: the arguments are commands */
        double within;    /* ratio */
        bool floor, json;
} CompareOptions;

/*
 * Runs the pairs, and sets what the facts say about them. commands: each ends with NULL. Returns EXIT_DONE; EXIT_FAILED
 * if a command kept failing; or 128 and the signal that interrupted the comparison: the pairs so far are valid. Or
 * another exit status after a message.
 */
int compare_runs(const CommandLine *line, const CompareOptions *options, char *const *const commands[static 2],
                 PairedRuns *runs, CompareFacts *facts);
