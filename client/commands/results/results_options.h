/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Options of the commands that read a directory of test results */

#include "client/cli/command.h"
#include "client/matrix/test_matrix.h"

typedef struct ResultsReadOptions {
        const char *config, *matrix; /* NULL: not given */
        OptionTexts presets;
        bool no_cache;
} ResultsReadOptions;

extern const Option results_read_options[];

/* Reads the directory that the command line names. As test_matrix_read(). */
int results_options_read(const CommandLine *line, const ResultsReadOptions *options, TestMatrix *ret);
/* Writes the file of --output-matrix, if it was given. Returns EXIT_DONE, or EXIT_FAILED after a message. */
int results_options_write_matrix(const ResultsReadOptions *options, const TestMatrix *matrix);
