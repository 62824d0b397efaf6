/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Command: name, help, options and function of one command of perfctl
 *
 * Each command is one file that defines one `const Command cmd_…`. The functions below find commands in a list, and write their help.
 */

#include "client/cli/common_options.h"
#include "client/cli/screen.h"

/* Exit status of perfctl, except for `run` and `time`, which exit as their command does. */
enum {
        EXIT_DONE = 0,
        EXIT_FAILED = 1,
        EXIT_USAGE = 2,
        EXIT_UNREACHABLE = 3,
};

#define COMMAND_EXAMPLES_MAX 4
#define COMMAND_NAME_MAX 64U
#define COMMAND_OPTIONS_MAX 2048U /* bytes of a command's own options */
#define COMMAND_MANY (-1)         /* any number of arguments */

typedef struct Command Command;

/* A parsed command line; everything is borrowed. */
typedef struct CommandLine {
        const Command *command;
        const void *options; /* the command's own struct */
        GlobalOptions global;
        char **arguments;    /* end with NULL */
        int n_arguments;
        int n_before_dashes; /* how many of them stood before `--`; -1: there was none */
} CommandLine;

struct Command {
        const char *name;      /* one word or two, as "job list" */
        const char *arguments; /* synopsis behind the options, as "NAME [COMPONENT]"; "" for none */
        const char *summary;   /* one line */
        const char *help;      /* paragraph that is wrapped when it is shown; "" for none */
        const char *examples[COMMAND_EXAMPLES_MAX];
        const Option *options; /* besides the global ones; NULL: none */
        size_t options_size;   /* of the struct that the table fills */
        int n_arguments_min, n_arguments_max;
        OptionValue value;     /* what the arguments are completed to */
        bool runs_command;     /* the arguments are a command, whose own may be empty */
        bool stops_early;      /* option parsing stops at the first non-option */
        int (*run)(const CommandLine *line); /* prints, and returns the exit status */
};

/* `options` and `options_size` of a command. */
#define COMMAND_OPTIONS(type, table) .options = (table), .options_size = sizeof(type)

/* One row of the list of commands: a heading of the overview, or a command. The list ends with {}. */
typedef struct CommandRow {
        const char *heading;
        const Command *command;
} CommandRow;

/*
 * The command that words[0] (and words[1]) name; *ret_n_words is how many it took. NULL when there is none, and then *ret_nearest is
 * the most similar name, or NULL.
 */
const Command *command_find(const CommandRow *rows, char *const *words, int n_words, int *ret_n_words, const char **ret_nearest);
/* Whether commands of two words begin with this one. */
bool command_is_group(const CommandRow *rows, const char *word);
/* "list, show, begin or end" */
void command_write_group_words(const CommandRow *rows, const char *group, Buffer *out);

/* All options of a command; NULL bases when nothing is to be parsed. */
void command_fill_table(OptionTable *table, const Command *command, GlobalOptions *global, void *options);

/* Checks the number of arguments, and that none of them is empty. EXIT_DONE, or EXIT_USAGE after a message. */
int command_check_arguments(const CommandLine *line, int n_min, int n_max);
/* Prints what is wrong with the command line, and how to get help. Returns EXIT_USAGE. */
int command_refuse(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* group: NULL for all commands, else the first word of those that are listed. */
void command_write_list(Screen *screen, const CommandRow *rows, const char *group);
void command_write_options(Screen *screen, const OptionTable *table);
void command_write_help(Screen *screen, const Command *command);
