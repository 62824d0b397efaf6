/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts as files for programs: YAML, JUnit, and the summary of MatrixBenchmarking with its marker files. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/judge.h"
#include "client/api/answer.h"
#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/kpi/kpi_report.h"
#include "document/indicator_model.h"
#include "json/json.h"
#include "util/error_text.h"
#include "util/utf8.h"

/* --- YAML ----------------------------------------------------------------------------------------- */

static void put_node(Buffer *out, const Value *value, unsigned depth, bool is_quoted);

/* Strings of JSON are strings of YAML. */
static void put_scalar(Buffer *out, const Value *value) {
        Json json = { .out = out };

        value_write_json(value, &json);
        buffer_putc(out, '\n');
}

/* is_quoted: the keys are names given by users, which may be "yes". */
static void put_members(Buffer *out, const Value *object, unsigned depth, bool is_quoted) {
        for (size_t i = 0; i < object->n_members; i++) {
                const Member *member = &object->members[i];

                buffer_printf(out, "%*s", i > 0 ? (int)(2 * depth) : 0, "");
                if (is_quoted) {
                        Json json = { .out = out };

                        json_string(&json, member->key);
                } else
                        buffer_puts(out, member->key);
                buffer_putc(out, ':');
                put_node(out, &member->value, depth + 1, is_quoted || strcmp(member->key, "parameters") == 0);
        }
}

/* Writes the value after "KEY:". */
static void put_node(Buffer *out, const Value *value, unsigned depth, bool is_quoted) {
        bool is_list = value->type == VALUE_LIST && value->n_items > 0;

        if (!is_list && !(value->type == VALUE_OBJECT && value->n_members > 0)) {
                buffer_putc(out, ' ');
                put_scalar(out, value);
                return;
        }
        buffer_putc(out, '\n');
        if (!is_list) {
                buffer_printf(out, "%*s", (int)(2 * depth), "");
                put_members(out, value, depth, is_quoted);
                return;
        }
        for (size_t i = 0; i < value->n_items; i++) {
                const Value *item = &value->items[i];

                buffer_printf(out, "%*s- ", (int)(2 * depth), "");
                if (item->type == VALUE_OBJECT && item->n_members > 0)
                        put_members(out, item, depth + 1, is_quoted);
                else
                        put_scalar(out, item);
        }
}

void kpi_report_put_yaml(const Value *answer, Buffer *out) {
        put_members(out, answer, 0, false);
}

/* --- JUnit ---------------------------------------------------------------------------------------- */

/* XML has no form for control characters. */
static void put_xml(Buffer *out, const char *text) {
        for (size_t n; *text; text += n ?: 1) {
                unsigned char c = (unsigned char)*text;

                n = utf8_length(text, strlen(text));
                if (c == '<' || c == '>' || c == '&' || c == '"')
                        buffer_printf(out, "&#%u;", c);
                else if (n == 0 || c < 0x20 || c == 0x7f)
                        buffer_putc(out, '?');
                else
                        buffer_put(out, text, n);
        }
}

static bool has_verdict(const Value *kpi, JudgeVerdict a, JudgeVerdict b) {
        const char *verdict = answer_text(kpi, "verdict");

        return strcmp(verdict, judge_verdict_names[a]) == 0 || strcmp(verdict, judge_verdict_names[b]) == 0;
}

void kpi_report_put_case(const char *kind, const char *name, const char *outcome, const char *message, Buffer *out) {
        buffer_puts(out, "  <testcase classname=\"");
        put_xml(out, kind);
        buffer_puts(out, "\" name=\"");
        put_xml(out, name);
        if (!outcome) {
                buffer_puts(out, "\"/>\n");
                return;
        }
        buffer_printf(out, "\"><%s message=\"", outcome);
        put_xml(out, message);
        buffer_puts(out, "\"/></testcase>\n");
}

static void put_case(Buffer *out, const Value *kpi) {
        scoped(buffer_deinit) Buffer labels = {}, reason = {};
        const char *outcome = has_verdict(kpi, JUDGE_REGRESSION, JUDGE_CHANGED)  ? "failure"
                              : has_verdict(kpi, JUDGE_RUN_AGAIN, JUDGE_UNKNOWN) ? "skipped"
                                                                                 : NULL;

        kpi_report_put_labels(kpi, &labels);
        kpi_report_put_reason(kpi, &reason);
        kpi_report_put_case(answer_text(kpi, "kpi"), labels.text ?: KPI_COMPONENT, outcome, reason.text ?: "", out);
}

void kpi_report_put_suite(const Value *answer, Buffer *out) {
        const Value *kpis = value_get(answer, "kpis");
        size_t n_failed = 0, n_skipped = 0;

        for (size_t i = 0; i < answer_length(kpis); i++) {
                n_failed += has_verdict(&kpis->items[i], JUDGE_REGRESSION, JUDGE_CHANGED);
                n_skipped += has_verdict(&kpis->items[i], JUDGE_RUN_AGAIN, JUDGE_UNKNOWN);
        }
        buffer_printf(
                out,
                " <testsuite name=\"perfctl kpi check\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
                answer_length(kpis), n_failed, n_skipped);
        for (size_t i = 0; i < answer_length(kpis); i++)
                put_case(out, &kpis->items[i]);
        buffer_puts(out, " </testsuite>\n");
}

void kpi_report_put_junit(const Value *answer, Buffer *out) {
        buffer_puts(out, KPI_REPORT_JUNIT_BEGIN);
        kpi_report_put_suite(answer, out);
        buffer_puts(out, KPI_REPORT_JUNIT_END);
}

/* --- summary of MatrixBenchmarking ---------------------------------------------------------------- */

/* The original calls a set of parameters an entry. */
typedef struct SettingsEntry {
        char *key; /* owned */
        bool has_history;
} SettingsEntry;

typedef struct RegressionSummary {
        size_t n_points, n_entries, n_kpis, n_no_history, n_unknown, n_better, n_worse, n_changed;
} RegressionSummary;

static int compare_entries(const void *a, const void *b) {
        return strcmp(((const SettingsEntry *)a)->key, ((const SettingsEntry *)b)->key);
}

/* Counts the different keys, and the keys for which no entry has a history. */
static size_t count_different(SettingsEntry *entries, size_t n, size_t *ret_without) {
        size_t n_different = 0;

        *ret_without = 0;
        qsort(entries, n, sizeof(*entries), compare_entries);
        for (size_t i = 0, end; i < n; i = end) {
                bool has_history = false;

                for (end = i; end < n && strcmp(entries[end].key, entries[i].key) == 0; end++)
                        has_history |= entries[end].has_history;
                n_different++;
                *ret_without += !has_history;
        }
        return n_different;
}

/* Counts the entries or, without labels, the KPIs. */
static int count_entries(const Value *kpis, bool with_labels, size_t *ret, size_t *ret_without) {
        size_t n = answer_length(kpis);
        SettingsEntry *entries = calloc(n + 1, sizeof(*entries));
        int r = entries ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < n; i++) {
                scoped(buffer_deinit) Buffer key = {};
                Json json = { .out = &key };

                if (with_labels)
                        value_write_json(value_get(&kpis->items[i], "labels"), &json);
                else
                        buffer_puts(&key, answer_text(&kpis->items[i], "kpi"));
                entries[i] = (SettingsEntry){ strdup(key.text ?: ""),
                                              answer_number_or_zero(&kpis->items[i], "runs") > 1 };
                r = entries[i].key && buffer_error(&key) == 0 ? 0 : -ENOMEM;
        }
        if (r == 0)
                *ret = count_different(entries, n, ret_without);
        for (size_t i = 0; entries && i < n; i++)
                free(entries[i].key);
        free(entries);
        return r;
}

static void count_kpi(RegressionSummary *summary, const Value *kpi) {
        const Value *compat = value_get(kpi, "compat");

        if (answer_number_or_zero(kpi, "runs") <= 1)
                return;
        summary->n_points++;
        if (compat) {
                const Value *accepted = value_get(compat, "accepted");
                bool is_better = answer_flag(compat, "improved") && answer_number_or_zero(compat, "rating") >= 1;

                summary->n_better += is_better;
                summary->n_worse += !is_better && accepted && accepted->type == VALUE_BOOL && !accepted->boolean;
                summary->n_unknown += !accepted || accepted->type == VALUE_NULL;
                return;
        }
        summary->n_better += has_verdict(kpi, JUDGE_IMPROVEMENT, JUDGE_RETURNED);
        summary->n_worse += has_verdict(kpi, JUDGE_REGRESSION, JUDGE_REGRESSION);
        summary->n_changed += has_verdict(kpi, JUDGE_CHANGED, JUDGE_CHANGED);
        summary->n_unknown += has_verdict(kpi, JUDGE_UNKNOWN, JUDGE_RUN_AGAIN);
}

static int make_summary(const Value *answer, RegressionSummary *ret) {
        const Value *kpis = value_get(answer, "kpis");
        size_t unused;
        int r;

        *ret = (RegressionSummary){};
        r = count_entries(kpis, true, &ret->n_entries, &ret->n_no_history);
        if (r == 0)
                r = count_entries(kpis, false, &ret->n_kpis, &unused);
        for (size_t i = 0; i < answer_length(kpis); i++)
                count_kpi(ret, &kpis->items[i]);
        return r;
}

static void put_summary(const RegressionSummary *summary, Buffer *out) {
        size_t n_failed = summary->n_better + summary->n_worse + summary->n_changed;

        buffer_printf(out,
                      "entries_count: %zu\nfailures: %zu\nkpis_count: %zu\nmessage: 'Performed %zu KPI regression "
                      "analyses over %zu entries x %zu KPIs. %zu KPIs didn''t pass.",
                      summary->n_entries, n_failed, summary->n_kpis, summary->n_points, summary->n_entries,
                      summary->n_kpis, n_failed);
        if (summary->n_worse > 0)
                buffer_printf(out, " %zu KPIs had a significant performance decrease.", summary->n_worse);
        if (summary->n_better > 0)
                buffer_printf(out, " %zu KPIs had a significant performance increase.", summary->n_better);
        if (summary->n_no_history > 0)
                buffer_printf(out, " %zu entries had no history.", summary->n_no_history);
        if (summary->n_unknown > 0)
                buffer_printf(out, " %zu KPIs were not analyzed.", summary->n_unknown);
        buffer_printf(out,
                      "'\nno_history: %zu\nnot_analyzed: %zu\nsignificant_performance_decrease: %zu\n"
                      "significant_performance_increase: %zu\ntotal_points: %zu\n",
                      summary->n_no_history, summary->n_unknown, summary->n_worse, summary->n_better,
                      summary->n_points);
}

/* --- files ---------------------------------------------------------------------------------------- */

/* text NULL: removes the file. */
static int write_file(const char *directory, const char *name, const char *text) {
        scoped(buffer_deinit) Buffer path = {};

        buffer_printf(&path, "%s/%s", directory, name);
        if (buffer_error(&path) < 0)
                return command_fail(-ENOMEM);
        if (text)
                return output_write_file(path.text, &(Buffer){ .text = (char *)text, .n = strlen(text) });
        if (unlink(path.text) == 0 || errno == ENOENT)
                return EXIT_DONE;
        message_print("cannot write %s: %s", path.text, error_text(errno));
        return EXIT_FAILED;
}

int kpi_report_write_files(const char *directory, const Value *answer) {
        scoped(buffer_deinit) Buffer text = {};
        RegressionSummary summary = {};
        bool is_empty = answer && answer_length(value_get(answer, "kpis")) == 0;
        int r;

        if (answer && make_summary(answer, &summary) < 0)
                return command_fail(-ENOMEM);
        put_summary(&summary, &text);
        r = write_file(directory, "FAILURE",
                       answer ? NULL : "The KPIs were not judged; the message on standard error has the reason.\n");
        if (r == EXIT_DONE)
                r = write_file(directory, "NO_RESULTS_FOUND", is_empty ? "No selected result has a KPI.\n" : NULL);
        if (r == EXIT_DONE)
                r = write_file(directory, "NO_HISTORICAL_RESULTS",
                               summary.n_entries > 0 && summary.n_points == 0 ? "No KPI has an earlier result.\n"
                                                                              : NULL);
        if (r == EXIT_DONE)
                r = write_file(directory, "regression_summary.yaml", answer ? text.text : NULL);
        return r;
}
