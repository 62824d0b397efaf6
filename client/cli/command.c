/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/command.h"

#include <assert.h>
#include <string.h>

#include "client/cli/message.h"
#include "util/error_text.h"
#include "util/nearest.h"
#include "util/scoped.h"

#define COMMANDS_MAX 128U
#define HELP_COLUMN 29U /* column of the help text next to an option */
#define SUMMARY_COLUMN 25U

/* --- finding -------------------------------------------------------------------------------------- */

static bool has_first_word(const char *name, const char *word) {
        size_t n = strlen(word);

        return strncmp(name, word, n) == 0 && (name[n] == '\0' || name[n] == ' ');
}

/* Returns the number of words that match the command's name; 0 if they do not match. */
static int match(const char *name, char *const *words, int n_words) {
        const char *space = strchr(name, ' ');

        if (n_words < 1 || !has_first_word(name, words[0]))
                return 0;
        if (!space)
                return 1;

        return n_words >= 2 && strcmp(words[1], space + 1) == 0 ? 2 : 0;
}

/* Names that people try, from other programs or by guess. Of several commands, the first that exists is suggested. */
static const struct { const char *name, *command; } synonyms[] = {
        { "jobs", "job list" },           { "ps", "job list" },             { "list", "job list" },      { "ls", "job list" },
        { "history", "job list" },        { "job show", "report" },         { "job report", "report" },  { "show", "report" },
        { "wait", "job wait" },           { "begin", "job begin" },         { "start", "run" },          { "exec", "run" },
        { "record", "run" },              { "bench", "run" },               { "benchmark", "run" },      { "end", "job end" },
        { "stop", "job end" },            { "stat", "metrics" },            { "counters", "metrics" },   { "top", "status" },
        { "watch", "status" },            { "export", "metrics" },
        { "info", "status" },             { "check", "doctor" },            { "health", "doctor" },      { "phase", "mark" },
        { "indicator compare", "indicator rank" }, { "hyperfine", "compare" }, { "rank", "indicator rank" },
        { "best", "indicator rank" },     { "diff", "indicator rank" },     { "indicators", "indicator list" },
        { "results", "indicator show" },  { "query", "indicator query" },   { "models", "model list" },  { "stacks", "stack list" },
        { "kpis", "kpi list" },           { "regress", "kpi check" },       { "regressions", "kpi check" },
        { "pipelines", "pipeline show" }, { "diagnose", "pipeline show" },  { "matrix", "sweep" },       { "limits", "quota" },
        { "quotas", "quota" },            { "backup", "db backup" },        { "salvage", "db salvage" }, { "import", "import kpis" },
};

static const char *find_synonym(const char *const *names, size_t n, const char *name) {
        for (size_t i = 0; i < N_ELEMENTS(synonyms); i++)
                if (strcmp(synonyms[i].name, name) == 0 && nearest_is_among(synonyms[i].command, names, n))
                        return synonyms[i].command;
        return NULL;
}

static const char *find_nearest(const CommandRow *rows, char *const *words, int n_words) {
        const char *names[COMMANDS_MAX];
        char both[COMMAND_NAME_MAX];
        size_t n = 0;

        for (const CommandRow *row = rows; row->heading || row->command; row++) {
                assert(n < COMMANDS_MAX && !(row->heading && row->command));
                if (row->command)
                        names[n++] = row->command->name;
        }

        if (n_words >= 2) {
                const char *nearest;

                snprintf(both, sizeof(both), "%.30s %.30s", words[0], words[1]);
                nearest = find_synonym(names, n, both) ?: nearest_word(both, names, n);
                if (nearest && (strchr(nearest, ' ') || find_synonym(names, n, both)))
                        return nearest;
        }

        return find_synonym(names, n, words[0]) ?: nearest_word(words[0], names, n);
}

const Command *command_find(const CommandRow *rows, char *const *words, int n_words, int *ret_n_words,
                            const char **ret_nearest) {
        for (const CommandRow *row = rows; row->heading || row->command; row++) {
                int n = row->command ? match(row->command->name, words, n_words) : 0;

                if (n == 0)
                        continue;
                *ret_n_words = n;
                return row->command;
        }

        *ret_nearest = n_words > 0 ? find_nearest(rows, words, n_words) : NULL;
        return NULL;
}

bool command_is_group(const CommandRow *rows, const char *word) {
        for (const CommandRow *row = rows; row->heading || row->command; row++)
                if (row->command && has_first_word(row->command->name, word) && strchr(row->command->name, ' '))
                        return true;
        return false;
}

void command_write_group_words(const CommandRow *rows, const char *group, Buffer *out) {
        const char *words[COMMANDS_MAX];
        size_t n = 0;

        for (const CommandRow *row = rows; row->heading || row->command; row++)
                if (row->command && has_first_word(row->command->name, group) && strchr(row->command->name, ' '))
                        words[n++] = strchr(row->command->name, ' ') + 1;
        for (size_t i = 0; i < n; i++)
                buffer_printf(out, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i]);
}

/* --- checking ------------------------------------------------------------------------------------- */

void command_fill_table(OptionTable *table, const Command *command, GlobalOptions *global, void *options) {
        *table = (OptionTable){};
        option_table_add(table, command->options, options);
        if (command->value == OPTION_VALUE_JOB)
                option_table_add(table, job_argument_options, global);
        option_table_add(table, global_options, global);
}

int command_refuse(const char *name, const char *format, ...) {
        scoped(buffer_deinit) Buffer text = {};
        va_list args;

        va_start(args, format);
        buffer_vprintf(&text, format, args);
        va_end(args);

        message_print("%s", buffer_error(&text) == 0 ? text.text : format);
        message_print("try 'perfctl %s%s--help'", name, *name ? " " : "");
        return EXIT_USAGE;
}

int command_fail(int error) {
        message_print("%s", error_text(-error));
        return EXIT_FAILED;
}

/* Writes the n-th placeholder of a synopsis: "JOB" is the first in "{JOB | --all-nodes FILE…}". */
static void find_placeholder(const char *synopsis, int n, char ret[static COMMAND_NAME_MAX]) {
        snprintf(ret, COMMAND_NAME_MAX, "argument");
        for (const char *p = synopsis; *p;) {
                size_t length = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

                if (length >= 2 && n-- == 0) {
                        snprintf(ret, COMMAND_NAME_MAX, "argument %.*s", (int)length, p);
                        return;
                }
                p += length > 0 ? length : 1;
        }
}

int command_check_arguments(const CommandLine *line, int n_min, int n_max) {
        const Command *command = line->command;
        char missing[COMMAND_NAME_MAX];

        assert(n_min >= 0 && (n_max == COMMAND_MANY || n_max >= n_min));
        if (line->n_arguments < n_min) {
                find_placeholder(command->arguments ?: "", line->n_arguments, missing);
                return command_refuse(command->name, "missing %s; usage: perfctl %s [OPTION]… %s", missing,
                                      command->name, command->arguments ?: "");
        }
        if (n_max != COMMAND_MANY && line->n_arguments > n_max)
                return command_refuse(command->name, "unexpected argument '%.80s'", line->arguments[n_max]);
        for (int i = 0; !command->runs_command && i < line->n_arguments; i++)
                if (line->arguments[i][0] == '\0')
                        return command_refuse(command->name,
                                              "argument must not be empty; usage: perfctl %s [OPTION]… %s",
                                              command->name, command->arguments ?: "");
        return EXIT_DONE;
}

/* --- help ----------------------------------------------------------------------------------------- */

static void put_values(Buffer *out, const Option *option) {
        for (const char *const *word = option->words; word && *word; word++)
                buffer_printf(out, "%s%s", word == option->words ? ": " : word[1] ? ", " : " or ", *word);
        if (option->initial)
                buffer_printf(out, " (default %s)", option->initial);
}

void command_write_options(Screen *screen, const OptionTable *table) {
        for (size_t i = 0; i < table->n; i++) {
                const Option *option = table->entries[i].option;
                char letter[] = { '-', option->letter, ',', ' ', '\0' }, text[80];
                scoped(buffer_deinit) Buffer help = {};
                size_t n;

                snprintf(text, sizeof(text), "  %s--%s %s", option->letter ? letter : "    ", option->name,
                         option->argument ?: "");
                n = screen_text(screen, text);
                if (n >= HELP_COLUMN) {
                        buffer_putc(screen->out, '\n');
                        n = 0;
                }
                screen_pad(screen, n, HELP_COLUMN);
                buffer_puts(&help, option->help);
                put_values(&help, option);
                if (buffer_error(&help) == 0)
                        screen_wrap(screen, help.text, HELP_COLUMN);
        }
}

static void write_summary(Screen *screen, const Command *command) {
        buffer_printf(screen->out, "  %s", command->name);
        screen_pad(screen, 2 + strlen(command->name), SUMMARY_COLUMN);
        screen_wrap(screen, command->summary, SUMMARY_COLUMN);
}

void command_write_section(Screen *screen, const CommandRow *rows, const char *heading) {
        while (!rows->heading || strcmp(rows->heading, heading) != 0)
                rows++;
        screen_heading(screen, heading);
        while ((++rows)->command)
                write_summary(screen, rows->command);
}

void command_write_list(Screen *screen, const CommandRow *rows, const char *group) {
        for (const CommandRow *row = rows; row->heading || row->command; row++) {
                if (row->heading && !group)
                        screen_heading(screen, row->heading);
                if (!row->command || (group && !has_first_word(row->command->name, group)))
                        continue;
                write_summary(screen, row->command);
        }
}

void command_write_help(Screen *screen, const Command *command) {
        OptionTable table;

        buffer_printf(screen->out, "%s\n\n", command->summary);
        buffer_printf(screen->out, "  perfctl %s [OPTION]…%s%s\n", command->name, command->arguments ? " " : "",
                      command->arguments ?: "");

        screen_heading(screen, "Examples");
        for (size_t i = 0; i < COMMAND_EXAMPLES_MAX && command->examples[i]; i++)
                buffer_printf(screen->out, "  %s\n", command->examples[i]);

        if (command->help) {
                buffer_putc(screen->out, '\n');
                screen_wrap(screen, command->help, 0);
        }

        screen_heading(screen, "Options");
        command_fill_table(&table, command, NULL, NULL);
        command_write_options(screen, &table);
}
