/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/api/api_query.h"
#include "client/api/indicator_path.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/cli/text.h"
#include "client/commands/commands.h"
#include "client/kpi/kpi_report.h"
#include "client/kpi/profile_report.h"

typedef struct KpiShowOptions {
        bool json;
} KpiShowOptions;

static const Option options_table[] = {
        OPTION_ROW_JSON(KpiShowOptions, json),
        {},
};

/* Writes "812.3 GFLOP/s at 2.4.0, higher is better; 30 runs of 6 versions". */
static void put_value(const Value *kpi, Buffer *out) {
        const char *unit = answer_text(kpi, "unit"), *version = answer_text(kpi, "version"), *direction = answer_text(kpi, "direction");
        double n_runs = answer_number_or_zero(kpi, "runs"), n_versions = answer_number_or_zero(kpi, "versions");
        char value[TEXT_MAX];

        text_figure(answer_number(kpi, "value"), value);
        buffer_printf(out, "  %s%s%s%s%s", value, *unit ? " " : "", unit, *version ? " at " : "", version);
        if (strcmp(direction, "none") != 0)
                buffer_printf(out, ", %s is better", direction);
        buffer_printf(out, "; %.0f run%s of %.0f version%s", n_runs, n_runs == 1 ? "" : "s", n_versions, n_versions == 1 ? "" : "s");
}

static void put_left_out(const Value *kpi, Buffer *out) {
        static const char *const members[] = { "failed", "later", "older", "accepted" };
        static const char *const texts[] = { "failed", "of later versions", "older than the compared runs",
                                             "before the accepted level" };
        const Value *left_out = value_get(kpi, "left_out");
        size_t n = 0;

        for (size_t i = 0; i < N_ELEMENTS(members); i++) {
                double n_runs = answer_number_or_zero(left_out, members[i]);

                if (n_runs > 0)
                        buffer_printf(out, "%s%.0f %s", n++ == 0 ? "  left out: " : ", ", n_runs, texts[i]);
        }
}

static void put_title(const Value *kpi, Buffer *out) {
        scoped(buffer_deinit) Buffer labels = {};

        kpi_report_put_labels(kpi, &labels);
        buffer_printf(out, "%s of %s", answer_text(kpi, "kpi"), labels.text ?: "");
}

static void put_verdict(const Value *kpi, Buffer *out) {
        buffer_puts(out, "  ");
        kpi_report_put_reason(kpi, out);
}

/* Writes a line for each part that is not empty. */
static void write_kpi(Screen *screen, const Value *kpi) {
        static void (*const parts[])(const Value *kpi, Buffer *out) = { put_title, put_value, put_verdict, profile_report_put,
                                                                                put_left_out };

        for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
                scoped(buffer_deinit) Buffer text = {};
                size_t begin = screen->out->n;

                parts[i](kpi, &text);
                if (text.n == 0)
                        continue;
                (void)screen_text(screen, text.text ?: "");
                buffer_putc(screen->out, '\n');
                screen_fold(screen, begin);
        }
}

static int print(const CommandLine *line, const Value *answer) {
        const Value *kpis = value_get(answer, "kpis");
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        if (answer_length(kpis) == 0) {
                const char *note = answer_text(answer, "note");

                message_print("%s", *note ? note : "no KPI has this name; perfctl kpi list shows all");
                return EXIT_FAILED;
        }
        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        for (size_t i = 0; i < answer_length(kpis); i++) {
                buffer_puts(&out, i > 0 ? "\n" : "");
                write_kpi(&screen, &kpis->items[i]);
        }
        return output_print(&out);
}

static int kpi_show_run(const CommandLine *line) {
        const KpiShowOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer path = {};
        int r;

        buffer_puts(&path, "/api/v1/kpis/");
        buffer_put_encoded(&path, line->arguments[0]);
        buffer_puts(&path, "/regress");
        r = api_query_open_path(&query, &line->global, &path);
        if (r != EXIT_DONE)
                return r;
        return options->json ? api_query_print_json(&query) : print(line, query.answer);
}

const Command cmd_kpi_show = {
        .name = "kpi show",
        .arguments = "KPI",
        .summary = "Show a KPI: its newest value, history and verdict",
        .help = "Prints, for each component, hardware and set of parameters, the newest value of the KPI, the runs of its history, and "
                "whether the newest version changed it, as `perfctl kpi regress` judges. KPI is an indicator, INDICATOR.RESULT, a result "
                "that only one indicator declares, or a pattern.",
        .examples = { "perfctl kpi show PiMatmul.rate", "perfctl kpi show --json '*.rate'" },
        COMMAND_OPTIONS(KpiShowOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .run = kpi_show_run,
};
