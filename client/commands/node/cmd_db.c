/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Commands db: perfd checks, copies and salvages the database, also while another perfd runs
 *
 * The program perfd does the work, because only perfd is linked to SQLite: perfctl would start more slowly with this
 * library. The files are read by their path and with the permissions of the user; a running perfd is asked only for
 * its directory.
 */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/api/answer.h"
#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/commands/commands.h"
#include "util/clock.h"
#include "util/error_text.h"

#define ASKING_NS (2 * NS_PER_S)

typedef struct DbOptions {
        const char *config, *directory;
} DbOptions;

static const Option db_options[] = {
        { "config", 0, "FILE", "Configuration file of perfd, if perfd is not running", OPTION_TEXT(DbOptions, config),
          .value = OPTION_VALUE_FILE },
        { "directory", 0, "DIRECTORY", "Directory of the database (default: as used by the running perfd, otherwise as configured)",
          OPTION_TEXT(DbOptions, directory), .value = OPTION_VALUE_DIRECTORY },
        {},
};

/* Finds the directory of the running perfd. Returns false if none answers. */
static bool ask_directory(const GlobalOptions *global, char ret[static PATH_MAX]) {
        scoped(api_query_deinit) ApiQuery query = {};
        const char *directory;

        if (api_query_init(&query, global) != EXIT_DONE)
                return false;
        http_client_set_timeout(query.client, ASKING_NS);
        if (api_query_try(&query, "/api/v1/node") != EXIT_DONE)
                return false;

        directory = answer_text(value_get(query.answer, "store"), "directory");
        return *directory && snprintf(ret, PATH_MAX, "%s", directory) < PATH_MAX;
}

/* perfd is beside perfctl in a build, in ../sbin when installed, else in the PATH. Returns on failure only. */
static void start_perfd(char *const words[]) {
        char own[PATH_MAX], path[PATH_MAX + 32];
        ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
        char *name;

        own[n > 0 ? n : 0] = '\0';
        name = strrchr(own, '/');
        for (size_t i = 0; name && i < 2; i++) {
                (void)snprintf(path, sizeof(path), "%.*s%s", (int)(name - own), own,
                               i == 0 ? "/perfd" : "/../sbin/perfd");
                (void)execv(path, words);
        }
        (void)execvp("perfd", words);
}

/* Starts perfd for the second word of the command's name. Returns an exit status, on failure only. */
static int db_run(const CommandLine *line) {
        const DbOptions *options = line->options;
        char directory[PATH_MAX], *words[12];
        const char *state = options->directory;
        size_t n = 0;

        if (!state && !options->config && ask_directory(&line->global, directory))
                state = directory;

        words[n++] = (char *)"perfd";
        if (options->config) {
                words[n++] = (char *)"--config";
                words[n++] = (char *)options->config;
        }
        if (state) {
                words[n++] = (char *)"--state";
                words[n++] = (char *)state;
        }
        words[n++] = (char *)"--db";
        words[n++] = (char *)strchr(line->command->name, ' ') + 1;
        words[n++] = (char *)"--";
        for (int i = 0; i < line->n_arguments; i++)
                words[n++] = line->arguments[i];
        words[n] = NULL;

        start_perfd(words);
        message_print("cannot start perfd, which is needed to read the database: %s", error_text(errno));
        return EXIT_FAILED;
}

/* --- db check --------------------------------------------------------------------------------- */

const Command cmd_db_check = {
        .name = "db check",
        .arguments = "[FILE]",
        .summary = "Check the database for damage",
        .help = "Reads all pages of the database, or of FILE, and prints the first 20 errors. Exits with 1 if there "
                "are any.",
        .examples = { "perfctl db check", "perfctl db check perfd.db.salvaged-2026-11-22T14:00:00Z" },
        COMMAND_OPTIONS(DbOptions, db_options),
        .n_arguments_max = 1,
        .value = OPTION_VALUE_FILE,
        .run = db_run,
};

/* --- db backup -------------------------------------------------------------------------------- */

const Command cmd_db_backup = {
        .name = "db backup",
        .arguments = "FILE",
        .summary = "Copy the database",
        .help = "Writes a consistent copy without unused pages. FILE must not exist; it appears when the copy is "
                "complete and on disk.",
        .examples = { "perfctl db backup /backup/perfd.db" },
        COMMAND_OPTIONS(DbOptions, db_options),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_FILE,
        .run = db_run,
};

/* --- db salvage ------------------------------------------------------------------------------- */

const Command cmd_db_salvage = {
        .name = "db salvage",
        .arguments = "DAMAGED FILE",
        .summary = "Copy the readable rows of a damaged database to a new one",
        .help = "Reads DAMAGED page by page, and skips damaged pages. perfd does this automatically with its own "
                "database.",
        .examples = { "perfctl db salvage perfd.db.damaged-2026-11-22T14:00:00Z new.db" },
        COMMAND_OPTIONS(DbOptions, db_options),
        .n_arguments_min = 2,
        .n_arguments_max = 2,
        .value = OPTION_VALUE_FILE,
        .run = db_run,
};
