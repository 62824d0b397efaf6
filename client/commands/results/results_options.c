/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/results/results_options.h"

#include "client/cli/output.h"

const Option results_read_options[] = {
        { "config", 0, "FILE", "Declaration of the values, instead of results.yaml in the current directory",
          OPTION_TEXT(ResultsReadOptions, config), .value = OPTION_VALUE_FILE },
        { "preset", 0, "NAME", "Change the declaration by one of its presets; may be repeated",
          OPTION_TEXTS(ResultsReadOptions, presets, OPTION_TEXTS_MAX, option_parse_list) },
        { "no-cache", 0, NULL, "Read all values again, and keep none in the directories of the tests",
          OPTION_FLAG(ResultsReadOptions, no_cache) },
        { "output-matrix", 0, "FILE", "Write the tests with settings and values as JSON",
          OPTION_TEXT(ResultsReadOptions, matrix), .value = OPTION_VALUE_FILE },
        {},
};

int results_options_read(const CommandLine *line, const ResultsReadOptions *options, TestMatrix *ret) {
        return test_matrix_read(ret, &(TestMatrixOptions){ .directory = line->arguments[0],
                                                           .config = options->config,
                                                           .presets = options->presets.items,
                                                           .n_presets = options->presets.n,
                                                           .global = &line->global,
                                                           .has_cache = !options->no_cache,
                                                           .shows_progress = isatty(STDERR_FILENO) == 1 });
}

int results_options_write_matrix(const ResultsReadOptions *options, const TestMatrix *matrix) {
        scoped(buffer_deinit) Buffer out = {};

        if (!options->matrix)
                return EXIT_DONE;
        test_matrix_write_json(matrix, &(Json){ .out = &out });
        buffer_putc(&out, '\n');
        return output_write_file(options->matrix, &out);
}
