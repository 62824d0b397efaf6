/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "client/report/report.h"

/* Pressure, as a share of the job's time, that is shown as a warning. */
#define WAITING_HIGH 0.25
#define THROTTLED_HIGH 0.10
#define STALLED_SHOWN 0.05

/* --- cores ---------------------------------------------------------------------------------------- */

/* Returns the CPUs that the job was allowed to use: its own limit, else all CPUs of the node. */
static bool find_given(const Sheet *sheet, double *ret) {
        AnswerMetric given;

        if (answer_metric(sheet->job, "job_cpus_given", &given)) {
                *ret = given.value;
                return true;
        }

        return value_get_double(value_get(sheet->job, "limits"), "cpus", ret) || value_get_double(sheet->on, "cpus", ret);
}

static void write_cores(Sheet *sheet) {
        char mean_text[TEXT_MAX], peak_text[TEXT_MAX], given_text[TEXT_MAX];
        scoped(buffer_deinit) Buffer text = {};
        AnswerMetric mean, peak = {};
        double given = 0;

        if (!answer_metric(sheet->job, "job_cpus_used", &mean))
                return;

        sheet_format(sheet, &mean, mean_text);
        buffer_puts(&text, mean_text);
        if (find_given(sheet, &given)) {
                text_cpus(given, given_text);
                buffer_printf(&text, " of %s", given_text);
        }
        if (answer_metric(sheet->job, "job_cpus_used_peak", &peak)) {
                sheet_format(sheet, &peak, peak_text);
                buffer_printf(&text, ", peak %s", peak_text);
        }

        if (given > 0)
                sheet_bar_row(sheet, "cores", text.text ?: "", mean.value / given, peak.value / given, "");
        else
                sheet_row_write(sheet->screen, "cores", NULL, text.text ?: "");
}

static void write_cpu_time(Sheet *sheet) {
        char share[TEXT_MAX], kernel[TEXT_MAX + 24] = "";
        AnswerMetric used, unused, system;
        double given = NAN;

        if (!answer_metric(sheet->job, "job_cpu_seconds", &used))
                return;
        if (answer_metric(sheet->job, "job_cpu_unused_seconds", &unused))
                given = used.value + unused.value;
        if (used.value > 0 && answer_metric(sheet->job, "job_cpu_system_seconds", &system)) {
                sheet_text_share(system.value / used.value, share);
                snprintf(kernel, sizeof(kernel), " (%s in the kernel)", share);
        }

        sheet_cpu_time_row(sheet, used.value, given, used.is_exact, kernel);
}

/* --- memory and processes ------------------------------------------------------------------------- */

static void write_memory(Sheet *sheet) {
        char used[TEXT_MAX], of[TEXT_MAX], text[2 * TEXT_MAX + 8];
        AnswerMetric peak, limit;
        double n_bytes;
        bool is_limited;

        if (!answer_metric(sheet->job, "job_memory_peak_bytes", &peak))
                return;

        sheet_format(sheet, &peak, used);
        is_limited = answer_metric(sheet->job, "job_memory_limit_bytes", &limit);
        n_bytes = is_limited ? limit.value : answer_number(sheet->on, "memory_bytes");
        if (!(n_bytes > 0)) {
                snprintf(text, sizeof(text), "%s at most", used);
                sheet_row_write(sheet->screen, "memory", NULL, text);
                return;
        }

        text_mib(n_bytes / 1048576, of);
        snprintf(text, sizeof(text), "%s of %s", used, of);
        sheet_bar_row(sheet, "memory", text, peak.value / n_bytes, 0, is_limited ? "of its limit" : "of the node");
}

/* Writes OOM kills and throttling at memory.high, if any. */
static void write_memory_events(Sheet *sheet) {
        AnswerMetric kills = {}, slowed = {};
        char text[TEXT_MAX], number[TEXT_MAX];
        SheetRow row;

        (void)answer_metric(sheet->job, "job_oom_kills", &kills);
        (void)answer_metric(sheet->job, "job_memory_high_events", &slowed);
        if (!(kills.value > 0) && !(slowed.value > 0))
                return;

        sheet_row_begin(&row, sheet->screen, "");
        if (kills.value > 0) {
                text_number(kills.value, number);
                snprintf(text, sizeof(text), "%.16s %s killed for lack of memory", number, kills.value > 1 ? "processes" : "process");
                sheet_row_put_styled(&row, STYLE_BAD, text);
        }
        if (slowed.value > 0) {
                text_number(slowed.value, number);
                snprintf(text, sizeof(text), "throttled %.16s times at memory.high", number);
                sheet_row_put_styled(&row, STYLE_WARN, text);
        }
        sheet_row_end(&row);
}

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

/* Returns the pressure as a share of the job's time. */
static bool find_share(const Sheet *sheet, const char *key, double seconds, AnswerMetric *ret) {
        if (!key || !(seconds > 0) || !answer_metric(sheet->job, key, ret))
                return false;

        ret->value = ret->value < seconds ? ret->value / seconds : 1;
        return true;
}

static void put_pressure(Sheet *sheet, SheetRow *row, size_t i, double seconds) {
        char share[TEXT_MAX], stalled[TEXT_MAX], text[3 * TEXT_MAX];
        const char *first = row->has_pieces ? "" : "for ", *time = row->has_pieces ? "" : " of the time";
        AnswerMetric some, full;
        const char *mark;

        if (!find_share(sheet, pressures[i].some, seconds, &some))
                return;

        mark = sheet_mark(sheet, some.is_exact);
        sheet_text_share(some.value, share);
        if (find_share(sheet, pressures[i].full, seconds, &full) && full.value >= STALLED_SHOWN) {
                sheet_text_share(full.value, stalled);
                snprintf(text, sizeof(text), "%s%s %s%s%s (stalled %s)", first, pressures[i].words, share, mark, time, stalled);
        } else
                snprintf(text, sizeof(text), "%s%s %s%s%s", first, pressures[i].words, share, mark, time);

        if (some.value >= WAITING_HIGH)
                sheet_row_put_styled(row, STYLE_WARN, text);
        else
                sheet_row_put(row, text);
}

static void write_waiting(Sheet *sheet) {
        double seconds = sheet_seconds(sheet);
        AnswerMetric throttled, share;
        bool has_any = false, is_known = answer_metric(sheet->job, "job_cpu_throttled_ratio", &throttled);
        SheetRow row;

        for (size_t i = 0; i < N_ELEMENTS(pressures); i++)
                has_any |= find_share(sheet, pressures[i].some, seconds, &share);
        if (!has_any)
                return;

        sheet_row_begin(&row, sheet->screen, "waited");
        for (size_t i = 0; i < N_ELEMENTS(pressures); i++)
                put_pressure(sheet, &row, i, seconds);
        if (is_known && throttled.value == 0)
                sheet_row_put(&row, "never throttled");
        sheet_row_end(&row);
}

static void write_throttling(Sheet *sheet) {
        char share[TEXT_MAX], text[2 * TEXT_MAX], seconds[TEXT_MAX];
        AnswerMetric ratio;
        SheetRow row;

        if (!answer_metric(sheet->job, "job_cpu_throttled_ratio", &ratio) || !(ratio.value > 0))
                return;

        sheet_text_share(ratio.value, share);
        snprintf(text, sizeof(text), "in %s%s of its quota's periods", share, sheet_mark(sheet, ratio.is_exact));
        sheet_row_begin(&row, sheet->screen, "throttled");
        if (ratio.value >= THROTTLED_HIGH)
                sheet_row_put_styled(&row, STYLE_WARN, text);
        else
                sheet_row_put(&row, text);
        if (sheet_text_get(sheet, "job_cpu_throttled_seconds", seconds))
                sheet_row_printf(&row, "%s over its threads", seconds);
        sheet_row_end(&row);
}

/* --- I/O ------------------------------------------------------------------------------------------ */

static void put_io(Sheet *sheet, SheetRow *row, const char *bytes_key, const char *times_key, const char *words, const char *times_words) {
        char bytes[TEXT_MAX], times[TEXT_MAX];

        if (!sheet_text_get(sheet, bytes_key, bytes))
                return;
        if (sheet_text_get(sheet, times_key, times) && strcmp(times, "0") != 0)
                sheet_row_printf(row, "%s in %s %s", bytes, times, times_words);
        else
                sheet_row_printf(row, "%s %s", bytes, words);
}

static void write_io(Sheet *sheet) {
        AnswerMetric value;
        SheetRow row;

        if (!answer_metric(sheet->job, "job_io_read_bytes", &value) && !answer_metric(sheet->job, "job_io_written_bytes", &value))
                return;

        sheet_row_begin(&row, sheet->screen, "disks");
        put_io(sheet, &row, "job_io_read_bytes", "job_io_reads", "read", "reads");
        put_io(sheet, &row, "job_io_written_bytes", "job_io_writes", "written", "writes");
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

/* Writes a line for each reason. */
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

bool report_has_own(const Value *job) {
        return answer_find(value_get(job, "metrics"), "scope", "job");
}

void report_write_own(Sheet *sheet) {
        sheet_heading(sheet->screen, "Allocated and used", "");
        write_cores(sheet);
        write_memory(sheet);
        write_memory_events(sheet);
        write_cpu_time(sheet);
        write_processes(sheet);
        write_waiting(sheet);
        write_throttling(sheet);
        write_io(sheet);
        write_unknown(sheet);
}
