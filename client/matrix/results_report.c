/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/results_report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/kpi/kpi_report.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/file.h"

int results_report_write_file(const char *directory, const char *name, const Buffer *text) {
        char path[PATH_MAX];
        int r = file_make_dirs(directory, 0777);

        if (r == 0 && snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
                r = -ENAMETOOLONG;
        if (r == 0)
                return output_write_file(path, text);
        message_print("cannot write %s/%s: %s", directory, name, error_text(-r));
        return EXIT_FAILED;
}

/* --- markdown ------------------------------------------------------------------------------------- */

/* A cell of a table: no character of the text has a meaning of its own. */
static void put_cell(Buffer *out, const char *text) {
        buffer_puts(out, " ");
        for (; text && *text; text++) {
                if (strchr("\\`*_{}[]<>()#+!|~&", *text))
                        buffer_putc(out, '\\');
                buffer_putc(out, (unsigned char)*text < 0x20 ? ' ' : *text);
        }
        buffer_puts(out, " |");
}

static void put_kpis(const ResultsRun *run, Buffer *out) {
        buffer_puts(out, "\n| KPI | Settings | Verdict |\n|---|---|---|\n");
        for (size_t i = 0; i < run->check.tally.n_all; i++) {
                scoped(buffer_deinit) Buffer labels = {}, reason = {};

                kpi_report_put_labels(&run->check.kpis[i], &labels);
                kpi_report_put_reason(&run->check.kpis[i], &reason);
                buffer_putc(out, '|');
                put_cell(out, answer_text(&run->check.kpis[i], "kpi"));
                put_cell(out, labels.text ?: "-");
                put_cell(out, reason.text);
                buffer_putc(out, '\n');
        }
}

static void put_findings(const ResultsRun *run, Buffer *out) {
        const TestTree *tree = &run->matrix.tree;

        buffer_puts(out, "\n| Finding |\n|---|\n");
        for (size_t i = 0; i <= tree->n; i++) {
                const Findings *findings = i == 0 ? &tree->findings : &tree->records[i - 1].findings;

                for (const char *line = findings->text.text; line && *line; line = strchr(line, '\n') + 1) {
                        scoped(freep) char *copy = strndup(line, strcspn(line, "\n"));

                        buffer_putc(out, '|');
                        put_cell(out, copy);
                        buffer_putc(out, '\n');
                }
        }
}

static void put_markdown(const ResultsRun *run, Buffer *out) {
        buffer_puts(out, "| Step | Outcome |\n|---|---|\n");
        for (size_t i = 0; i < run->n_steps; i++) {
                buffer_putc(out, '|');
                put_cell(out, run->steps[i].name);
                put_cell(out, run->steps[i].text.text);
                buffer_putc(out, '\n');
        }
        if (run->check.tally.n_all > 0)
                put_kpis(run, out);
        put_findings(run, out);
}

/* --- JUnit ---------------------------------------------------------------------------------------- */

static void put_case(const ResultsRun *run, const TestRecord *record, Buffer *out) {
        char exit_text[32];

        (void)snprintf(exit_text, sizeof(exit_text), "exit %d", record->exit_code);
        kpi_report_put_case(run->matrix.file.name ?: "results", record->path,
                            record->exit_code != 0           ? "failure"
                            : record->findings.n_errors > 0 ? "error"
                                                             : NULL,
                            record->exit_code != 0 ? exit_text : record->findings.text.text ?: "", out);
}

/* The tests are a suite, and their KPIs another. */
static void put_junit(const ResultsRun *run, Buffer *out) {
        const TestMatrix *matrix = &run->matrix;
        size_t n_wrong = 0;

        for (size_t i = 0; i < matrix->tree.n; i++)
                n_wrong += !matrix->tree.records[i].left_out && matrix->tree.records[i].exit_code == 0 &&
                           matrix->tree.records[i].findings.n_errors > 0;
        buffer_printf(out, KPI_REPORT_JUNIT_BEGIN " <testsuite name=\"perfctl results\" tests=\"%zu\" "
                      "failures=\"%zu\" errors=\"%zu\" skipped=\"0\">\n",
                      matrix->n_taken, matrix->n_failed, n_wrong);
        for (size_t i = 0; i < matrix->tree.n; i++)
                if (!matrix->tree.records[i].left_out)
                        put_case(run, &matrix->tree.records[i], out);
        buffer_puts(out, " </testsuite>\n");
        if (run->check.is_judged)
                kpi_report_put_suite(&run->check.answer, out);
        buffer_puts(out, KPI_REPORT_JUNIT_END);
}

/* The verdicts of an earlier run are not those of this one. */
static void remove_verdicts(const char *directory) {
        static const char *const names[] = { "regression_summary.yaml", "NO_RESULTS_FOUND", "NO_HISTORICAL_RESULTS",
                                             "FAILURE" };
        char path[PATH_MAX];

        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                if (snprintf(path, sizeof(path), "%s/%s", directory, names[i]) < (int)sizeof(path))
                        (void)unlink(path);
}

int results_report_write(const ResultsRun *run, const char *directory) {
        scoped(buffer_deinit) Buffer junit = {}, markdown = {};
        int r;

        put_markdown(run, &markdown);
        r = results_report_write_file(directory, "summary.md", &markdown);
        put_junit(run, &junit);
        if (r == EXIT_DONE)
                r = results_report_write_file(directory, "junit.xml", &junit);
        if (r != EXIT_DONE)
                return r;
        if (run->check.is_judged || run->check.has_failed)
                return kpi_report_write_files(directory, run->check.is_judged ? &run->check.answer : NULL);
        remove_verdicts(directory);
        return EXIT_DONE;
}

/* --- payloads ------------------------------------------------------------------------------------- */

void results_report_put_payload(const ResultsRun *run, size_t i, Buffer *out) {
        scoped(buffer_deinit) Buffer verdicts = {};
        const Payload *payload = &run->payloads[i];

        if (run->check.is_judged)
                results_store_write_verdicts(&run->check, &payload->item, &(Json){ .out = &verdicts });
        payload_write_json(payload, &run->matrix.file, &run->matrix.tree.records[i], &run->matrix.values[i],
                           verdicts.text, &(Json){ .out = out });
}

static int write_payload(const ResultsRun *run, size_t i, const char *directory) {
        scoped(buffer_deinit) Buffer text = {};
        const TestRecord *record = &run->matrix.tree.records[i];
        char uuid[TEST_UUID_TEXT_MAX], name[NAME_MAX_BYTES + TEST_UUID_TEXT_MAX + 8];

        results_report_put_payload(run, i, &text);
        buffer_putc(&text, '\n');
        test_tree_format_uuid(record->id, uuid);
        (void)snprintf(name, sizeof(name), "%s_%s.json", run->matrix.file.name ?: "results", uuid);
        return results_report_write_file(directory, name, &text);
}

int results_report_write_lts(const ResultsRun *run, const char *directory) {
        scoped(buffer_deinit) Buffer anchor = {};
        char time[CLOCK_TEXT_MAX];
        int r;

        clock_format_utc(clock_realtime_ns(), time);
        buffer_printf(&anchor, "index: %s\ndate: '%s'\nfilters: {}\n", run->matrix.file.name ?: "results", time);
        r = results_report_write_file(directory, "source.lts.yaml", &anchor);
        for (size_t i = 0; r == EXIT_DONE && i < run->matrix.tree.n; i++)
                if (!run->matrix.tree.records[i].left_out)
                        r = write_payload(run, i, directory);
        return r;
}

void results_report_run_deinit(ResultsRun *run) {
        for (size_t i = 0; run->payloads && i < run->matrix.tree.n; i++)
                payload_deinit(&run->payloads[i]);
        for (size_t i = 0; i < run->n_steps; i++)
                buffer_deinit(&run->steps[i].text);
        free(run->payloads);
        free(run->items);
        results_store_check_deinit(&run->check);
        test_matrix_deinit(&run->matrix);
}
