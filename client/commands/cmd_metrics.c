/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/metric_list.h"
#include "client/cli/message.h"
#include "client/commands/perfctl.h"

/* Plain columns, as they are fed to grep and awk: name, value, unit, quality. */
static void write_metrics(Screen *screen, const Value *answer) {
        const Value *metrics = value_get(answer, "metrics"), *absent = value_get(answer, "absent");

        for (size_t i = 0; metrics && metrics->type == VALUE_LIST && i < metrics->n_items; i++) {
                const Value *metric = &metrics->items[i];
                const char *quality = text_get(metric, "quality");
                size_t n = screen_text(screen, text_get(metric, "key"));

                screen_pad(screen, n, 34);
                buffer_printf(screen->out, " %16.6g  %-4s  ", number_get(metric, "value"), text_get(metric, "unit"));
                screen_styled(screen, strcmp(quality, "exact") == 0 ? STYLE_GOOD : STYLE_DIM, quality);
                buffer_putc(screen->out, '\n');
        }

        for (size_t i = 0; absent && absent->type == VALUE_LIST && i < absent->n_items; i++) {
                size_t n = screen_text(screen, text_get(&absent->items[i], "key"));

                screen_pad(screen, n, 34);
                buffer_printf(screen->out, " %16s  %-4s  ", "-", "");
                screen_styled(screen, STYLE_DIM, text_get(&absent->items[i], "reason"));
                buffer_putc(screen->out, '\n');
        }
}

/* Equal names are both kept, as perf.py logged both: MLflow then shows one history with two values at one step. */
static int print_list(const Options *options, const Value *answer) {
        MetricListStyle style = {
                .is_compat = options_has(options, OPTION_COMPAT),
                .has_raw_names = options->has_raw_names,
                .prefix = options->prefix ? options->prefix : "",
        };
        scoped(metric_list_names_deinit) MetricListNames names = {};
        scoped(buffer_deinit) Buffer out = {};
        int r;

        r = metric_list_write(answer, &style, &out, &names);
        if (r < 0) {
                say("%s", strerrordesc_np(-r));
                return EXIT_FAILED;
        }
        if (names.refused) {
                say("--prefix '%s' makes the name '%s', which MLflow refuses: a name has no empty part, '.' or '..' between its '/'",
                    style.prefix, names.refused);
                return EXIT_USAGE;
        }
        if (names.n_same > 0)
                say("%zu names are the same as another, '%s' first: --prefix leaves too little of their 50 characters. All are printed",
                    names.n_same, names.same);
        return print_out(&out);
}

static int check_options(const Options *options) {
        static const OptionId more[] = { OPTION_NAMES, OPTION_PREFIX, OPTION_COMPAT };

        for (size_t i = 0; i < N_ELEMENTS(more); i++) {
                if (!options_has(options, more[i]) || options_has(options, OPTION_MLFLOW))
                        continue;
                say("--%s goes with --mlflow", option_info[more[i]].name);
                return EXIT_USAGE;
        }
        return EXIT_DONE;
}

int cmd_metrics(const Options *options) {
        scoped(api_query_deinit) ApiQuery question = {};
        scoped(buffer_deinit) Buffer out = {};
        char path[JOB_ID_MAX + 32];
        Screen screen;
        int r;

        if (options->job)
                snprintf(path, sizeof(path), "/api/v1/jobs/%s", options->job);
        else
                snprintf(path, sizeof(path), "/api/v1/node");

        r = check_options(options);
        if (r == EXIT_DONE)
                r = api_query_open(&question, options, path);
        if (r != EXIT_DONE)
                return r;
        if (options_has(options, OPTION_MLFLOW))
                return print_list(options, question.answer);
        if (options_has(options, OPTION_JSON))
                return api_query_print_json(&question);

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        write_metrics(&screen, question.answer);
        return print_out(&out);
}
