/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Command summary: statistics of command results
 *
 * Prints what a benchmark of commands is expected to print: the time of the runs with its spread, the CPU time, and reasons to
 * distrust the numbers.
 */

#include "client/results/summary.h"

/* Appends lines about each indicator of the component `command`. Sorts the values. */
void command_summary_write(Summary *summary, Buffer *out);

/* Appends "run 3 of 20: median 201.4 ms, 3.6 s left"; n_left runs follow. Does nothing before the first result. */
void command_summary_write_progress(const Summary *summary, uint64_t n_left, Buffer *out);
