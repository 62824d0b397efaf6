/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The commands of perfctl: their names, options and help
 */

#include <stdint.h>

#include "client/cli/options.h"
#include "client/cli/screen.h"

/* What perfctl ends with, but for `run`, which ends as its command did. */
enum {
        EXIT_DONE = 0,
        EXIT_FAILED = 1,
        EXIT_USAGE = 2,
        EXIT_UNREACHABLE = 3,
};

/* In the order of the overview. */
typedef enum CommandId {
        COMMAND_RUN,
        COMMAND_TIME,
        COMMAND_MARK,
        COMMAND_SWEEP,
        COMMAND_SUBMIT,
        COMMAND_IMPORT_INSPECTION,
        COMMAND_REPORT,
        COMMAND_METRICS,
        COMMAND_WATCH,
        COMMAND_EXPORT_PERF_REPORT,
        COMMAND_JOB_LIST,
        COMMAND_JOB_SHOW,
        COMMAND_JOB_BEGIN,
        COMMAND_JOB_END,
        COMMAND_INDICATOR_LIST,
        COMMAND_INDICATOR_SHOW,
        COMMAND_INDICATOR_QUERY,
        COMMAND_INDICATOR_RANK,
        COMMAND_INDICATOR_BATCH,
        COMMAND_INDICATOR_MODELS,
        COMMAND_INDICATOR_SCHEMA,
        COMMAND_INDICATOR_REGISTER,
        COMMAND_INDICATOR_UNREGISTER,
        COMMAND_STATUS,
        COMMAND_DOCTOR,
        COMMAND_FLUSH,
        N_COMMANDS,
} CommandId;

#define COMMAND_EXAMPLES_MAX 4

typedef struct CommandInfo {
        const char *name;
        const char *synopsis; /* after the name */
        const char *summary;  /* one line */
        const char *help;     /* what one must know */
        const char *examples[COMMAND_EXAMPLES_MAX];
        OptionSet options;    /* besides the global ones */
        int n_arguments_min;
        int n_arguments_max;  /* -1: any number */
        OptionSet many;       /* options with which it is any number all the same */
        OptionSet instead;    /* options with which there are none */
} CommandInfo;

extern const CommandInfo command_info[N_COMMANDS];

/*
 * The command that words[0] (and words[1]) name; *ret_n_words is how many it took. -1 when there is none, and then
 * *ret_nearest is the name that was probably meant, or NULL.
 */
int command_find(char *const *words, int n_words, int *ret_n_words, const char **ret_nearest);

void command_write_overview(Screen *screen);
/* Those whose first word it is. */
void command_write_group(Screen *screen, const char *word);
void command_write_help(Screen *screen, CommandId id);
