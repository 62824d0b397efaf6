/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/output.h"
#include "client/commands/results/results_options.h"
#include "client/matrix/test_matrix.h"

typedef struct ResultsParseOptions {
        ResultsReadOptions read;
        bool json;
} ResultsParseOptions;

static int print(const CommandLine *line, const TestMatrix *matrix) {
        const ResultsParseOptions *options = line->options;
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        if (options->json) {
                test_matrix_write_json(matrix, &(Json){ .out = &out });
                buffer_putc(&out, '\n');
                return output_print(&out);
        }
        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        if (test_matrix_write_table(matrix, &screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        return output_print(&out);
}

static int results_parse_run(const CommandLine *line) {
        const ResultsParseOptions *options = line->options;
        scoped(test_matrix_deinit) TestMatrix matrix = {};
        int r;

        r = results_options_read(line, &options->read, &matrix);
        if (r == EXIT_DONE)
                test_matrix_print_findings(&matrix);
        if (r == EXIT_DONE)
                r = results_options_write_matrix(&options->read, &matrix);
        if (r == EXIT_DONE)
                r = print(line, &matrix);
        return r == EXIT_DONE && test_matrix_count_errors(&matrix) > 0 ? EXIT_FAILED : r;
}

const Command cmd_results_parse = {
        .name = "results parse",
        .arguments = "DIRECTORY",
        .summary = "Read the values of the tests in a directory",
        .help = "Finds the tests of a directory in the layout of MatrixBenchmarking, reads the values that the "
                "declaration, results.yaml in the current directory, names, and prints a table of the tests. What is "
                "missing or wrong is named with file and line; the rest is used.",
        .examples = { "perfctl results parse --config serving.yaml results/",
                      "perfctl results parse --output-matrix matrix.json results/" },
        COMMAND_OPTION_ROWS(ResultsParseOptions,
                OPTION_INCLUDE(ResultsParseOptions, read, ResultsReadOptions, results_read_options),
                OPTION_ROW_JSON(ResultsParseOptions, json)),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_DIRECTORY,
        .run = results_parse_run,
};
