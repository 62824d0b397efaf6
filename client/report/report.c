/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/report.h"

#include "util/clock.h"

/* --- results -------------------------------------------------------------------------------------- */

static void write_result(Screen *screen, const ReportResult *result) {
        size_t n_name = screen->width > 2 * SHEET_INDENT ? screen->width / 2 - 2 : SHEET_INDENT, n;

        buffer_puts(screen->out, "  ");
        n = screen_text_cut(screen, result->title, n_name);
        screen_pad(screen, n, 22);
        buffer_puts(screen->out, "  ");
        n = 2 + (n > 22 ? n : 22) + 2;
        (void)screen_text_cut(screen, result->text, screen->width > n + 8 ? screen->width - n : 8);
        buffer_putc(screen->out, '\n');
}

static void write_results(Screen *screen, const ReportResults *results) {
        if (!results || results->n == 0)
                return;

        screen_heading(screen, "Measured");
        for (size_t i = 0; i < results->n; i++)
                write_result(screen, &results->items[i]);
        if (results->has_more)
                buffer_puts(screen->out, "  and more\n");
}

/* --- advice --------------------------------------------------------------------------------------- */

void report_write_advice(Screen *screen, const char *text, const char *words) {
        SheetRow row;

        sheet_row_begin_item(&row, screen, STYLE_WARN, '!');
        sheet_row_put_words(&row, text);
        sheet_row_put_words_styled(&row, STYLE_DIM, words);
        sheet_row_end(&row);
}

static void write_advice(Screen *screen, const Value *job) {
        const Value *advice = value_get(job, "advice");
        char words[TEXT_MAX];

        if (!advice || advice->type != VALUE_LIST || advice->n_items == 0)
                return;

        screen_heading(screen, "Advice");
        for (size_t i = 0; i < advice->n_items; i++) {
                snprintf(words, sizeof(words), "[%.60s]", answer_text(&advice->items[i], "rule"));
                report_write_advice(screen, answer_text(&advice->items[i], "text"), words);
        }
}

/* --- report --------------------------------------------------------------------------------------- */

/* Returns the mean interval over the job, otherwise the current interval of the node; 0: unknown. */
static uint64_t interval_of(const Sheet *sheet, const char *metric, const char *now) {
        AnswerMetric mean;

        return sheet->job && answer_metric(sheet->job, metric, &mean) ? (uint64_t)(mean.value * 1e3 + 0.5) : answer_time(sheet->on, now);
}

void report_write_legend(const Sheet *sheet) {
        uint64_t interval_ms = interval_of(sheet, "sample_interval_seconds", "interval_ms");
        uint64_t cpu_ms = interval_of(sheet, "cpu_interval_seconds", "cpu_interval_ms");
        char interval[TEXT_MAX] = "", of_cpus[TEXT_MAX] = "", text[4 * TEXT_MAX];

        if (!sheet->is_marked)
                return;
        if (interval_ms > 0)
                text_duration(interval_ms * NS_PER_MS, interval);
        if (cpu_ms > 0 && cpu_ms < interval_ms - interval_ms / 10)
                text_duration(cpu_ms * NS_PER_MS, of_cpus);
        snprintf(text, sizeof(text), "  ~ from samples%s%s%s%s; the other numbers are exact", interval_ms > 0 ? " every " : "", interval,
                 of_cpus[0] ? ", peaks and times of node CPUs every " : "", of_cpus);
        screen_styled(sheet->screen, STYLE_DIM, text);
        buffer_putc(sheet->screen->out, '\n');
}

/* Returns true if the job has a cgroup of its own. */
static bool has_group(const Value *job) {
        return *answer_text(job, "cgroup") != '\0';
}

void report_write(Screen *screen, const Value *job, const Value *node, const ReportResults *results) {
        size_t begin = screen->out->n;
        Sheet sheet;

        sheet_init(&sheet, screen, job, node);
        report_write_head(screen, job, node);
        if (has_group(job) || report_has_own(job))
                report_write_own(&sheet);
        report_write_phases(&sheet);
        report_write_node(&sheet, has_group(job));
        report_write_legend(&sheet);
        write_results(screen, results);
        write_advice(screen, job);
        screen_fold(screen, begin);
}
