/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/complete.h"

#include <assert.h>
#include <string.h>

#include "client/cli/output.h"
#include "client/commands/commands.h"

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

int complete_print(const Option *main_options, int n_words, char *const *words) {
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

        i += n_taken;
        assert(i < n_words);
        return complete_arguments(command, i + 1, n_words - i, words + i);
}
