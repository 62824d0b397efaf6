/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "client/cli/grid.h"
#include "client/report/report.h"
#include "client/report/report_run.h"

#define RANKS_SHOWN 16U

/* --- head ----------------------------------------------------------------------------------------- */

static void write_title(Screen *screen, const ReportRun *run) {
        scoped(buffer_deinit) Buffer id = {}, failed = {}, running = {}, text = {};
        const char *name = report_run_text(run, "name");
        size_t n_failed, n_running;

        report_run_id(run, &id);
        report_run_ranks(run, RANKS_FAILED, &failed, &n_failed);
        report_run_ranks(run, RANKS_RUNNING, &running, &n_running);

        screen_style_begin(screen, STYLE_BOLD);
        buffer_puts(screen->out, "Run ");
        (void)screen_text(screen, id.n > 0 ? id.text : *name ? name : "several jobs");
        if (id.n > 0 && *name) {
                buffer_puts(screen->out, " (");
                (void)screen_text_cut(screen, name, 40);
                buffer_putc(screen->out, ')');
        }
        screen_style_end(screen);

        if (n_failed > 0)
                buffer_printf(&text, "%zu of %zu failed", n_failed, run->n_reports);
        if (n_running > 0)
                buffer_printf(&text, "%s%zu of %zu running", n_failed > 0 ? ", " : "", n_running, run->n_reports);
        buffer_puts(screen->out, "  ");
        if (text.n == 0 && run->n_reports > 1)
                buffer_printf(&text, "all %zu ", run->n_reports);
        if (n_failed == 0 && n_running == 0)
                buffer_puts(&text, "finished: exit 0");
        screen_styled(screen, n_failed > 0 ? STYLE_BAD : STYLE_GOOD, text.text ? text.text : "");
        buffer_putc(screen->out, '\n');
}

static void write_counts(Screen *screen, const ReportRun *run) {
        int64_t ranks = 0;
        SheetRow row;

        for (size_t i = 0; i < run->n_reports; i++)
                ranks += run->reports[i].rank >= 0;

        sheet_row_begin(&row, screen, "where");
        if (ranks > 0 && run->n_ranks > 0)
                sheet_row_printf(&row, "%" PRId64 " of %" PRIu32 " ranks", ranks, run->n_ranks);
        else
                sheet_row_printf(&row, "%zu %s%s", run->n_reports, ranks > 0 ? "rank" : "job", run->n_reports > 1 ? "s" : "");
        if (run->n_nodes > run->n_hosts)
                sheet_row_printf(&row, "%zu of %" PRIu32 " hosts", run->n_hosts, run->n_nodes);
        else if (run->n_hosts > 0)
                sheet_row_printf(&row, "%zu %s", run->n_hosts, run->n_hosts > 1 ? "hosts" : "host");
        if (*report_run_text(run, "user"))
                sheet_row_printf(&row, "by %s", report_run_text(run, "user"));
        sheet_row_end(&row);
}

static void write_missing(Screen *screen, const ReportRun *run) {
        scoped(buffer_deinit) Buffer missing = {}, text = {};

        report_run_missing_ranks(run, &missing);
        if (missing.n == 0)
                return;

        buffer_printf(&text, "rank%s %s of %" PRIu32, strpbrk(missing.text, ",-") ? "s" : "", missing.text, run->n_ranks);
        sheet_row_write(screen, "missing", &(Style){ STYLE_WARN }, text.text ?: "");
}

static void write_head(Screen *screen, const ReportRun *run) {
        const char *command = report_run_text(run, "command");
        RunTimes times = report_run_times(run);
        bool is_running = false;

        for (size_t i = 0; i < run->n_reports; i++)
                is_running |= report_run_rank_is_running(&run->reports[i]);
        write_title(screen, run);
        if (*command || *answer_text(run->reports[0].job, "command"))
                sheet_row_write(screen, "command", NULL, *command ? command : "differs between ranks");
        write_counts(screen, run);
        report_write_time(screen, times.begin_ms, is_running ? 0 : times.end_ms, times.last_ms);
        write_missing(screen, run);
}

/* --- rank table ----------------------------------------------------------------------------------- */

#define WIDTH_WIDE 80U /* minimum screen width for shares and sums */

static void format_exit(const RankReport *report, char ret[static TEXT_MAX]) {
        const Value *exit = value_get(report->job, "exit");
        int64_t status, signal = 0;
        const char *name;

        if (!value_get_int(exit, "status", &status)) {
                snprintf(ret, TEXT_MAX, "%.16s", answer_text(report->job, "state"));
                return;
        }

        (void)value_get_int(exit, "signal", &signal);
        name = report_signal_name(signal);
        if (name)
                snprintf(ret, TEXT_MAX, "SIG%s", name);
        else
                snprintf(ret, TEXT_MAX, "%" PRId64, status);
}

static void format_cores(Sheet *sheet, char ret[static TEXT_MAX]) {
        char used[TEXT_MAX], of[TEXT_MAX];
        AnswerMetric given;

        strcpy(ret, "-");
        if (!sheet_text_get(sheet, "job_cpus_used", used))
                return;

        snprintf(ret, TEXT_MAX, "%s", used);
        if (sheet->screen->width < WIDTH_WIDE || !answer_metric(sheet->job, "job_cpus_given", &given))
                return;
        text_cpus(given.value, of);
        snprintf(ret, TEXT_MAX, "%.20s of %.20s", used, of);
}

static void format_memory(Sheet *sheet, char ret[static TEXT_MAX]) {
        char used[TEXT_MAX], share[TEXT_MAX];
        AnswerMetric ratio;

        strcpy(ret, "-");
        if (!sheet_text_get(sheet, "job_memory_peak_bytes", used))
                return;

        snprintf(ret, TEXT_MAX, "%s", used);
        if (sheet->screen->width < WIDTH_WIDE || !answer_metric(sheet->job, "job_memory_peak_ratio", &ratio))
                return;
        sheet_text_share(ratio.value, share);
        snprintf(ret, TEXT_MAX, "%.20s %6.10s", used, share);
}

static void put_rank(Grid *grid, Screen *screen, const RankReport *report, bool *is_marked) {
        char text[TEXT_MAX] = "-";
        Sheet sheet;

        sheet_init(&sheet, screen, report->job, NULL);
        if (report->rank >= 0)
                snprintf(text, sizeof(text), "%" PRId64, report->rank);
        grid_right(grid, text);
        grid_text(grid, *report->hostname ? report->hostname : "-");
        format_exit(report, text);
        grid_whole(grid, text);
        grid_style(grid, report_run_rank_is_good(report) ? STYLE_DIM : STYLE_BAD);
        text_seconds(report_run_rank_seconds(report), text);
        grid_right(grid, text);
        format_cores(&sheet, text);
        grid_right(grid, text);
        format_memory(&sheet, text);
        grid_right(grid, text);
        *is_marked |= sheet.is_marked;
}

/* Selects failed ranks first, then the others by rank; the selection is shown sorted by rank. */
static bool is_shown(const ReportRun *run, size_t i, bool is_whole, size_t n_failed) {
        bool is_good = report_run_rank_is_good(&run->reports[i]);
        size_t n_before = 0;

        if (is_whole || run->n_reports <= RANKS_SHOWN)
                return true;
        for (size_t k = 0; k < i; k++)
                n_before += report_run_rank_is_good(&run->reports[k]) == is_good;
        return n_before + (is_good ? n_failed : 0) < RANKS_SHOWN;
}

static bool write_ranks(Screen *screen, const ReportRun *run, bool is_whole) {
        scoped(buffer_deinit) Buffer failed = {};
        scoped(grid_deinit) Grid grid = {};
        bool is_marked = false;
        size_t n_failed, n_shown = 0;

        report_run_ranks(run, RANKS_FAILED, &failed, &n_failed);
        grid_init_heads(&grid, ">rank|host|exit|>time|>cores|>memory peak");
        grid.indent = 2;
        for (size_t i = 0; i < run->n_reports; i++) {
                if (!is_shown(run, i, is_whole, n_failed))
                        continue;
                put_rank(&grid, screen, &run->reports[i], &is_marked);
                n_shown++;
        }

        buffer_putc(screen->out, '\n');
        screen->out->failed |= grid_write(&grid, screen, true) < 0;
        if (n_shown < run->n_reports)
                buffer_printf(screen->out, "  and %zu more\n", run->n_reports - n_shown);
        return is_marked;
}

void report_run_write(Screen *screen, const ReportRun *run, bool is_whole) {
        size_t begin = screen->out->n;
        Sheet sheet;

        sheet_init(&sheet, screen, NULL, run->reports[0].on);
        write_head(screen, run);
        sheet.is_marked = write_ranks(screen, run, is_whole);
        report_run_write_together(&sheet, run);
        report_run_write_nodes(&sheet, run);
        report_write_legend(&sheet);
        report_run_write_advice(screen, run);
        screen_fold(screen, begin);
}
