/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Command: name, help, options and function of one command of perfctl
 *
 * Each command has its own file, which defines `const Command cmd_…`. The functions below find commands in a list and
 * write their help.
 */

#include "client/cli/common_options.h"
#include "client/cli/screen.h"

/* Exit status of perfctl, except for `run` and `time`, which exit as their command does. */
enum {
        EXIT_DONE = 0,
        EXIT_FAILED = 1,
        EXIT_USAGE = 2,
        EXIT_UNREACHABLE = 3,
        EXIT_REGRESSED = 4,  /* a verdict that --fail-on lists */
        EXIT_NO_VERDICT = 5, /* none, and --fail-on lists this */
};

#define COMMAND_EXAMPLES_MAX 4
#define COMMAND_NAME_MAX 64U
#define COMMAND_OPTIONS_MAX 8192U /* maximum size of a command's own options */
#define COMMAND_MANY (-1)         /* any number of arguments */

typedef struct Command Command;

/* A parsed command line; all pointers are borrowed. */
typedef struct CommandLine {
        const Command *command;
        const void *options; /* the command's own struct */
        GlobalOptions global;
        char **arguments;    /* NULL-terminated */
        int n_arguments;
        int n_before_dashes; /* number of arguments before `--`; -1: no `--` */
} CommandLine;

struct Command {
        const char *name;      /* one or two words, for example "job list" */
        const char *arguments; /* synopsis after the options, for example "NAME [COMPONENT]"; NULL: none */
        const char *summary;   /* one line */
        const char *help;      /* paragraph, wrapped when shown; NULL: none */
        const char *examples[COMMAND_EXAMPLES_MAX];
        const Option *options; /* options besides the global ones; may be NULL */
        size_t options_size;   /* size of the struct that `options` fills */
        int n_arguments_min, n_arguments_max;
        OptionValue value;     /* kind of candidates for completing an argument */
        bool runs_command;     /* the arguments are a command line, whose own arguments may be empty */
        bool stops_early;      /* option parsing stops at the first non-option */
        int (*run)(const CommandLine *line); /* does the work and returns the exit status */
        const char *program;   /* in libexec, which has the command's own commands and is run instead; NULL: none */
};

/* Sets `options` and `options_size` of a command, from a table or from its rows. */
#define COMMAND_OPTIONS(type, table) .options = (table), .options_size = sizeof(type)
#define COMMAND_OPTION_ROWS(type, ...) COMMAND_OPTIONS(type, ((const Option[]){ __VA_ARGS__, {} }))

/* One row of the list of commands: a heading of the overview, or a command. The list ends with {}. */
typedef struct CommandRow {
        const char *heading;
        const Command *command;
} CommandRow;

/*
 * Finds the command that words[0] (and words[1]) name; *ret_n_words is the number of words in its name. If there is
 * none, returns NULL and sets *ret_nearest to the command that other programs give this name, else the most similar
 * name, or NULL.
 */
const Command *command_find(const CommandRow *rows, char *const *words, int n_words, int *ret_n_words,
                            const char **ret_nearest);
/* Returns true if two-word commands begin with this word. */
bool command_is_group(const CommandRow *rows, const char *word);
/* Writes the second words of a group: "list, show, begin or end". */
void command_write_group_words(const CommandRow *rows, const char *group, Buffer *out);

/* Collects all options of a command. global, own: the structs that receive the values; NULL if nothing is parsed. */
void command_fill_table(OptionTable *table, const Command *command, GlobalOptions *global, void *options);

/*
 * Checks the number of arguments, and that none of them is empty. Returns EXIT_DONE, or EXIT_USAGE after a message.
 */
int command_check_arguments(const CommandLine *line, int n_min, int n_max);
/* Prints an error in the command line and how to get help. Returns EXIT_USAGE. */
int command_refuse(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the description of a negative errno. Returns EXIT_FAILED. */
int command_fail(int error);

/* group: first word of the commands to list; NULL for all commands. */
void command_write_list(Screen *screen, const CommandRow *rows, const char *group);
/* Lists the commands under a heading. */
void command_write_section(Screen *screen, const CommandRow *rows, const char *heading);
void command_write_options(Screen *screen, const OptionTable *table);
void command_write_help(Screen *screen, const Command *command);
