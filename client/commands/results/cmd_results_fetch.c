/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/matrix/results_fetch.h"
#include "client/matrix/results_file.h"
#include "client/matrix/results_publish.h"
#include "util/error_text.h"
#include "util/scoped.h"

typedef struct ResultsFetchOptions {
        const char *config, *url_file, *save; /* NULL: not given */
} ResultsFetchOptions;

static const Option options_table[] = {
        { "config", 0, "FILE", "Declaration of the values, instead of results.yaml in the current directory",
          OPTION_TEXT(ResultsFetchOptions, config), .value = OPTION_VALUE_FILE },
        { "url-file", 0, "FILE", "Fetch also the URLs in the lines of a file; - is standard input",
          OPTION_TEXT(ResultsFetchOptions, url_file), .value = OPTION_VALUE_FILE },
        { "save", 0, "DIRECTORY", "Write into this directory, instead of results in the current one",
          OPTION_TEXT(ResultsFetchOptions, save), .value = OPTION_VALUE_DIRECTORY },
        {},
};

/* The first failure is the status of all. */
static int fetch(const char *url, const char *directory, const Value *important, int status) {
        int r = results_fetch(url, directory, important);

        return status == EXIT_DONE ? r : status;
}

static int fetch_lines(const char *file, const char *directory, const Value *important, int status) {
        scoped(buffer_deinit) Buffer text = {};
        char *rest = NULL;
        int r;

        r = input_read(file, &text);
        if (r != EXIT_DONE || !text.text)
                return r;
        for (char *line = strtok_r(text.text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
                line += strspn(line, " \t");
                line[strcspn(line, " \t")] = '\0';
                if (*line && *line != '#')
                        status = fetch(line, directory, important, status);
        }
        return status;
}

static int results_fetch_run(const CommandLine *line) {
        const ResultsFetchOptions *options = line->options;
        const char *save = options->save ?: "results";
        scoped(results_file_deinit) ResultsFile file = {};
        scoped(freep) char *directory = NULL;
        TestTree tree = {};
        int r = EXIT_DONE;

        if (line->n_arguments == 0 && !options->url_file)
                return command_refuse("results fetch", "expected a URL, or --url-file");
        if (mkdir(save, 0777) == 0 || errno == EEXIST)
                directory = realpath(save, NULL);
        if (!directory) {
                message_print("cannot write into %s: %s", save, error_text(errno));
                return EXIT_FAILED;
        }
        tree.root = directory;
        if (options->config || access(RESULTS_FILE_NAME, F_OK) == 0)
                r = results_file_open(&file, options->config, &tree, NULL, 0);
        if (r != EXIT_DONE)
                return r;

        for (int i = 0; i < line->n_arguments; i++)
                r = fetch(line->arguments[i], directory, file.important, r);
        if (options->url_file)
                r = fetch_lines(options->url_file, directory, file.important, r);
        results_publish_note(&tree);
        return r;
}

const Command cmd_results_fetch = {
        .name = "results fetch",
        .arguments = "[URL…]",
        .summary = "Fetch directories of test results from servers",
        .help = "Fetches what is below each URL, or an archive, by wget and tar. Of a directory, only the files that "
                "make a test and the important files of the declaration are fetched, if it names any. What is there "
                "already is not fetched again, and nothing is written outside of the directory.",
        .examples = { "perfctl results fetch --save out https://ci.example.org/artifacts/4711/",
                      "perfctl results fetch --url-file urls.txt" },
        COMMAND_OPTIONS(ResultsFetchOptions, options_table),
        .n_arguments_max = COMMAND_MANY,
        .run = results_fetch_run,
};
