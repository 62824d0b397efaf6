/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Compare report: one table, one sentence, and remarks */

#include "client/cli/screen.h"
#include "client/compare/comparison.h"
#include "client/wire/id.h"

/* Facts beside the numbers. */
typedef struct CompareFacts {
        const char *names[2]; /* the commands, files or batches; borrowed */
        double within;        /* ratio */
        bool is_stored;       /* the runs were there before */
        bool has_floor;
        bool has_perfd;       /* of a comparison that runs: perfd has the jobs */
        size_t n_failed, n_timed_out, n_disturbed; /* pairs that were left out */
        size_t n_left[2];     /* runs after which processes of the command still ran */
        char stop[256];       /* why it ended before a verdict; "": it did not */
        char batches[2][RESULT_ID_TEXT_MAX]; /* of the stored results; "": none */
        NoiseHistory noise;
} CompareFacts;

/*
 * Appends "B is 2.1 % slower (1.6 to 2.7), after 23 pairs", or what is known else: "wall time of B against A: unknown
 * after 60 pairs, at most 1.4 % faster or 1.1 % slower".
 */
void compare_report_put_sentence(const ComparisonRow *row, Buffer *out);
/* Appends the report. 0 or -ENOMEM. */
int compare_report_write(const PairedRuns *runs, const ComparisonRow *decisive, const CompareFacts *facts,
                         Screen *screen);
int compare_report_write_json(const PairedRuns *runs, const ComparisonRow *decisive, const CompareFacts *facts,
                              Buffer *out);
