/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "client/report/report.h"
#include "client/report/report_total.h"

#define IMBALANCE_HIGH 1.25
#define RULES_MAX 16U

/* --- usage ---------------------------------------------------------------------------------------- */

static void write_cores(Sheet *sheet, const ReportRun *run) {
        char used_text[TEXT_MAX], given_text[TEXT_MAX], text[2 * TEXT_MAX + 8];
        ReportTotal used, given;

        if (!report_total_sum(run, TOTAL_OF_RANKS, "job_cpus_used", &used) || !report_total_given(run, false, &given) || !(given.value > 0))
                return;

        text_cpus(used.value, used_text);
        text_cpus(given.value, given_text);
        snprintf(text, sizeof(text), "%s%s of %s", used_text, sheet_mark(sheet, used.is_exact), given_text);
        sheet_bar_row(sheet, "cores", text, used.value / given.value, 0, "");
}

static void write_cpu_time(Sheet *sheet, const ReportRun *run) {
        ReportTotal used, given;

        if (!report_total_sum(run, TOTAL_OF_RANKS, "job_cpu_seconds", &used))
                return;
        sheet_cpu_time_row(sheet, used.value, report_total_given(run, true, &given) ? given.value : NAN, used.is_exact, "");
}

/* Writes "31.0 GiB~ in rank 3"; without a rank if the value is 0. */
static void put_with_rank(Sheet *sheet, SheetRow *row, const char *before, const char *text, const char *after, const ReportTotal *total) {
        scoped(buffer_deinit) Buffer where = {};

        if (total->value > 0) {
                buffer_puts(&where, " in ");
                report_run_rank_name(total->at, &where);
        }
        sheet_row_printf(row, "%s%s%s%s%s", before, text, sheet_mark(sheet, total->is_exact), after, where.text ? where.text : "");
}

static void write_memory(Sheet *sheet, const ReportRun *run) {
        char text[TEXT_MAX];
        ReportTotal peak, ratio;
        SheetRow row;

        if (!report_total_max(run, TOTAL_OF_RANKS, "job_memory_peak_bytes", &peak))
                return;

        sheet_row_begin(&row, sheet->screen, "memory");
        text_mib(peak.value / 1048576, text);
        put_with_rank(sheet, &row, "peak ", text, "", &peak);
        if (report_total_max(run, TOTAL_OF_RANKS, "job_memory_peak_ratio", &ratio)) {
                sheet_text_share(ratio.value, text);
                put_with_rank(sheet, &row, "at most ", text, " of what it may use", &ratio);
        }
        sheet_row_end(&row);
}

static void write_kills(Sheet *sheet, const ReportRun *run) {
        char number[TEXT_MAX], text[2 * TEXT_MAX];
        ReportTotal kills;

        if (!report_total_sum(run, TOTAL_OF_RANKS, "job_oom_kills", &kills) || !(kills.value > 0))
                return;

        text_number(kills.value, number);
        snprintf(text, sizeof(text), "%s %s killed for lack of memory", number, kills.value > 1 ? "processes" : "process");
        sheet_row_write(sheet->screen, "", &(Style){ STYLE_BAD }, text);
}

/* Finds the highest pressure among the ranks, as a share of the rank's time. */
static bool find_waiting(const ReportRun *run, const char *key, ReportTotal *ret) {
        AnswerMetric value;

        *ret = (ReportTotal){ .is_exact = true };
        for (size_t i = 0; i < run->n_reports; i++) {
                double seconds = report_run_rank_seconds(&run->reports[i]), share;

                if (!answer_metric(run->reports[i].job, key, &value) || !(seconds > 0))
                        continue;
                share = value.value < seconds ? value.value / seconds : 1;
                if (ret->n++ == 0 || share > ret->value) {
                        ret->value = share;
                        ret->at = &run->reports[i];
                        ret->is_exact = value.is_exact;
                }
        }
        return ret->n > 0;
}

static void write_waiting(Sheet *sheet, const ReportRun *run) {
        static const struct {
                const char *words, *key;
        } pressures[] = {
                { "for CPUs ", "job_psi_cpu_some_seconds" },
                { "memory ", "job_psi_memory_some_seconds" },
                { "I/O ", "job_psi_io_some_seconds" },
        };
        char text[TEXT_MAX];
        ReportTotal waiting;
        SheetRow row;

        if (!find_waiting(run, pressures[0].key, &waiting) && !find_waiting(run, pressures[2].key, &waiting))
                return;

        sheet_row_begin(&row, sheet->screen, "waited");
        for (size_t i = 0; i < N_ELEMENTS(pressures); i++) {
                if (!find_waiting(run, pressures[i].key, &waiting))
                        continue;
                sheet_text_share(waiting.value, text);
                put_with_rank(sheet, &row, pressures[i].words, text, row.has_pieces ? "" : " of the time", &waiting);
        }
        sheet_row_end(&row);
}

static void write_throttling(Sheet *sheet, const ReportRun *run) {
        char text[TEXT_MAX];
        ReportTotal ratio;
        SheetRow row;

        if (!report_total_max(run, TOTAL_OF_RANKS, "job_cpu_throttled_ratio", &ratio) || !(ratio.value > 0))
                return;

        sheet_text_share(ratio.value, text);
        sheet_row_begin(&row, sheet->screen, "throttled");
        put_with_rank(sheet, &row, "at most ", text, " of its quota's periods", &ratio);
        sheet_row_end(&row);
}

static void put_sum(Sheet *sheet, SheetRow *row, const ReportTotal *total, double per_mib, const char *words) {
        char text[TEXT_MAX];

        text_mib(total->value / per_mib, text);
        sheet_row_printf(row, "%s%s %s", text, sheet_mark(sheet, total->is_exact), words);
}

static void write_io(Sheet *sheet, const ReportRun *run) {
        ReportTotal read, written;
        bool has_read = report_total_sum(run, TOTAL_OF_RANKS, "job_io_read_bytes", &read),
             has_written = report_total_sum(run, TOTAL_OF_RANKS, "job_io_written_bytes", &written);
        SheetRow row;

        if (!has_read && !has_written)
                return;

        sheet_row_begin(&row, sheet->screen, "disks");
        if (has_read)
                put_sum(sheet, &row, &read, 1048576, "read");
        if (has_written)
                put_sum(sheet, &row, &written, 1048576, "written");
        sheet_row_end(&row);
}

/* --- spread --------------------------------------------------------------------------------------- */

static void format_bytes(double bytes, char ret[static TEXT_MAX]) {
        text_mib(bytes / 1048576, ret);
}

static void write_spread_row(Sheet *sheet, const ReportRun *run, const char *label, const char *key, bool is_bytes) {
        scoped(buffer_deinit) Buffer least = {}, most = {};
        char min[TEXT_MAX], max[TEXT_MAX], text[TEXT_MAX];
        const char *mark;
        double imbalance;
        Spread spread;
        SheetRow row;

        if (!report_total_spread(run, key, &spread))
                return;

        report_run_rank_name(spread.least, &least);
        report_run_rank_name(spread.most, &most);
        (is_bytes ? format_bytes : text_seconds)(spread.min, min);
        (is_bytes ? format_bytes : text_seconds)(spread.max, max);
        mark = sheet_mark(sheet, spread.is_exact);
        imbalance = report_total_imbalance(&spread);

        sheet_row_begin(&row, sheet->screen, label);
        if (strcmp(min, max) == 0)
                sheet_row_printf(&row, "%s%s in all", max, mark);
        else
                sheet_row_printf(&row, "%s%s in %s to %s%s in %s", min, mark, least.text ? least.text : "", max, mark,
                           most.text ? most.text : "");
        if (!isnan(imbalance)) {
                snprintf(text, sizeof(text), "most/mean %.2f", imbalance);
                if (imbalance >= IMBALANCE_HIGH)
                        sheet_row_put_styled(&row, STYLE_WARN, text);
                else
                        sheet_row_put(&row, text);
        }
        sheet_row_end(&row);
}

static void write_spread(Sheet *sheet, const ReportRun *run) {
        Spread spread;

        if (!report_total_spread(run, NULL, &spread))
                return;

        sheet_heading(sheet->screen, "Range over ranks", "");
        write_spread_row(sheet, run, "time", NULL, false);
        write_spread_row(sheet, run, "CPU time", "job_cpu_seconds", false);
        write_spread_row(sheet, run, "memory", "job_memory_peak_bytes", true);
}

void report_run_write_together(Sheet *sheet, const ReportRun *run) {
        ReportTotal used;

        if (report_total_sum(run, TOTAL_OF_RANKS, "job_cpu_seconds", &used)) {
                sheet_heading(sheet->screen, "All ranks", "");
                write_cores(sheet, run);
                write_memory(sheet, run);
                write_kills(sheet, run);
                write_cpu_time(sheet, run);
                write_waiting(sheet, run);
                write_throttling(sheet, run);
                write_io(sheet, run);
        }
        write_spread(sheet, run);
}

/* --- nodes ---------------------------------------------------------------------------------------- */

static void put_peak(Sheet *sheet, SheetRow *row, const ReportRun *run, const char *key, const char *words) {
        ReportTotal peak;

        if (!report_total_max(run, TOTAL_OF_HOSTS, key, &peak))
                return;
        sheet_row_printf(row, "%s%.1f %%%s on %s", words, peak.value, sheet_mark(sheet, peak.is_exact),
                   *peak.at->hostname ? peak.at->hostname : "a node");
}

static void write_cpus(Sheet *sheet, const ReportRun *run) {
        ReportTotal capacity, unused;
        SheetRow row;

        sheet_row_begin(&row, sheet->screen, "CPUs");
        if (report_total_sum(run, TOTAL_OF_HOSTS, "node_cpu_hours", &capacity) && capacity.value > 0 &&
            report_total_sum(run, TOTAL_OF_HOSTS, "node_unused_cpu_hours", &unused))
                sheet_row_printf(&row, "%.1f %%%s busy", 100 * (1 - unused.value / capacity.value), sheet_mark(sheet, unused.is_exact));
        put_peak(sheet, &row, run, "max_t_cpu_pct_per_cpu_avg", "peak ");
        sheet_row_end(&row);
}

static void write_pair(Sheet *sheet, const ReportRun *run, const char *label, const char *const keys[2], const char *const words[2]) {
        ReportTotal total;
        SheetRow row;

        sheet_row_begin(&row, sheet->screen, label);
        for (size_t i = 0; i < 2; i++)
                if (report_total_sum(run, TOTAL_OF_HOSTS, keys[i], &total))
                        put_sum(sheet, &row, &total, 1, words[i]);
        sheet_row_end(&row);
}

void report_run_write_nodes(Sheet *sheet, const ReportRun *run) {
        char words[TEXT_MAX] = "";
        SheetRow row;

        if (run->n_hosts == 0)
                return;
        if (run->n_hosts > 1)
                snprintf(words, sizeof(words), ", %zu hosts", run->n_hosts);

        sheet_heading(sheet->screen, run->n_hosts > 1 ? "Nodes during the run" : "Node during the job", words);
        write_cpus(sheet, run);
        sheet_row_begin(&row, sheet->screen, "memory");
        put_peak(sheet, &row, run, "max_t_mem_percent", "peak ");
        sheet_row_end(&row);
        write_pair(sheet, run, "disks", (const char *const[]){ "total_disk_io_read_mb", "total_disk_io_write_mb" },
                   (const char *const[]){ "read", "written" });
        write_pair(sheet, run, "network", (const char *const[]){ "total_net_io_ext_recv_mb", "total_net_io_ext_sent_mb" },
                   (const char *const[]){ "received", "sent" });
}

/* --- advice --------------------------------------------------------------------------------------- */

static void write_rule(Screen *screen, const ReportRun *run, const RankReport *report, const Value *advice) {
        scoped(buffer_deinit) Buffer text = {}, name = {}, ranks = {}, words = {};
        const char *rule = answer_text(advice, "rule");

        report_run_rank_name(report, &name);
        report_run_advised_ranks(run, rule, &ranks);
        buffer_printf(&text, "%s: %s", name.text ? name.text : "", answer_text(advice, "text"));
        buffer_printf(&words, "[%s", rule);
        if (ranks.n > 0 && strpbrk(ranks.text, ",-"))
                buffer_printf(&words, ": ranks %s", ranks.text);
        buffer_putc(&words, ']');
        report_write_advice(screen, text.text ? text.text : "", words.text ? words.text : "");
}

void report_run_write_advice(Screen *screen, const ReportRun *run) {
        const char *said[RULES_MAX];
        size_t n_said = 0;

        for (size_t i = 0; i < run->n_reports; i++) {
                const Value *advice = value_get(run->reports[i].job, "advice");

                for (size_t k = 0; advice && advice->type == VALUE_LIST && k < advice->n_items && n_said < RULES_MAX; k++) {
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
