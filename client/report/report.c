/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/report.h"

#include <inttypes.h>
#include <string.h>

#include "client/cli/grid.h"
#include "util/clock.h"

#define RANKS_SHOWN 16U
#define RULES_MAX 16U

/* --- head ----------------------------------------------------------------------------------------- */

static void write_title(Screen *screen, const ReportRun *run) {
        scoped(buffer_deinit) Buffer id = {}, failed = {}, running = {}, text = {};
        const char *name = report_run_text(run, "name");
        size_t n_failed, n_running;
        char end[REPORT_EXIT_MAX] = "";
        Style style;

        report_run_id(run, &id);
        report_run_ranks(run, RANKS_FAILED, &failed, &n_failed);
        report_run_ranks(run, RANKS_RUNNING, &running, &n_running);
        style = n_failed > 0 ? STYLE_BAD : STYLE_GOOD;

        screen_style_begin(screen, STYLE_BOLD);
        buffer_puts(screen->out, "Run ");
        (void)screen_text(screen, id.n > 0 ? id.text : *name ? name : "several jobs");
        if (id.n > 0 && *name) {
                buffer_puts(screen->out, " (");
                (void)screen_text_cut(screen, name, 40);
                buffer_putc(screen->out, ')');
        }
        screen_style_end(screen);

        if (*answer_text(value_get(run->reports[0].job, "slurm"), "state") || report_run_end_is_unknown(run)) {
                style = report_format_exit(run->reports[0].job, end);
                buffer_puts(&text, end);
        } else if (n_failed > 0)
                buffer_printf(&text, "%zu of %zu failed", n_failed, run->n_reports);
        if (n_running > 0)
                buffer_printf(&text, "%s%zu of %zu running", n_failed > 0 ? ", " : "", n_running, run->n_reports);
        buffer_puts(screen->out, "  ");
        if (text.n == 0 && run->n_reports > 1)
                buffer_printf(&text, "all %zu ", run->n_reports);
        if (n_failed == 0 && n_running == 0 && !end[0])
                buffer_puts(&text, "finished: exit 0");
        screen_styled(screen, style, text.text ? text.text : "");
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
                sheet_row_printf(&row, "%zu %s%s", run->n_reports, ranks > 0 ? "rank" : "job",
                                 run->n_reports > 1 ? "s" : "");
        if (run->n_nodes > run->n_hosts)
                sheet_row_printf(&row, "%zu of %" PRIu32 " hosts", run->n_hosts, run->n_nodes);
        else if (run->n_hosts > 0)
                sheet_row_printf(&row, "%zu %s", run->n_hosts, run->n_hosts > 1 ? "hosts" : "host");
        if (*report_run_text(run, "user"))
                sheet_row_printf(&row, "by %s", report_run_text(run, "user"));
        sheet_row_end(&row);
}

static void write_missing(Screen *screen, const ReportRun *run) {
        scoped(buffer_deinit) Buffer missing = {}, nodes = {}, text = {};

        report_run_missing_ranks(run, &missing);
        if (run->n_nodes > run->n_hosts)
                report_run_write_missing(run, &nodes);
        if (missing.n > 0)
                buffer_printf(&text, "rank%s %s of %" PRIu32, strpbrk(missing.text, ",-") ? "s" : "", missing.text,
                              run->n_ranks);
        if (nodes.n > 0)
                buffer_printf(&text, "%sreports of %s", text.n > 0 ? ", " : "", nodes.text);
        if (text.n > 0)
                sheet_row_write(screen, "missing", &(Style){ STYLE_WARN }, text.text);
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
        report_write_time(screen, run->reports[0].job, times.begin_ms, is_running ? 0 : times.end_ms, times.last_ms);
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

/* Writes what was used and, on a wide screen, how it relates to the metric `whole`. */
static void format_used(Sheet *sheet, const char *key, const char *whole, bool is_share, char ret[static TEXT_MAX]) {
        char used[TEXT_MAX], of[TEXT_MAX];
        AnswerMetric metric;

        strcpy(ret, "-");
        if (!sheet_text_get(sheet, key, used))
                return;

        snprintf(ret, TEXT_MAX, "%s", used);
        if (sheet->screen->width < WIDTH_WIDE || !answer_metric(sheet->job, whole, &metric))
                return;
        (is_share ? sheet_text_share : text_cpus)(metric.value, of);
        snprintf(ret, TEXT_MAX, is_share ? "%.20s %6.10s" : "%.20s of %.20s", used, of);
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
        format_used(&sheet, "job_cpus_used", "job_cpus_given", false, text);
        grid_right(grid, text);
        format_used(&sheet, "job_memory_peak_bytes", "job_memory_peak_ratio", true, text);
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

static void put_advice(Screen *screen, const char *text, const char *words) {
        SheetRow row;

        sheet_row_begin_item(&row, screen, STYLE_WARN, '!');
        sheet_row_put_words(&row, text);
        sheet_row_put_words_styled(&row, STYLE_DIM, words);
        sheet_row_end(&row);
}

static void write_rule(Screen *screen, const ReportRun *run, const RankReport *report, const Value *advice) {
        scoped(buffer_deinit) Buffer text = {}, name = {}, ranks = {}, words = {};
        const char *rule = answer_text(advice, "rule");

        if (run->n_reports > 1) {
                report_run_rank_name(report, &name);
                buffer_puts(&name, ": ");
        }
        report_run_advised_ranks(run, rule, &ranks);
        buffer_printf(&text, "%s%s", name.text ?: "", answer_text(advice, "text"));
        buffer_printf(&words, "[%.60s", rule);
        if (ranks.n > 0 && strpbrk(ranks.text, ",-"))
                buffer_printf(&words, ": ranks %s", ranks.text);
        buffer_putc(&words, ']');
        put_advice(screen, text.text ? text.text : "", words.text ? words.text : "");
}

/* Writes each advice once, with its ranks. */
static void write_advice(Screen *screen, const ReportRun *run) {
        const char *said[RULES_MAX];
        size_t n_said = 0;

        for (size_t i = 0; i < run->n_reports; i++) {
                const Value *advice = value_get(run->reports[i].job, "advice");

                for (size_t k = 0; advice && advice->type == VALUE_LIST && k < advice->n_items && n_said < RULES_MAX;
                     k++) {
                        const char *rule = answer_text(&advice->items[k], "rule");
                        bool is_said = false;

                        for (size_t j = 0; j < n_said; j++)
                                is_said |= strcmp(said[j], rule) == 0;
                        if (is_said)
                                continue;
                        if (n_said == 0)
                                screen_heading(screen, "Advice");
                        said[n_said++] = rule;
                        write_rule(screen, run, &run->reports[i], &advice->items[k]);
                }
        }
}

/* --- legend --------------------------------------------------------------------------------------- */

/* Returns the mean interval over the job, otherwise the current interval of the node; 0: unknown. */
static uint64_t interval_of(const Sheet *sheet, const char *metric, const char *now) {
        AnswerMetric mean;

        return sheet->job && answer_metric(sheet->job, metric, &mean) ? (uint64_t)(mean.value * 1e3 + 0.5)
                                                                      : answer_time(sheet->on, now);
}

static void write_legend(const Sheet *sheet) {
        uint64_t interval_ms = interval_of(sheet, "sample_interval_seconds", "interval_ms");
        uint64_t cpu_ms = interval_of(sheet, "cpu_interval_seconds", "cpu_interval_ms");
        char interval[TEXT_MAX] = "", of_cpus[TEXT_MAX] = "", text[4 * TEXT_MAX];

        if (!sheet->is_marked)
                return;
        if (interval_ms > 0)
                text_duration(interval_ms * NS_PER_MS, interval);
        if (cpu_ms > 0 && cpu_ms < interval_ms - interval_ms / 10)
                text_duration(cpu_ms * NS_PER_MS, of_cpus);
        snprintf(text, sizeof(text), "  ~ from samples%s%s%s%s; the other numbers are exact",
                 interval_ms > 0 ? " every " : "", interval, of_cpus[0] ? ", peaks and times of node CPUs every " : "",
                 of_cpus);
        screen_styled(sheet->screen, STYLE_DIM, text);
        buffer_putc(sheet->screen->out, '\n');
}

/* --- one line ------------------------------------------------------------------------------------- */

void report_write_line(const ReportRun *run, Buffer *out) {
        RunTimes times = report_run_times(run);
        char text[REPORT_EXIT_MAX], peak_text[TEXT_MAX];
        ReportTotal used, given, peak, ratio;

        text_duration((times.last_ms - times.begin_ms) * NS_PER_MS, text);
        buffer_printf(out, "%s on %zu %s", text, run->n_hosts, run->n_hosts == 1 ? "node" : "nodes");
        if (run->n_nodes > run->n_hosts)
                buffer_printf(out, " of %" PRIu32, run->n_nodes);
        if (report_total_sum(run, TOTAL_OF_RANKS, "job_cpus_used", &used) && report_total_given(run, false, &given)) {
                text_cpus(used.value, text);
                buffer_printf(out, ", CPUs %s", text);
                text_cpus(given.value, text);
                buffer_printf(out, " of %s", text);
        }
        if (report_total_max(run, TOTAL_OF_RANKS, "job_memory_peak_bytes", &peak)) {
                text_mib(peak.value / 1048576, peak_text);
                buffer_printf(out, ", memory %s", peak_text);
                if (report_total_max(run, TOTAL_OF_RANKS, "job_memory_peak_ratio", &ratio)) {
                        sheet_text_share(ratio.value, text);
                        buffer_printf(out, " (%s of its limit)", text);
                }
        }
        buffer_putc(out, '\n');
}

static void write_parts(Sheet *sheet, const ReportRun *run, const ReportResults *results) {
        report_write_usage(sheet, run);
        report_write_gpus(sheet, run, results ? results->pipelines : NULL);
        report_write_steps(sheet, run);
        report_write_phases(sheet);
        report_write_node(sheet, run);
        write_legend(sheet);
        write_results(sheet->screen, results);
        write_advice(sheet->screen, run);
}

void report_write(Screen *screen, const ReportRun *run, const ReportResults *results, bool is_whole) {
        bool is_job = run->n_reports == 1;
        size_t begin = screen->out->n;
        Sheet sheet;

        sheet_init(&sheet, screen, is_job ? run->reports[0].job : NULL, run->reports[0].on);
        if (is_job) {
                report_write_head(screen, sheet.job, sheet.on);
                write_missing(screen, run);
        } else {
                write_head(screen, run);
                sheet.is_marked = write_ranks(screen, run, is_whole);
        }
        if (run->step) {
                report_write_steps(&sheet, run);
                write_legend(&sheet);
        } else
                write_parts(&sheet, run, results);
        screen_fold(screen, begin);
}

void report_write_job_line(const Value *job, Buffer *out) {
        RankReport report;
        ReportRun run;
        RunHost host;

        report_run_of_job(&run, &report, &host, job, NULL);
        report_write_line(&run, out);
}

void report_write_job(Screen *screen, const Value *job, const Value *node, const ReportResults *results) {
        RankReport report;
        ReportRun run;
        RunHost host;

        report_run_of_job(&run, &report, &host, job, node);
        report_write(screen, &run, results, true);
}
