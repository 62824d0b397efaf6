/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the summary of MatrixBenchmarking, and its marker files. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/api/answer.h"
#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/kpi/kpi_report.h"
#include "json/json.h"
#include "util/file.h"

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
                entries[i] = (SettingsEntry){ strdup(key.text ?: ""), answer_number_or_zero(&kpis->items[i], "runs") > 1 };
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
        const char *verdict = answer_text(kpi, "verdict");

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
        summary->n_better += strcmp(verdict, "improvement") == 0;
        summary->n_worse += strcmp(verdict, "regression") == 0;
        summary->n_changed += strcmp(verdict, "changed") == 0;
        summary->n_unknown += strcmp(verdict, "unknown") == 0 || strcmp(verdict, "rerun") == 0;
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

        buffer_printf(out, "entries_count: %zu\nfailures: %zu\nkpis_count: %zu\nmessage: 'Performed %zu KPI regression analyses over %zu "
                           "entries x %zu KPIs. %zu KPIs didn''t pass.", summary->n_entries, n_failed, summary->n_kpis,
                      summary->n_points, summary->n_entries, summary->n_kpis, n_failed);
        if (summary->n_worse > 0)
                buffer_printf(out, " %zu KPIs had a significant performance decrease.", summary->n_worse);
        if (summary->n_better > 0)
                buffer_printf(out, " %zu KPIs had a significant performance increase.", summary->n_better);
        if (summary->n_no_history > 0)
                buffer_printf(out, " %zu entries had no history.", summary->n_no_history);
        if (summary->n_unknown > 0)
                buffer_printf(out, " %zu KPIs were not analyzed.", summary->n_unknown);
        buffer_printf(out, "'\nno_history: %zu\nnot_analyzed: %zu\nsignificant_performance_decrease: %zu\n"
                           "significant_performance_increase: %zu\ntotal_points: %zu\n", summary->n_no_history, summary->n_unknown,
                      summary->n_worse, summary->n_better, summary->n_points);
}

int kpi_report_put_summary(const Value *answer, Buffer *out) {
        RegressionSummary summary;
        int r;

        r = make_summary(answer, &summary);
        if (r == 0)
                put_summary(&summary, out);
        return r < 0 ? r : buffer_error(out);
}

/* --- files ---------------------------------------------------------------------------------------- */

/* text NULL: removes the file. */
static int write_file(const char *directory, const char *name, const char *text) {
        scoped(buffer_deinit) Buffer path = {};
        int r = 0;

        buffer_printf(&path, "%s/%s", directory, name);
        if (buffer_error(&path) < 0)
                r = -ENOMEM;
        else if (text)
                r = file_replace(path.text, text, strlen(text), 0666, false);
        else if (unlink(path.text) < 0 && errno != ENOENT)
                r = -errno;
        if (r == 0)
                return EXIT_DONE;
        message_print("cannot write %s/%s: %s", directory, name, strerrordesc_np(-r));
        return EXIT_FAILED;
}

int kpi_report_write_files(const char *directory, const Value *answer) {
        scoped(buffer_deinit) Buffer text = {};
        RegressionSummary summary = {};
        bool is_empty = answer && answer_length(value_get(answer, "kpis")) == 0;
        int r;

        if (answer && make_summary(answer, &summary) < 0) {
                message_print("out of memory");
                return EXIT_FAILED;
        }
        put_summary(&summary, &text);
        r = write_file(directory, "FAILURE", answer ? NULL : "The KPIs were not judged; the message on standard error has the reason.\n");
        if (r == EXIT_DONE)
                r = write_file(directory, "NO_RESULTS_FOUND", is_empty ? "No selected result has a KPI.\n" : NULL);
        if (r == EXIT_DONE)
                r = write_file(directory, "NO_HISTORICAL_RESULTS",
                               summary.n_entries > 0 && summary.n_points == 0 ? "No KPI has an earlier result.\n" : NULL);
        if (r == EXIT_DONE)
                r = write_file(directory, "regression_summary.yaml", answer ? text.text : NULL);
        return r;
}
