/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts new levels of KPIs, lists accepted levels, and removes them. */

#include <math.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/delivery_failure.h"
#include "client/deliver/deliver.h"
#include "client/kpi/kpi_report.h"
#include "document/indicator_model.h"
#include "util/sha256.h"
#include "value/value_parse.h"

#define LEVELS_PATH "/api/v1/kpis/accepted"
#define KEY_DIGITS 32U

typedef struct KpiAcceptOptions {
        OptionTexts where, ignore;
        const char *note;
        bool list, remove, json;
        uint64_t timeout_ns;
} KpiAcceptOptions;

/* --- requests ------------------------------------------------------------------------------------- */

static int explain(const Courier *courier, const Delivery *delivery, const char *kpi, const char *change, int outcome) {
        const Reply *reply = &delivery->reply;

        if (outcome != DELIVERY_REFUSED)
                return delivery_failure_print(delivery, courier, outcome);
        message_print("the level of %s was not %s: %s", kpi, change,
                      reply->status == STATUS_DENIED
                              ? "an administrator accepted the level; only an administrator can remove it"
                      : reply->complaint.text[0] ? reply->complaint.text
                                                 : request_status_name(reply->status));
        return EXIT_FAILED;
}

/* Writes a line break and each condition. */
static void put_conditions(const KpiAcceptOptions *options, Buffer *out) {
        for (size_t i = 0; i < options->where.n; i++)
                for (size_t at = 0; at <= strlen(options->where.items[i]);) {
                        buffer_putc(out, '\n');
                        (void)condition_next(options->where.items[i], &at, out);
                }
}

/* Writes the declaration. Its key is derived from the KPI and the conditions, so that it replaces an earlier one for
 * the same. */
static void put_declaration(const KpiAcceptOptions *options, const char *kpi, uint64_t until_ms, Buffer *out) {
        scoped(buffer_deinit) Buffer identity = {};
        Json json = { .out = out };
        char key[SHA256_TEXT_MAX];

        buffer_puts(&identity, kpi);
        put_conditions(options, &identity);
        sha256_text(identity.text ?: "", identity.n, key);
        key[KEY_DIGITS] = '\0';

        json_object_begin(&json);
        json_put_string(&json, "name", ACCEPTED_LEVEL_NAME);
        json_put_string(&json, "component", key);
        json_put_object_begin(&json, "accepted");
        json_put_string(&json, "kpi", kpi);
        json_put_uint(&json, "until_ms", until_ms);
        json_put_array_begin(&json, "where");
        for (size_t i = 0; i < options->where.n; i++) {
                scoped(buffer_deinit) Buffer condition = {};

                for (size_t at = 0; condition_next(options->where.items[i], &at, &condition); buffer_clear(&condition))
                        json_string(&json, condition.text ?: "");
        }
        json_array_end(&json);
        json_put_string(&json, "note", options->note);
        json_object_end(&json);
        json_object_end(&json);
}

static int send(const CommandLine *line, const char *kpi, uint64_t until_ms) {
        const KpiAcceptOptions *options = line->options;
        scoped(deliver_courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer text = {};
        scoped(arena_deinit) Arena arena = {};
        const Value *document;
        bool is_canonical;
        ValueError error;
        Delivery delivery;
        int r;

        put_declaration(options, kpi, until_ms, &text);
        r = buffer_error(&text);
        if (r == 0)
                r = arena_init(&arena, value_parse_arena_size(text.n));
        if (r < 0)
                return command_fail(r);
        r = value_parse(text.text, text.n, &arena, &document, &is_canonical, &error);
        if (r != 0)
                return command_refuse(line->command->name, "the note or a condition is not valid text: %s", error.text);

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        r = deliver_models(&courier, &document, 1, &delivery);
        return r == 0 ? EXIT_DONE : explain(&courier, &delivery, kpi, "accepted", r);
}

/* --- accept --------------------------------------------------------------------------------------- */

/* Conditions can only apply to members that the runs of a series have in common: other conditions would never be
 * met. */
static int check_where(const CommandLine *line, const Value *kpis) {
        const KpiAcceptOptions *options = line->options;
        Condition condition;

        for (size_t i = 0; i < options->where.n; i++) {
                bool is_known = false;

                if (condition_parse(options->where.items[i], &condition) != 0)
                        continue;
                if (strcmp(condition.key, "component") == 0 || strcmp(condition.key, "hardware") == 0)
                        continue;
                for (size_t k = 0; k < answer_length(kpis) && !is_known; k++) {
                        const char *key = condition.key;

                        key += strncmp(key, CONDITION_PARAMETERS, strlen(CONDITION_PARAMETERS)) == 0
                                       ? strlen(CONDITION_PARAMETERS)
                                       : 0;
                        is_known = value_get(value_get(value_get(&kpis->items[k], "labels"), "parameters"), key) !=
                                   NULL;
                }
                if (!is_known)
                        return command_refuse(line->command->name,
                                              "--where: '%s' does not separate histories of %s; use component, "
                                              "hardware, or a parameter that perfctl kpi check prints",
                                              condition.key, line->arguments[0]);
        }
        return EXIT_DONE;
}

/* Returns the name of the KPI if all series are of one KPI, otherwise the argument: a pattern, or an indicator with
 * several results. */
static const char *find_name(const CommandLine *line, const Value *kpis) {
        const char *first = answer_text(&kpis->items[0], "kpi");

        for (size_t i = 1; i < answer_length(kpis); i++)
                if (strcmp(answer_text(&kpis->items[i], "kpi"), first) != 0)
                        return line->arguments[0];
        return first;
}

/* True if perfd leaves the history as it is: no run is known to differ. An accepted level is renewed. */
static bool is_unchanged(const Value *kpi) {
        return !value_get(kpi, "accepted") && isfinite(answer_number(kpi, "smallest_change")) &&
               answer_number_or_zero(kpi, "runs_before") == 0;
}

/* Writes "PiMatmul.rate of tensorflow matrix_size=512: accepted 80.2 GFLOP/s at 2.11.0". */
static void put_accepted(const Value *kpi, Screen *screen) {
        const char *unit = answer_text(kpi, "unit"), *version = answer_text(kpi, "version");
        scoped(buffer_deinit) Buffer text = {};
        char value[TEXT_MAX];

        text_figure(answer_number(kpi, "value"), value);
        kpi_report_put_name(kpi, &text);
        buffer_puts(&text, ": ");
        if (is_unchanged(kpi))
                buffer_puts(&text, "unchanged");
        else
                buffer_printf(&text, "accepted %s%s%s%s%s", value, *unit ? " " : "", unit, *version ? " at " : "",
                              version);
        (void)screen_text(screen, text.text ?: "");
        buffer_putc(screen->out, '\n');
}

static int accept(const CommandLine *line) {
        const KpiAcceptOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer path = {}, out = {};
        uint64_t until_ms = 0;
        const Value *kpis;
        Screen screen;
        int r;

        buffer_puts(&path, "/api/v1/kpis/");
        buffer_put_encoded(&path, line->arguments[0]);
        buffer_puts(&path, "/regress");
        api_query_select_path(&path, &(SelectionOptions){ .where = options->where });
        api_query_put_path_list(&path, "ignore", &options->ignore);
        r = api_query_open_path(&query, &line->global, &path);
        if (r != EXIT_DONE)
                return r;
        kpis = value_get(query.answer, "kpis");
        if (answer_length(kpis) == 0) {
                message_print("no runs of %s to accept%s%s", line->arguments[0],
                              *answer_text(query.answer, "note") ? ": " : "", answer_text(query.answer, "note"));
                return EXIT_FAILED;
        }

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        for (size_t i = 0; i < answer_length(kpis); i++) {
                uint64_t time_ms = answer_time(&kpis->items[i], "time_ms");

                if (!is_unchanged(&kpis->items[i]) && time_ms > until_ms)
                        until_ms = time_ms;
                put_accepted(&kpis->items[i], &screen);
        }
        kpi_report_write_separating(&screen, value_get(query.answer, "separated_by"));
        r = check_where(line, kpis);
        if (r == EXIT_DONE && until_ms > 0)
                r = send(line, find_name(line, kpis), until_ms);
        return r == EXIT_DONE ? output_print(&out) : r;
}

/* --- list and remove ------------------------------------------------------------------------------ */

static void put_where(const Value *level, Buffer *out) {
        const Value *where = value_get(level, "where");

        buffer_puts(out, answer_length(where) > 0 ? "" : "-");
        for (size_t i = 0; i < answer_length(where); i++)
                buffer_printf(out, "%s%s", i > 0 ? " " : "", where->items[i].string);
}

static int list(const CommandLine *line) {
        const KpiAcceptOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(grid_deinit) Grid grid = {};
        const Value *levels;
        int r;

        r = api_query_open(&query, &line->global, LEVELS_PATH);
        if (r != EXIT_DONE)
                return r;
        if (options->json)
                return api_query_print_json(&query);
        levels = value_get(query.answer, "accepted");
        if (answer_length(levels) == 0) {
                message_print("no level is accepted");
                return EXIT_DONE;
        }
        grid_init_heads(&grid, "KPI|WHERE|RUNS UNTIL|ACCEPTED|BY|FOR|NOTE");
        for (size_t i = 0; i < answer_length(levels); i++) {
                const Value *level = &levels->items[i];
                scoped(buffer_deinit) Buffer where = {};
                char user[TEXT_MAX];

                put_where(level, &where);
                kpi_report_user(level, user);
                grid_text(&grid, answer_text(level, "kpi"));
                grid_text(&grid, where.text ?: "");
                grid_minute(&grid, answer_time(level, "until_ms"));
                grid_minute(&grid, answer_time(level, "time_ms"));
                grid_text(&grid, user);
                grid_text(&grid, answer_flag(level, "for_all") ? "all" : "own");
                grid_text(&grid, answer_text(level, "note"));
        }
        return grid_print(&grid, line->global.no_color);
}

/* Returns true if the level is of the KPI, whose indicator may be left out, and has the conditions of the command
 * line, if any. */
static bool is_named(const Value *level, const CommandLine *line) {
        const KpiAcceptOptions *options = line->options;
        const char *kpi = answer_text(level, "kpi"), *given = line->arguments[0], *dot = strchr(kpi, '.');
        const Value *where = value_get(level, "where");
        scoped(buffer_deinit) Buffer given_where = {}, level_where = {};

        put_conditions(options, &given_where);
        for (size_t i = 0; i < answer_length(where); i++)
                buffer_printf(&level_where, "\n%s", where->items[i].string);
        return (given_where.n == 0 || strcmp(given_where.text, level_where.text ?: "") == 0) &&
               (strcmp(kpi, given) == 0 || (dot && strcmp(dot + 1, given) == 0));
}

/* Returns true if the user has a level of the KPI: a level for all users is then not removed, which only an
 * administrator can do. */
static bool has_own(const Value *levels, const CommandLine *line) {
        for (size_t i = 0; i < answer_length(levels); i++)
                if (!answer_flag(&levels->items[i], "for_all") && is_named(&levels->items[i], line))
                        return true;
        return false;
}

/* Writes a line for each level that it removes. */
static int remove_named(const CommandLine *line, Courier *courier, const Value *levels, Buffer *out) {
        bool is_own = has_own(levels, line);
        Delivery delivery;
        int r;

        for (size_t i = 0; i < answer_length(levels); i++) {
                const Value *level = &levels->items[i];

                if (!is_named(level, line) || (is_own && answer_flag(level, "for_all")))
                        continue;
                r = deliver_model_removal(courier, ACCEPTED_LEVEL_NAME, answer_text(level, "key"), &delivery);
                if (r != 0)
                        return explain(courier, &delivery, answer_text(level, "kpi"), "removed", r);
                buffer_printf(out, "%s (", answer_text(level, "kpi"));
                put_where(level, out);
                buffer_puts(out, "): no longer accepted\n");
        }
        return EXIT_DONE;
}

static int remove_all(const CommandLine *line) {
        const KpiAcceptOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(deliver_courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer out = {};
        int r, printed;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        r = api_query_open(&query, &line->global, LEVELS_PATH);
        if (r != EXIT_DONE)
                return r;
        r = remove_named(line, &courier, value_get(query.answer, "accepted"), &out);
        if (r == EXIT_DONE && out.n == 0) {
                message_print("no level of %s%s is accepted; perfctl kpi accept --list shows all", line->arguments[0],
                              options->where.n > 0 ? " for these conditions" : "");
                return EXIT_FAILED;
        }
        printed = output_print(&out);
        return r == EXIT_DONE ? printed : r;
}

static int kpi_accept_run(const CommandLine *line) {
        const KpiAcceptOptions *options = line->options;

        if (options->list != (line->n_arguments == 0))
                return command_refuse(line->command->name,
                                      options->list ? "--list takes no KPI" : "missing argument KPI");
        if (options->list && (options->remove || options->note || options->where.n > 0 || options->ignore.n > 0))
                return command_refuse(line->command->name,
                                      "--list cannot be combined with --where, --ignore, --note or --remove");
        if (options->json && !options->list)
                return command_refuse(line->command->name, "--json requires --list");
        if (options->remove && (options->note || options->ignore.n > 0))
                return command_refuse(line->command->name, "--remove and --note or --ignore cannot be combined");
        return options->list ? list(line) : options->remove ? remove_all(line) : accept(line);
}

const Command cmd_kpi_accept = {
        .name = "kpi accept",
        .arguments = "[KPI]",
        .summary = "Make the newest level the baseline",
        .help = "Later runs of the KPI are compared with the level of its newest run, and no longer with the runs "
                "before that level. A level that an administrator accepts applies to the verdicts of all users, any "
                "other level only to the verdicts of this user. KPI has the same form as in perfctl kpi check.",
        .examples = { "perfctl kpi accept PiMatmul.rate --note 'slower, but exact'",
                      "perfctl kpi accept PiMatmul -w matrix_size=512", "perfctl kpi accept --list",
                      "perfctl kpi accept --remove PiMatmul.rate" },
        COMMAND_OPTION_ROWS(KpiAcceptOptions,
                OPTION_ROW_WHERE(KpiAcceptOptions, where, ACCEPTED_LEVEL_WHERE_MAX),
                OPTION_ROW_IGNORE(KpiAcceptOptions, ignore),
                { "note", 0, "TEXT", "Reason, which is shown with each verdict", OPTION_LINE(KpiAcceptOptions, note, ACCEPTED_LEVEL_NOTE_MAX) },
                { "list", 0, NULL, "List the accepted levels instead", OPTION_FLAG(KpiAcceptOptions, list) },
                { "remove", 0, NULL, "Withdraw the accepted level: the whole history counts again", OPTION_FLAG(KpiAcceptOptions, remove) },
                OPTION_ROW_TIMEOUT(KpiAcceptOptions, timeout_ns),
                OPTION_ROW_JSON(KpiAcceptOptions, json)),
        .n_arguments_max = 1,
        .value = OPTION_VALUE_INDICATOR,
        .run = kpi_accept_run,
};
