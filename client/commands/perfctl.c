/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/perfctl.h"

#include <stdio.h>
#include <string.h>

#include "client/cli/message.h"
#include "util/scoped.h"

static int run_command(CommandId id, const Options *options) {
        switch (id) {
        case COMMAND_RUN:
                return options->spec ? cmd_run_spec(options) : cmd_run(options);
        case COMMAND_SUBMIT:
                return cmd_submit(options);
        case COMMAND_REPORT:
                return cmd_report(options);
        case COMMAND_METRICS:
                return cmd_metrics(options);
        case COMMAND_WATCH:
                return cmd_watch(options);
        case COMMAND_SWEEP:
                return cmd_sweep(options);
        case COMMAND_JOB_LIST:
                return cmd_job_list(options);
        case COMMAND_JOB_SHOW:
                return cmd_job_show(options);
        case COMMAND_JOB_BEGIN:
                return cmd_job_begin(options);
        case COMMAND_JOB_END:
                return cmd_job_end(options);
        case COMMAND_STATUS:
                return cmd_status(options);
        case COMMAND_DOCTOR:
                return cmd_doctor(options);
        case COMMAND_INDICATOR_LIST:
                return cmd_indicator_list(options);
        case COMMAND_INDICATOR_SHOW:
                return cmd_indicator_show(options);
        case COMMAND_INDICATOR_QUERY:
                return cmd_indicator_query(options);
        case COMMAND_INDICATOR_RANK:
                return cmd_indicator_rank(options);
        case COMMAND_INDICATOR_BATCH:
                return cmd_indicator_batch(options);
        case COMMAND_FLUSH:
                return cmd_flush(options);
        case COMMAND_IMPORT_INSPECTION:
                return cmd_import_inspection(options);
        case COMMAND_MARK:
                return cmd_mark(options);
        case COMMAND_TIME:
                return cmd_time(options);
        case COMMAND_EXPORT_PERF_REPORT:
                return cmd_export_perf_report(options);
        case COMMAND_INDICATOR_REGISTER:
                return cmd_indicator_register(options);
        case COMMAND_INDICATOR_UNREGISTER:
                return cmd_indicator_unregister(options);
        case COMMAND_INDICATOR_MODELS:
                return cmd_indicator_models(options);
        case COMMAND_INDICATOR_SCHEMA:
                return cmd_indicator_schema(options);
        case N_COMMANDS:
                break;
        }

        return EXIT_USAGE;
}

static int print_overview(const Options *options, bool is_mistake) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, is_mistake ? STDERR_FILENO : STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        buffer_puts(&out, "perfctl: what this node and its jobs do\n");
        command_write_overview(&screen);
        if (!is_mistake)
                return print_out(&out);

        (void)!write(STDERR_FILENO, out.text, out.n);
        return EXIT_USAGE;
}

static int print_help(const Options *options, CommandId id) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        command_write_help(&screen, id);
        return print_out(&out);
}

static int print_group(const Options *options, const char *word) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        command_write_group(&screen, word);
        return print_out(&out);
}

static int wrong_usage(const char *command, const char *error) {
        say("%s", error);
        say("'perfctl %s%s--help' shows how it is used", command, *command ? " " : "");
        return EXIT_USAGE;
}

static bool is_option(const char *word, const char *brief, const char *name) {
        return strcmp(word, brief) == 0 || strcmp(word, name) == 0;
}

/* Words that are no command by themselves, and those that may follow; NULL: it is none of them. */
static const char *find_group(const char *word) {
        static const struct {
                const char *word, *next;
        } groups[] = { { "job", "list, show, begin or end" }, { "export", "perf-report" }, { "import", "inspection" },
                       { "indicator", "list, show, query, rank, batch, register, unregister, models or schema" } };

        for (size_t i = 0; i < N_ELEMENTS(groups); i++)
                if (strcmp(word, groups[i].word) == 0)
                        return groups[i].next;
        return NULL;
}

static int wrong_command(const Options *options, const char *nearest) {
        char *const *words = options->arguments;
        const char *next = find_group(words[0]);
        char error[256];

        if (next && options->n_arguments == 2 && is_option(words[1], "-h", "--help"))
                return print_group(options, words[0]);
        if (next && options->n_arguments == 1) {
                if (options_has(options, OPTION_HELP))
                        return print_group(options, words[0]);
                snprintf(error, sizeof(error), "'%s' needs another word: %s", words[0], next);
                return wrong_usage(words[0], error);
        }

        snprintf(error, sizeof(error), "There is no command '%.60s%s%.60s'%s%s%s", words[0], next ? " " : "", next ? words[1] : "",
                 nearest ? ". Did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
        return wrong_usage("", error);
}

/* No indicator, job or file has an empty name. What a command that is run is given may be empty; of a phase, more is checked. */
static bool has_empty_name(const CommandInfo *info, const Options *options) {
        CommandId id = (CommandId)(info - command_info);

        for (int i = 0; id != COMMAND_RUN && id != COMMAND_TIME && id != COMMAND_MARK && i < options->n_arguments; i++)
                if (options->arguments[i][0] == '\0')
                        return true;
        return false;
}

static int check_arguments(const CommandInfo *info, const Options *options) {
        char error[256];

        if (options->given & info->instead) {
                if (options->n_arguments == 0)
                        return 0;
                snprintf(error, sizeof(error), "'%.80s' is one word too many: perfctl %s %s", options->arguments[0], info->name,
                         info->synopsis);
        } else if (options->n_arguments < info->n_arguments_min)
                snprintf(error, sizeof(error), "Something is missing: perfctl %s %s", info->name, info->synopsis);
        else if (info->n_arguments_max >= 0 && options->n_arguments > info->n_arguments_max && !(options->given & info->many))
                snprintf(error, sizeof(error), "'%.80s' is one word too many: perfctl %s %s",
                         options->arguments[info->n_arguments_max], info->name, info->synopsis);
        else if (has_empty_name(info, options))
                snprintf(error, sizeof(error), "An empty word is no name: perfctl %s %s", info->name, info->synopsis);
        else
                return 0;

        return wrong_usage(info->name, error);
}

/* words[0] is the command's last word: to the parser, the name of a program. */
static int parse_and_run(CommandId id, Options *options, int n_words, char **words) {
        const CommandInfo *info = &command_info[id];
        int r;

        if (options_parse(options, n_words, words, info->options | OPTIONS_GLOBAL, id == COMMAND_RUN) != 0)
                return wrong_usage(info->name, options->error);
        if (options_has(options, OPTION_HELP))
                return print_help(options, id);

        r = check_arguments(info, options);
        return r != 0 ? r : run_command(id, options);
}

int perfctl_main(int argc, char **argv) {
        const char *nearest;
        Options options;
        int id, n_taken;

        options_init(&options);
        if (options_parse(&options, argc, argv, OPTIONS_GLOBAL | OPTION(VERSION), true) != 0)
                return wrong_usage("", options.error);

        if (options_has(&options, OPTION_VERSION))
                return print_out(&(Buffer){ .text = (char[]){ "perfctl " PERFD_VERSION "\n" }, .n = sizeof("perfctl " PERFD_VERSION) });

        if (options.n_arguments > 0 && strcmp(options.arguments[0], "help") == 0) {
                options.given |= OPTION(HELP);
                options.arguments++;
                options.n_arguments--;
        }
        if (options.n_arguments == 0)
                return print_overview(&options, !options_has(&options, OPTION_HELP));

        id = command_find(options.arguments, options.n_arguments, &n_taken, &nearest);
        if (id < 0)
                return wrong_command(&options, nearest);

        return parse_and_run((CommandId)id, &options, options.n_arguments - (n_taken - 1), options.arguments + (n_taken - 1));
}
