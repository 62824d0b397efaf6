/* SPDX-License-Identifier: Apache-2.0 */
/* perfctl: parses the command line and runs one command. Data goes to standard output, messages to standard error. */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/program.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "util/file.h"

/* Options before the command's name. */
typedef struct MainOptions {
        GlobalOptions global;
        bool version;
} MainOptions;

static const Option main_options[] = {
        OPTION_INCLUDE(MainOptions, global, GlobalOptions, global_options),
        { "version", 0, NULL, "Show the version", OPTION_FLAG(MainOptions, version) },
        {},
};

/* --- help ----------------------------------------------------------------------------------------- */

/* Fits a screen of 80 columns and 20 lines. */
static const char overview[] =
        "perfctl: measure programs, compare them, and see what this node is doing\n"
        "\n"
        "  perfctl run -- ./prog                 run a program as a job\n"
        "  perfctl report                        show the report of the last job\n"
        "  perfctl run --repeat 10 -- ./prog     measure a program several times\n"
        "  perfctl indicator rank NAME           compare versions, settings and nodes\n"
        "  perfctl sweep FILE                    run all combinations of settings\n"
        "  ./bench | perfctl submit              store the results of a benchmark\n"
        "  perfctl kpi check                     find regressions of key numbers\n"
        "  perfctl pipeline show                 show what limits a data pipeline\n"
        "  perfctl job list                      list jobs\n"
        "  perfctl top                           show what the node and its jobs do\n"
        "  perfctl doctor                        show what cannot be measured, and fixes\n"
        "\n"
        "  perfctl help all | admin | COMMAND    all, admin or one of the commands\n"
        "\n"
        "Exit status: 0 done, 1 failed, 2 wrong usage, 3 perfd is unreachable; 4 and 5\n"
        "are verdicts about KPIs. See perfctl(1).\n";

static void write_all(Screen *screen) {
        OptionTable table = {};

        command_write_list(screen, commands, NULL);
        screen_heading(screen, "Options");
        option_table_add(&table, main_options, NULL);
        command_write_options(screen, &table);
        buffer_puts(screen->out, "\nSee 'perfctl COMMAND --help' for a command's options and examples.\n");
}

/* is_mistake: no command was given, so that the overview goes to standard error. */
static int print_overview(bool is_mistake) {
        if (!is_mistake)
                return output_print(&(Buffer){ .text = (char *)overview, .n = sizeof(overview) - 1 });

        (void)file_write_all(STDERR_FILENO, overview, sizeof(overview) - 1);
        return EXIT_USAGE;
}

/* Prints the commands of a topic of help. */
static int print_topic(const GlobalOptions *global, bool is_admin) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, global->no_color);
        if (is_admin)
                command_write_section(&screen, commands, COMMANDS_ADMIN);
        else
                write_all(&screen);
        return output_print(&out);
}

static int print_help(const GlobalOptions *global, const Command *command) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, global->no_color);
        command_write_help(&screen, command);
        return output_print(&out);
}

static int print_group(const GlobalOptions *global, const char *word) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, global->no_color);
        screen_heading(&screen, "Commands");
        command_write_list(&screen, commands, word);
        buffer_puts(&out, "\nSee 'perfctl COMMAND --help' for a command's options and examples.\n");
        return output_print(&out);
}

/* --- completion ------------------------------------------------------------------------------------ */

#define COMPLETE_COMMAND "__complete" /* first argument of perfctl, for client/perfctl.bash; not listed in the help */

static const char *const value_names[N_OPTION_VALUES] = {
        [OPTION_VALUE_OTHER] = "none",           [OPTION_VALUE_FILE] = "files",
        [OPTION_VALUE_DIRECTORY] = "directories", [OPTION_VALUE_PROGRAM] = "programs",
        [OPTION_VALUE_VARIABLE] = "variables",   [OPTION_VALUE_JOB] = "jobs",
        [OPTION_VALUE_INDICATOR] = "indicators", [OPTION_VALUE_UID] = "uids",
        [OPTION_VALUE_PID] = "pids",
};

/* The words behind a command's name, as far as they are complete. */
typedef struct CompleteState {
        OptionTable table;
        const Option *open; /* an option whose argument is the word being typed; NULL: none */
        OptionValue value;  /* of the arguments */
        bool has_dashes;    /* `--` was given */
        int n_arguments;
} CompleteState;

static int print_value(OptionValue value) {
        scoped(buffer_deinit) Buffer out = {};

        assert(value < N_OPTION_VALUES && value_names[value]);
        buffer_printf(&out, "%s\n", value_names[value]);
        return output_print(&out);
}

static int print_words(const char *const *words) {
        scoped(buffer_deinit) Buffer out = {};

        buffer_puts(&out, "words\n");
        for (; *words; words++)
                buffer_printf(&out, "%s\n", *words);
        return output_print(&out);
}

static int print_options(const OptionTable *table) {
        scoped(buffer_deinit) Buffer out = {};

        buffer_puts(&out, "words\n");
        for (size_t i = 0; i < table->n; i++)
                buffer_printf(&out, "--%s\n", table->entries[i].option->name);
        return output_print(&out);
}

/* The first words of all commands or, with a group, the second words of its commands. */
static int print_commands(const char *group) {
        scoped(buffer_deinit) Buffer out = {};

        buffer_puts(&out, group ? "words\n" : "words\nhelp\n");
        for (const CommandRow *row = commands; row->heading || row->command; row++) {
                const char *name = row->command ? row->command->name : "", *space = strchr(name, ' ');
                size_t n = space ? (size_t)(space - name) : strlen(name);

                if (group && space && strlen(group) == n && strncmp(name, group, n) == 0)
                        buffer_printf(&out, "%s\n", space + 1);
                if (!group && n > 0)
                        buffer_printf(&out, "%.*s\n", (int)n, name);
        }
        return output_print(&out);
}

/* Notes one complete word. True: the words from this one on are a command to be run. */
static bool take_word(CompleteState *state, const Command *command, const char *word) {
        const OptionEntry *entry;

        if (state->open) {
                state->open = NULL;
                return false;
        }
        if (!state->has_dashes && word[0] == '-' && word[1] != '\0') {
                state->has_dashes = strcmp(word, "--") == 0;
                entry = word[1] == '-' ? option_table_find(&state->table, word + 2, strlen(word + 2)) :
                                         option_table_find_letter(&state->table, word[1]);
                if (entry && entry->option->argument && (word[1] == '-' || word[2] == '\0'))
                        state->open = entry->option;
                else if (entry && entry->option->value != OPTION_VALUE_OTHER)
                        state->value = entry->option->value;
                return false;
        }

        state->n_arguments++;
        return command && command->runs_command && (command->stops_early || state->has_dashes);
}

static int print_candidates(const CompleteState *state, const char *word) {
        if (state->open)
                return state->open->words ? print_words(state->open->words) : print_value(state->open->value);
        if (!state->has_dashes && word[0] == '-')
                return print_options(&state->table);

        return print_value(state->value);
}

/* words: behind the command's name; i_first: index of the first on the whole line. */
static int complete_arguments(const Command *command, int i_first, int n_words, char *const *words) {
        CompleteState state = { .value = command->value };

        command_fill_table(&state.table, command, NULL, NULL);
        for (int i = 0; i + 1 < n_words; i++) {
                if (take_word(&state, command, words[i])) {
                        scoped(buffer_deinit) Buffer out = {};

                        buffer_printf(&out, "offset %d\n", i_first + i);
                        return output_print(&out);
                }
        }
        if (state.has_dashes && command->runs_command)
                return print_value(OPTION_VALUE_PROGRAM);
        return print_candidates(&state, words[n_words - 1]);
}

/*
 * Prints the kind of the last word on the first line: "words" and a candidate on each line that follows, "offset N"
 * where a command begins at word N of the line, or the name of an OptionValue. words: of the line, without
 * "perfctl"; the last one is being typed and may be empty. Returns the exit status.
 */
static int complete(int n_words, char *const *words, char **argv) {
        CompleteState state = {};
        const Command *command;
        const char *nearest;
        int i = 0, n_taken;

        if (n_words < 1)
                return EXIT_USAGE;

        option_table_add(&state.table, main_options, NULL);
        while (i + 1 < n_words && (state.open || words[i][0] == '-'))
                (void)take_word(&state, NULL, words[i++]);
        if (i + 1 == n_words)
                return state.open || words[i][0] == '-' ? print_candidates(&state, words[i]) : print_commands(NULL);
        if (strcmp(words[i], "help") == 0 && ++i + 1 == n_words)
                return print_commands(NULL);

        command = command_find(commands, words + i, n_words - i - 1, &n_taken, &nearest);
        if (!command)
                return i + 2 == n_words ? print_commands(words[i]) : print_value(OPTION_VALUE_OTHER);

        if (command->program)
                return program_become(command->program, "perfd-results", argv);
        i += n_taken;
        assert(i < n_words);
        return complete_arguments(command, i + 1, n_words - i, words + i);
}

/* --- commands ------------------------------------------------------------------------------------- */

static int refuse_command(const GlobalOptions *global, const Arguments *arguments, const char *nearest) {
        char *const *words = arguments->items;
        bool is_group = command_is_group(commands, words[0]);
        scoped(buffer_deinit) Buffer next = {};

        if (is_group && arguments->n == 2 && (strcmp(words[1], "-h") == 0 || strcmp(words[1], "--help") == 0))
                return print_group(global, words[0]);
        if (is_group && arguments->n == 1) {
                if (global->help)
                        return print_group(global, words[0]);
                command_write_group_words(commands, words[0], &next);
                return command_refuse(words[0], "missing command after '%s': %s", words[0], next.text ? next.text : "");
        }

        if (!nearest && is_group)
                command_write_group_words(commands, words[0], &next);
        return command_refuse(is_group ? words[0] : "", "unknown command '%.60s%s%.60s'; %s%s%s", words[0],
                              is_group ? " " : "", is_group ? words[1] : "",
                              nearest    ? "did you mean '"
                              : is_group ? "expected "
                                         : "see perfctl help",
                              nearest ?: next.text ?: "", nearest ? "'?" : "");
}

/* The word of the option, or of the command's name, has left a place. */
static void insert_job(Arguments *arguments, const char *job) {
        memmove(arguments->items + 1, arguments->items, ((size_t)arguments->n + 1) * sizeof(*arguments->items));
        arguments->items[0] = (char *)job;
        arguments->n++;
        arguments->n_before_dashes += arguments->n_before_dashes >= 0;
}

/* words[0] is the last word of the command's name, which the parser skips. */
static int parse_and_run(const Command *command, const GlobalOptions *global, int n_words, char **words) {
        _Alignas(max_align_t) char options[COMMAND_OPTIONS_MAX] = {};
        CommandLine line = { .command = command, .options = options, .global = *global };
        char program[COMMAND_NAME_MAX], error[OPTION_ERROR_MAX];
        Arguments arguments;
        OptionTable table;
        int r;

        assert(command->options_size <= sizeof(options) && !!command->options == !!command->options_size);
        assert(n_words > 0 && command->run);
        command_fill_table(&table, command, &line.global, options);
        snprintf(program, sizeof(program), "perfctl %s", command->name);
        if (options_parse(&table, program, n_words, words, command->stops_early, &arguments, error) != 0)
                return command_refuse(command->name, "%s", error);
        if (line.global.help)
                return print_help(&line.global, command);

        line.global.command = command->options;
        if (line.global.job)
                insert_job(&arguments, line.global.job);
        line.arguments = arguments.items;
        line.n_arguments = arguments.n;
        line.n_before_dashes = arguments.n_before_dashes;
        r = command_check_arguments(&line, command->n_arguments_min, command->n_arguments_max);
        return r == EXIT_DONE ? command->run(&line) : r;
}

/*
 * Started with a standard descriptor closed, the next one we open would take its place, and a command would write into
 * our connection. What is opened here instead can neither be read nor written, and is closed for the command again.
 */
static void hold_standard_descriptors(void) {
        int fd;

        do
                fd = open("/", O_PATH | O_CLOEXEC);
        while (fd >= 0 && fd <= STDERR_FILENO);

        if (fd >= 0)
                (void)close(fd);
}

int main(int argc, char **argv) {
        char error[OPTION_ERROR_MAX];
        MainOptions options = {};
        const Command *command;
        OptionTable table = {};
        Arguments arguments;
        const char *nearest;
        scoped(freep) char **words = calloc((size_t)argc + 1, sizeof(*words)); /* the parser moves those of argv */
        int n_taken;

        hold_standard_descriptors();
        if (!words)
                return command_fail(-ENOMEM);
        memcpy(words, argv, (size_t)argc * sizeof(*words));
        if (argc > 1 && strcmp(argv[1], COMPLETE_COMMAND) == 0)
                return complete(argc - 2, argv + 2, argv);

        option_table_add(&table, main_options, &options);
        if (options_parse(&table, "perfctl", argc, argv, true, &arguments, error) != 0)
                return command_refuse("", "%s", error);

        if (options.version)
                return output_print(&(Buffer){ .text = (char[]){ "perfctl " PERFD_VERSION "\n" },
                                               .n = sizeof("perfctl " PERFD_VERSION) });

        if (arguments.n > 0 && strcmp(arguments.items[0], "help") == 0) {
                options.global.help = true;
                arguments.items++;
                arguments.n--;
        }
        if (arguments.n == 0)
                return print_overview(!options.global.help);
        if (options.global.help && arguments.n == 1 &&
            (strcmp(arguments.items[0], "all") == 0 || strcmp(arguments.items[0], "admin") == 0))
                return print_topic(&options.global, strcmp(arguments.items[0], "admin") == 0);

        command = command_find(commands, arguments.items, arguments.n, &n_taken, &nearest);
        if (!command)
                return refuse_command(&options.global, &arguments, nearest);
        if (command->program)
                return program_become(command->program, "perfd-results", words);

        return parse_and_run(command, &options.global, arguments.n - (n_taken - 1), arguments.items + (n_taken - 1));
}
