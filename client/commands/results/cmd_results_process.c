/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/cli/output.h"
#include "client/commands/results/results_options.h"
#include "client/kpi/kpi_judge.h"
#include "client/matrix/results_page.h"
#include "client/matrix/results_publish.h"
#include "client/matrix/results_report.h"
#include "client/matrix/results_store.h"

typedef struct ResultsProcessOptions {
        ResultsReadOptions read;
        const char *lts, *output, *spool, *bulk, *horreum; /* NULL: not given */
        uint64_t timeout_ns;
        KpiGate gate;
        OptionTexts generate;
        bool no_store, no_check, replot;
} ResultsProcessOptions;

/* Begins the next step. NULL text: it is off. */
static ResultsStep *begin_step(ResultsRun *run, const char *name, const char *text) {
        ResultsStep *step = &run->steps[run->n_steps++];

        *step = (ResultsStep){ .name = name };
        buffer_puts(&step->text, text ?: "");
        return step;
}

/* Says at once what became of a step: a run may take long. */
static int end_step(const CommandLine *line, ResultsStep *step) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        screen_line(&screen, "%-9s%s", step->name, step->text.text ?: "");
        return output_print(&out);
}

/* --- steps ---------------------------------------------------------------------------------------- */

static int parse(const CommandLine *line, ResultsRun *run) {
        const ResultsProcessOptions *options = line->options;
        const TestMatrix *matrix = &run->matrix;
        ResultsStep *step = begin_step(run, "parse", NULL);
        int r;

        r = results_options_read(line, &options->read, &run->matrix);
        if (r != EXIT_DONE)
                return r;
        buffer_printf(&step->text, "%zu tests of %zu settings, %zu failed; %zu left out; errors: %zu", matrix->n_taken,
                      matrix->n_entries, matrix->n_failed, matrix->n_left_out, test_matrix_count_errors(matrix));
        return end_step(line, step);
}

/* Makes the payloads. Those that perfd would refuse are not stored. */
static int validate(const CommandLine *line, ResultsRun *run) {
        TestTree *tree = &run->matrix.tree;
        ResultsStep *step = begin_step(run, "validate", NULL);
        int r = 0;

        if (!run->matrix.file.switches.generates) {
                test_matrix_print_findings(&run->matrix);
                buffer_puts(&step->text, "off: payload.generate");
                return end_step(line, step);
        }
        run->payloads = calloc(tree->n + 1, sizeof(*run->payloads));
        run->items = calloc(tree->n + 1, sizeof(*run->items));
        if (!run->payloads || !run->items)
                return command_fail(-ENOMEM);
        for (size_t i = 0; i < tree->n && r == 0; i++) {
                Payload *payload = &run->payloads[i];

                if (tree->records[i].left_out)
                        continue;
                r = payload_make(&run->matrix.file, &tree->records[i], &run->matrix.values[i], payload);
                run->n_invalid += !payload->is_valid;
                if (payload->item.indicator.name)
                        run->items[run->n_items++] = payload->item;
        }
        if (r < 0)
                return command_fail(r);
        test_matrix_print_findings(&run->matrix);
        buffer_printf(&step->text, "%zu payloads, %zu invalid", run->matrix.n_taken, run->n_invalid);
        return end_step(line, step);
}

static const char *why_not_stored(const CommandLine *line, const ResultsRun *run) {
        const ResultsProcessOptions *options = line->options;

        return options->no_store              ? "off: --no-store"
               : !run->matrix.file.switches.stores     ? "off: store.enabled"
               : !run->matrix.file.switches.generates  ? "off: payload.generate"
               : !run->matrix.file.name       ? "off: neither name nor model is declared"
               : run->n_items == 0            ? "no valid payload"
                                              : NULL;
}

static int store(const CommandLine *line, ResultsRun *run) {
        const ResultsProcessOptions *options = line->options;
        const ResultsStoreOptions to = { line->global.socket, options->spool, options->timeout_ns };
        const char *why = why_not_stored(line, run);
        ResultsStep *step = begin_step(run, "store", why);
        int r, printed;

        r = why ? EXIT_DONE
                : results_store(&to, run->matrix.file.model, &run->matrix.tree, run->items, run->n_items, &step->text);
        if (r == EXIT_FAILED)
                buffer_puts(&step->text, "failed");
        printed = end_step(line, step);
        return r == EXIT_DONE ? printed : r;
}

static int check(const CommandLine *line, ResultsRun *run, int stored) {
        const ResultsProcessOptions *options = line->options;
        const char *why = options->no_check                   ? "off: --no-check"
                          : !run->matrix.file.switches.judges          ? "off: regression.enabled"
                          : why_not_stored(line, run)         ? "off: nothing is stored"
                          : !run->matrix.file.model           ? "off: no model is declared"
                          : stored != EXIT_DONE               ? "no verdicts: the results are not stored yet"
                                                              : NULL;
        ResultsStep *step = begin_step(run, "check", why);
        KpiGate gate = options->gate;
        int r, printed;

        if (!gate.fail_on)
                gate.fail_on = run->matrix.file.switches.fails_on_regression ? "regression" : NULL;
        r = why ? kpi_gate_status(&gate, &run->check.tally)
                : results_store_check(&run->check, &line->global, run->items, run->n_items);
        if (run->check.is_judged) {
                buffer_printf(&step->text, "%zu KPIs%s", run->check.tally.n_all, run->check.tally.n_all ? ": " : "");
                kpi_gate_put(&run->check.tally, &step->text);
                r = kpi_gate_status(&gate, &run->check.tally);
        } else if (!why) {
                buffer_puts(&step->text, "failed");
                run->check.has_failed = true;
        }
        printed = end_step(line, step);
        if (run->check.is_judged)
                (void)kpi_judge_print(&line->global, run->check.kpis, run->check.tally.n_all, STDOUT_FILENO);
        return r == EXIT_DONE ? printed : r;
}

/* Finds the reports that --generate names. */
static int choose(const CommandLine *line, const ResultsRun *run, ResultsReports *ret) {
        const OptionTexts *wanted = &((const ResultsProcessOptions *)line->options)->generate;
        const char *unknown = NULL;
        int r;

        r = results_plots_choose(run->matrix.file.root, wanted->items, wanted->n, ret, &unknown);
        if (r == 1)
                return command_refuse(line->command->name,
                                      "--generate: '%s' is neither in reports nor in plots, and no id of visualize",
                                      unknown);
        return r < 0 ? command_fail(r) : EXIT_DONE;
}

/* Writes the payloads in the forms of other stores. */
static int write_payloads(const ResultsProcessOptions *options, const ResultsRun *run) {
        scoped(buffer_deinit) Buffer bulk = {}, runs = {};
        int r = EXIT_DONE;

        if (options->lts)
                r = results_report_write_lts(run, options->lts);
        if (r == EXIT_DONE && options->bulk) {
                results_publish_put_bulk(run, &bulk);
                r = output_write_file(options->bulk, &bulk);
        }
        if (r == EXIT_DONE && options->horreum) {
                results_publish_put_horreum(run, &runs);
                r = output_write_file(options->horreum, &runs);
        }
        return r;
}

/* The summary is written last: it names this step too. */
static int report(const CommandLine *line, ResultsRun *run, const ResultsReports *reports) {
        const ResultsProcessOptions *options = line->options;
        ResultsStep *step = begin_step(run, "report", NULL);
        int r;

        r = results_options_write_matrix(&options->read, &run->matrix);
        if (r == EXIT_DONE && run->payloads)
                r = write_payloads(options, run);
        buffer_printf(&step->text, "%s%s%s%s", options->lts ?: "", options->lts && options->output ? ", " : "",
                      options->output ?: "", options->lts || options->output ? "" : "off: no --output");
        if (options->output &&
            results_page_write(run, &line->global, reports, options->output, &step->text) != EXIT_DONE)
                r = EXIT_FAILED;
        if (options->output)
                results_plots_put_off(run->matrix.file.root, reports, &step->text);
        if (options->output && results_report_write(run, options->output) != EXIT_DONE)
                r = EXIT_FAILED;
        return r == EXIT_DONE ? end_step(line, step) : r;
}

/* status: of the steps before. An error keeps payloads back, a regression does not. */
static int publish(const CommandLine *line, ResultsRun *run, int status) {
        const ResultsProcessOptions *options = line->options;
        const ResultsExport *to = &run->matrix.file.servers.export;
        bool is_replot = options->replot || results_publish_is_replot(&run->matrix.tree);
        bool has_errors = status == EXIT_FAILED || test_matrix_count_errors(&run->matrix) > 0;
        const char *why = !to->is_enabled                           ? "off: export.enabled"
                          : !run->payloads                          ? "off: payload.generate"
                          : has_errors                              ? "off: there are errors"
                          : is_replot && !to->is_enabled_on_replot ? "off: export.enabled_on_replot"
                                                                    : NULL;
        ResultsStep *step = begin_step(run, "publish", why);
        int r = why ? EXIT_DONE : results_publish_send(run, &step->text), printed;

        if (r == EXIT_DONE && !has_errors)
                results_publish_note(&run->matrix.tree);
        printed = end_step(line, step);
        /* again, with this step */
        if (printed == EXIT_DONE && options->output && status != EXIT_FAILED)
                printed = results_report_write(run, options->output);
        return r != EXIT_DONE && to->fails_test ? r : printed;
}

/* An error comes first, then perfd's absence, then a verdict. */
static int combine(int a, int b) {
        static const int order[] = { EXIT_USAGE, EXIT_FAILED, EXIT_UNREACHABLE, EXIT_REGRESSED, EXIT_NO_VERDICT };

        for (size_t i = 0; i < N_ELEMENTS(order); i++)
                if (a == order[i] || b == order[i])
                        return order[i];
        return EXIT_DONE;
}

static int results_process_run(const CommandLine *line) {
        const ResultsProcessOptions *options = line->options;
        scoped(results_plots_reports_deinit) ResultsReports reports = {};
        scoped(results_report_run_deinit) ResultsRun run = {};
        int r, status;

        r = kpi_gate_check(&options->gate, line->command->name);
        if (r == EXIT_DONE)
                r = parse(line, &run);
        if (r == EXIT_DONE)
                r = choose(line, &run, &reports);
        if (r == EXIT_DONE)
                r = validate(line, &run);
        if (r != EXIT_DONE)
                return r;
        status = store(line, &run);
        status = combine(status, check(line, &run, status));
        status = combine(status, report(line, &run, &reports));
        status = combine(status, publish(line, &run, status));
        return test_matrix_count_errors(&run.matrix) > 0 ? combine(status, EXIT_FAILED) : status;
}

const Command cmd_results_process = {
        .name = "results process",
        .arguments = "DIRECTORY",
        .summary = "Parse, validate, store and judge the tests in a directory",
        .help = "Reads the values of the tests, computes results and KPIs, compares them with the model, stores a "
                "result for each test, and asks for the verdicts about the KPIs, in this order. Each step can be "
                "switched off in the declaration. The exit status is 1 after an error, 3 if perfd is away and the "
                "results are in the spool, and 4 or 5 for verdicts that --fail-on lists.",
        .examples = { "perfctl results process --output report/ results/",
                      "perfctl results process --fail-on regression results/",
                      "perfctl results process --no-store --output-lts payloads/ results/" },
        COMMAND_OPTION_ROWS(ResultsProcessOptions,
                OPTION_INCLUDE(ResultsProcessOptions, read, ResultsReadOptions, results_read_options),
                { "output-lts", 0, "DIRECTORY", "Write a payload for each test, for MatrixBenchmarking's long-term store",
                  OPTION_TEXT(ResultsProcessOptions, lts), .value = OPTION_VALUE_DIRECTORY },
                { "output-opensearch", 0, "FILE", "Write the payloads as lines of OpenSearch's bulk API",
                  OPTION_TEXT(ResultsProcessOptions, bulk), .value = OPTION_VALUE_FILE },
                { "output-horreum", 0, "FILE", "Write the payloads as runs of Horreum",
                  OPTION_TEXT(ResultsProcessOptions, horreum), .value = OPTION_VALUE_FILE },
                OPTION_ROW_OUTPUT(ResultsProcessOptions, output, OPTION_VALUE_DIRECTORY),
                { "generate", 0, "NAME", "Write this report, plot, or choice of the declaration only; may be repeated",
                  OPTION_TEXTS(ResultsProcessOptions, generate, OPTION_TEXTS_MAX, option_parse_list) },
                { "replot", 0, NULL, "Take the directory for one that was processed before",
                  OPTION_FLAG(ResultsProcessOptions, replot) },
                { "no-store", 0, NULL, "Store nothing in perfd", OPTION_FLAG(ResultsProcessOptions, no_store) },
                { "no-check", 0, NULL, "Ask for no verdicts", OPTION_FLAG(ResultsProcessOptions, no_check) },
                OPTION_ROW_FAIL_ON(ResultsProcessOptions, gate.fail_on, NULL),
                OPTION_ROW_SPOOL(ResultsProcessOptions, spool),
                OPTION_ROW_TIMEOUT(ResultsProcessOptions, timeout_ns)),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .value = OPTION_VALUE_DIRECTORY,
        .run = results_process_run,
};
