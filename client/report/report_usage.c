/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "client/report/report.h"
#include "client/report/report_total.h"

/* Pressure, as a share of a rank's time, that is shown as a warning. */
#define WAITING_HIGH 0.25
#define THROTTLED_HIGH 0.10
#define STALLED_SHOWN 0.05
#define IMBALANCE_HIGH 1.25

/* Writes " in rank 3" for the rank that has a maximum; nothing in the report of one job, or if the maximum is 0. */
static void put_where(const ReportRun *run, const ReportTotal *max, Buffer *out) {
        if (run->n_reports == 1 || !(max->value > 0))
                return;
        buffer_puts(out, " in ");
        report_run_rank_name(max->at, out);
}

/* --- cores ---------------------------------------------------------------------------------------- */

static void write_cores(Sheet *sheet, const ReportRun *run) {
        char used_text[TEXT_MAX], given_text[TEXT_MAX], peak_text[TEXT_MAX];
        scoped(buffer_deinit) Buffer text = {};
        ReportTotal used, given;
        AnswerMetric peak = {};

        if (!report_total_sum(run, TOTAL_OF_RANKS, "job_cpus_used", &used))
                return;

        report_total_format(sheet, &used, used_text);
        buffer_puts(&text, used_text);
        if (report_total_given(run, false, &given)) {
                text_cpus(given.value, given_text);
                buffer_printf(&text, " of %s", given_text);
        }
        /* Peaks of several ranks are at different times. */
        if (run->n_reports == 1 && answer_metric(sheet->job, "job_cpus_used_peak", &peak)) {
                sheet_format(sheet, &peak, peak_text);
                buffer_printf(&text, ", peak %s", peak_text);
        }

        if (given.value > 0)
                sheet_bar_row(sheet, "cores", text.text ?: "", used.value / given.value, peak.value / given.value, "");
        else
                sheet_row_write(sheet->screen, "cores", NULL, text.text ?: "");
}

static void write_cpu_time(Sheet *sheet, const ReportRun *run) {
        char share[TEXT_MAX], kernel[TEXT_MAX + 24] = "";
        ReportTotal used, given, system;

        if (!report_total_sum(run, TOTAL_OF_RANKS, "job_cpu_seconds", &used))
                return;
        if (used.value > 0 && report_total_sum(run, TOTAL_OF_RANKS, "job_cpu_system_seconds", &system) &&
            system.n == used.n) {
                sheet_text_share(system.value / used.value, share);
                snprintf(kernel, sizeof(kernel), " (%s in the kernel)", share);
        }

        sheet_cpu_time_row(sheet, used.value, report_total_given(run, true, &given) ? given.value : NAN, used.is_exact,
                           kernel);
}

static void write_energy(Sheet *sheet, const ReportRun *run) {
        char text[TEXT_MAX], of[TEXT_MAX];
        ReportTotal share, all;
        SheetRow row;

        if (!report_total_sum(run, TOTAL_OF_RANKS, "job_energy_joules", &share) ||
            !report_total_sum(run, TOTAL_OF_HOSTS, "total_energy_joules", &all))
                return;
        text_joules(share.value, text);
        text_joules(all.value, of);
        sheet_row_begin(&row, sheet->screen, "energy");
        sheet_row_printf(&row, "%s%s of %s of the %s processors and memory", text, sheet_mark(sheet, share.is_exact),
                         of, run->n_hosts > 1 ? "nodes'" : "node's");
        sheet_row_end(&row);
}

/* --- memory and processes ------------------------------------------------------------------------- */

/* Adds what was used with page cache, which is charged but can be reclaimed. */
static void add_cache(Sheet *sheet, const ReportRun *run, const ReportTotal *peak, char text[static TEXT_MAX],
                      size_t n_max) {
        size_t n = strlen(text);
        ReportTotal all;
        char used[TEXT_MAX];

        if (!report_total_max(run, TOTAL_OF_RANKS, "job_memory_peak_bytes", &all) || all.value < 1.05 * peak->value)
                return;
        report_total_format(sheet, &all, used);
        snprintf(text + n, n_max - n, ", %.16s with cache", used);
}

static void write_memory_of_job(Sheet *sheet, const ReportRun *run, const ReportTotal *peak) {
        char used[TEXT_MAX], of[TEXT_MAX], text[3 * TEXT_MAX + 24];
        AnswerMetric limit;
        bool is_limited = answer_metric(sheet->job, "job_memory_limit_bytes", &limit);
        double n_bytes = is_limited ? limit.value : answer_number(sheet->on, "memory_bytes");

        report_total_format(sheet, peak, used);
        if (!(n_bytes > 0)) {
                snprintf(text, sizeof(text), "%s at most", used);
                sheet_row_write(sheet->screen, "memory", NULL, text);
                return;
        }

        text_mib(n_bytes / 1048576, of);
        snprintf(text, sizeof(text), "%s of %s", used, of);
        add_cache(sheet, run, peak, text, sizeof(text));
        sheet_bar_row(sheet, "memory", text, peak->value / n_bytes, 0, is_limited ? "of its limit" : "of the node");
}

static void write_memory(Sheet *sheet, const ReportRun *run) {
        scoped(buffer_deinit) Buffer of_peak = {}, of_ratio = {};
        ReportTotal peak, ratio;
        char text[TEXT_MAX];
        SheetRow row;

        if (!report_total_max(run, TOTAL_OF_RANKS, "job_memory_unreclaimable_peak_bytes", &peak) &&
            !report_total_max(run, TOTAL_OF_RANKS, "job_memory_peak_bytes", &peak))
                return;
        if (run->n_reports == 1) {
                write_memory_of_job(sheet, run, &peak);
                return;
        }

        report_total_format(sheet, &peak, text);
        put_where(run, &peak, &of_peak);
        sheet_row_begin(&row, sheet->screen, "memory");
        sheet_row_printf(&row, "peak %s%s", text, of_peak.text ?: "");
        if (report_total_max(run, TOTAL_OF_RANKS, "job_memory_unreclaimable_peak_ratio", &ratio) ||
            report_total_max(run, TOTAL_OF_RANKS, "job_memory_peak_ratio", &ratio)) {
                sheet_text_share(ratio.value, text);
                put_where(run, &ratio, &of_ratio);
                sheet_row_printf(&row, "at most %s%s of what it may use%s", text, sheet_mark(sheet, ratio.is_exact),
                                 of_ratio.text ?: "");
        }
        sheet_row_end(&row);
}

/* Writes OOM kills and throttling at memory.high, if any. */
static void write_memory_events(Sheet *sheet, const ReportRun *run) {
        char text[TEXT_MAX], number[TEXT_MAX];
        ReportTotal kills, slowed;
        SheetRow row;

        (void)report_total_sum(run, TOTAL_OF_RANKS, "job_oom_kills", &kills);
        (void)report_total_sum(run, TOTAL_OF_RANKS, "job_memory_high_events", &slowed);
        if (!(kills.value > 0) && !(slowed.value > 0))
                return;

        sheet_row_begin(&row, sheet->screen, "");
        if (kills.value > 0) {
                text_number(kills.value, number);
                snprintf(text, sizeof(text), "%.16s %s killed for lack of memory", number,
                         kills.value > 1 ? "processes" : "process");
                sheet_row_put_styled(&row, STYLE_BAD, text);
        }
        if (slowed.value > 0) {
                text_number(slowed.value, number);
                snprintf(text, sizeof(text), "throttled %.16s times at memory.high", number);
                sheet_row_put_styled(&row, STYLE_WARN, text);
        }
        sheet_row_end(&row);
}

/* The processes of one job: a rank that starts the most or the largest process says nothing about a run. */
static void write_processes(Sheet *sheet) {
        double largest_kib = answer_number(value_get(sheet->job, "rusage"), "ru_maxrss");
        char text[TEXT_MAX], memory[TEXT_MAX];
        bool has_peak = sheet_text_get(sheet, "job_pids_peak", text);
        SheetRow row;

        if (!has_peak && isnan(largest_kib))
                return;

        sheet_row_begin(&row, sheet->screen, "processes");
        if (has_peak)
                sheet_row_printf(&row, "at most %s, threads included", text);
        if (!isnan(largest_kib)) {
                text_mib(largest_kib / 1024, memory);
                sheet_row_printf(&row, "max RSS %s", memory);
        }
        sheet_row_end(&row);
}

/* --- pressure ------------------------------------------------------------------------------------- */

static const struct {
        const char *words;
        const char *some, *full; /* keys of the metrics; full may be NULL */
} pressures[] = {
        { "CPUs", "job_psi_cpu_some_seconds", NULL },
        { "memory", "job_psi_memory_some_seconds", "job_psi_memory_full_seconds" },
        { "I/O", "job_psi_io_some_seconds", "job_psi_io_full_seconds" },
};

/* Finds a pressure as a share of the rank's time. */
static bool find_share(const RankReport *report, const char *key, AnswerMetric *ret) {
        double seconds = report_run_rank_seconds(report);

        if (!key || !(seconds > 0) || !answer_metric(report->job, key, ret))
                return false;
        ret->value = ret->value < seconds ? ret->value / seconds : 1;
        return true;
}

/* Finds the highest share among the ranks. */
static bool find_waiting(const ReportRun *run, const char *key, ReportTotal *ret) {
        AnswerMetric share;

        *ret = (ReportTotal){ .is_exact = true };
        for (size_t i = 0; i < run->n_reports; i++) {
                if (!find_share(&run->reports[i], key, &share))
                        continue;
                if (ret->n++ > 0 && share.value <= ret->value)
                        continue;
                ret->value = share.value;
                ret->at = &run->reports[i];
                ret->is_exact = share.is_exact;
        }
        return ret->n > 0;
}

static void put_pressure(Sheet *sheet, SheetRow *row, const ReportRun *run, size_t i) {
        scoped(buffer_deinit) Buffer text = {};
        char share[TEXT_MAX];
        ReportTotal some;
        AnswerMetric full;

        if (!find_waiting(run, pressures[i].some, &some))
                return;

        sheet_text_share(some.value, share);
        buffer_printf(&text, "%s%s %s%s%s", row->has_pieces ? "" : "for ", pressures[i].words, share,
                      sheet_mark(sheet, some.is_exact), row->has_pieces ? "" : " of the time");
        if (find_share(some.at, pressures[i].full, &full) && full.value >= STALLED_SHOWN) {
                sheet_text_share(full.value, share);
                buffer_printf(&text, " (stalled %s)", share);
        }
        put_where(run, &some, &text);

        if (some.value >= WAITING_HIGH)
                sheet_row_put_styled(row, STYLE_WARN, text.text ?: "");
        else
                sheet_row_put(row, text.text ?: "");
}

static void write_waiting(Sheet *sheet, const ReportRun *run) {
        ReportTotal throttled, share;
        bool has_any = false;
        SheetRow row;

        for (size_t i = 0; i < N_ELEMENTS(pressures); i++)
                has_any |= find_waiting(run, pressures[i].some, &share);
        if (!has_any)
                return;

        sheet_row_begin(&row, sheet->screen, "waited");
        for (size_t i = 0; i < N_ELEMENTS(pressures); i++)
                put_pressure(sheet, &row, run, i);
        if (report_total_max(run, TOTAL_OF_RANKS, "job_cpu_throttled_ratio", &throttled) && throttled.value == 0)
                sheet_row_put(&row, "never throttled");
        sheet_row_end(&row);
}

static void write_throttling(Sheet *sheet, const ReportRun *run) {
        scoped(buffer_deinit) Buffer text = {};
        char share[TEXT_MAX], seconds[TEXT_MAX];
        AnswerMetric threads;
        ReportTotal ratio;
        SheetRow row;

        if (!report_total_max(run, TOTAL_OF_RANKS, "job_cpu_throttled_ratio", &ratio) || !(ratio.value > 0))
                return;

        sheet_text_share(ratio.value, share);
        buffer_printf(&text, "in %s%s of its quota's periods", share, sheet_mark(sheet, ratio.is_exact));
        put_where(run, &ratio, &text);
        sheet_row_begin(&row, sheet->screen, "throttled");
        if (ratio.value >= THROTTLED_HIGH)
                sheet_row_put_styled(&row, STYLE_WARN, text.text ?: "");
        else
                sheet_row_put(&row, text.text ?: "");
        if (answer_metric(ratio.at->job, "job_cpu_throttled_seconds", &threads)) {
                sheet_format(sheet, &threads, seconds);
                sheet_row_printf(&row, "%s over its threads", seconds);
        }
        sheet_row_end(&row);
}

/* --- I/O ------------------------------------------------------------------------------------------ */

static void put_io(Sheet *sheet, SheetRow *row, const ReportRun *run, const char *const keys[2],
                   const char *const words[2]) {
        char bytes[TEXT_MAX], times[TEXT_MAX];
        ReportTotal total, n;

        if (!report_total_sum(run, TOTAL_OF_RANKS, keys[0], &total))
                return;

        report_total_format(sheet, &total, bytes);
        if (report_total_sum(run, TOTAL_OF_RANKS, keys[1], &n) && n.value > 0) {
                report_total_format(sheet, &n, times);
                sheet_row_printf(row, "%s in %s %s", bytes, times, words[1]);
        } else
                sheet_row_printf(row, "%s %s", bytes, words[0]);
}

static void write_io(Sheet *sheet, const ReportRun *run) {
        static const char *const keys[2][2] = { { "job_io_read_bytes", "job_io_reads" },
                                                { "job_io_written_bytes", "job_io_writes" } };
        ReportTotal total;
        SheetRow row;

        if (!report_total_sum(run, TOTAL_OF_RANKS, keys[0][0], &total) &&
            !report_total_sum(run, TOTAL_OF_RANKS, keys[1][0], &total))
                return;

        sheet_row_begin(&row, sheet->screen, "disks");
        put_io(sheet, &row, run, keys[0], (const char *const[]){ "read", "reads" });
        put_io(sheet, &row, run, keys[1], (const char *const[]){ "written", "writes" });
        sheet_row_end(&row);
}

/* --- unavailable metrics -------------------------------------------------------------------------- */

static const struct {
        const char *words;
        const char *key;
} unknowns[] = {
        { "cores", "job_cpus_used" },
        { "peak cores", "job_cpus_used_peak" },
        { "memory", "job_memory_peak_bytes" },
        { "waiting", "job_psi_cpu_some_seconds" },
        { "throttling", "job_cpu_throttled_ratio" },
        { "disks", "job_io_read_bytes" },
        { "number of processes", "job_pids_peak" },
};

static const char *find_absence(const Sheet *sheet, size_t i, char ret[static TEXT_MAX]) {
        AnswerMetric value;

        return answer_metric(sheet->job, unknowns[i].key, &value) ? NULL : sheet_absence(sheet, unknowns[i].key, ret);
}

static bool is_repeated(const Sheet *sheet, size_t n, const char *reason) {
        char before[TEXT_MAX];

        for (size_t i = 0; i < n; i++)
                if (find_absence(sheet, i, before) && strcmp(before, reason) == 0)
                        return true;
        return false;
}

static void put_reason(SheetRow *row, const char *reason) {
        char words[TEXT_MAX + 2];

        snprintf(words, sizeof(words), "(%s)", reason);
        sheet_row_put_words(row, words);
}

/* Writes a line for each reason. The metrics of several ranks have no common reason. */
static void write_unknown(Sheet *sheet) {
        for (size_t i = 0; i < N_ELEMENTS(unknowns); i++) {
                char reason[TEXT_MAX], other[TEXT_MAX], first[TEXT_MAX];
                SheetRow row;

                if (!find_absence(sheet, i, reason) || is_repeated(sheet, i, reason))
                        continue;

                sheet_row_begin(&row, sheet->screen, "");
                snprintf(first, sizeof(first), "unavailable: %s", unknowns[i].words);
                sheet_row_put_styled(&row, STYLE_DIM, first);
                for (size_t k = i + 1; k < N_ELEMENTS(unknowns); k++)
                        if (find_absence(sheet, k, other) && strcmp(other, reason) == 0)
                                sheet_row_put_styled(&row, STYLE_DIM, unknowns[k].words);
                put_reason(&row, reason);
                sheet_row_end(&row);
        }
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

bool report_has_own(const Value *job) {
        return answer_find(value_get(job, "metrics"), "scope", "job");
}

void report_write_usage(Sheet *sheet, const ReportRun *run) {
        bool is_job = run->n_reports == 1, has_own = is_job && *answer_text(sheet->job, "cgroup");

        for (size_t i = 0; i < run->n_reports; i++)
                has_own |= report_has_own(run->reports[i].job);
        if (has_own) {
                sheet_heading(sheet->screen, is_job ? "Allocated and used" : "All ranks", "");
                write_cores(sheet, run);
                write_memory(sheet, run);
                write_memory_events(sheet, run);
                write_cpu_time(sheet, run);
                write_energy(sheet, run);
                if (is_job)
                        write_processes(sheet);
                write_waiting(sheet, run);
                write_throttling(sheet, run);
                write_io(sheet, run);
                if (is_job)
                        write_unknown(sheet);
        }
        write_spread(sheet, run);
}
