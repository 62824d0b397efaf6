/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "client/cli/grid.h"
#include "client/report/report.h"

/* A GPU of the run, in the report of the rank that used it most: ranks of a node may have the same. */
typedef struct GpuLine {
        const RankReport *report;
        const Value *gpu;
        double used_s; /* NAN: unknown */
} GpuLine;

typedef struct GpuLines {
        GpuLine items[REPORT_GPUS_MAX];
        size_t n, n_left_out;
} GpuLines;

static double used_seconds(const Value *gpu) {
        return answer_number(gpu, "seconds") * answer_number(gpu, "utilization");
}

static const char *key_of(const Value *gpu) {
        return *answer_text(gpu, "uuid") ? answer_text(gpu, "uuid") : answer_text(gpu, "gpu");
}

static void add_gpu(GpuLines *lines, const RankReport *report, const Value *gpu) {
        GpuLine line = { report, gpu, used_seconds(gpu) };

        for (size_t i = 0; i < lines->n; i++) {
                GpuLine *other = &lines->items[i];

                if (strcmp(key_of(other->gpu), key_of(gpu)) != 0 ||
                    strcmp(other->report->hostname, report->hostname) != 0)
                        continue;
                if (!(other->used_s >= line.used_s))
                        *other = line;
                return;
        }
        if (lines->n < REPORT_GPUS_MAX)
                lines->items[lines->n++] = line;
        else
                lines->n_left_out++;
}

static void find_gpus(const ReportRun *run, GpuLines *ret) {
        *ret = (GpuLines){};
        for (size_t i = 0; i < run->n_reports; i++) {
                const Value *gpus = value_get(run->reports[i].job, "gpus");

                for (size_t k = 0; k < answer_length(gpus); k++)
                        add_gpu(ret, &run->reports[i], &gpus->items[k]);
        }
}

bool report_gpus_sum(const ReportRun *run, const char *key, ReportTotal *ret) {
        GpuLines lines;

        find_gpus(run, &lines);
        *ret = (ReportTotal){ .is_exact = true };
        for (size_t i = 0; i < lines.n; i++) {
                double value = answer_number(lines.items[i].gpu, key);

                ret->value += isnan(value) ? 0 : value;
                ret->n += !isnan(value);
        }
        return ret->n > 0;
}

static void put_share(Grid *grid, double ratio) {
        char text[TEXT_MAX];

        sheet_text_share(ratio, text);
        grid_right(grid, text);
}

static void put_line(Grid *grid, const GpuLine *line, bool has_hosts) {
        static const char *const shares[] = { "utilization", "sm_active", "sm_over80", "tensor_active" };
        const char *name = answer_text(line->gpu, "gpu");
        const char *host = has_hosts ? line->report->hostname : "";
        char text[2 * TEXT_MAX + 4];
        bool is_shared = answer_flag(line->gpu, "shared");
        double peak = answer_number(line->gpu, is_shared ? "process_memory_peak_bytes" : "memory_peak_bytes");
        double power = answer_number(line->gpu, "power_watts");

        (void)snprintf(text, sizeof(text), "%.40s%s%.40s%s", host, *host ? " " : "",
                       *name ? name : answer_text(line->gpu, "given"), is_shared ? " shared" : "");
        grid_text(grid, text);
        text_seconds(answer_number(line->gpu, "seconds"), text);
        grid_right(grid, text);
        for (size_t i = 0; i < N_ELEMENTS(shares); i++)
                put_share(grid, answer_number(line->gpu, shares[i]));
        text_mib(peak / 1048576, text);
        grid_right(grid, isnan(peak) ? "-" : text);
        put_share(grid, peak / answer_number(line->gpu, "memory_total_bytes"));
        (void)snprintf(text, sizeof(text), isnan(power) ? "-" : "%.0f W", power);
        grid_right(grid, text);
}

/* The counter of a running job is read rarely: perfd adds the power since. */
static double energy_joules(const Value *gpu) {
        double now = answer_number(gpu, "energy_now_joules");

        return isnan(now) ? answer_number_or_zero(gpu, "energy_joules") : now;
}

static void write_use(Screen *screen, const GpuLines *lines) {
        double seconds = 0, used_s = 0, joules = 0;
        char text[TEXT_MAX], used[TEXT_MAX];
        size_t n_used = 0, n_unknown = 0;
        SheetRow row;

        for (size_t i = 0; i < lines->n; i++) {
                n_used += answer_flag(lines->items[i].gpu, "used");
                n_unknown += isnan(lines->items[i].used_s);
                seconds += answer_number_or_zero(lines->items[i].gpu, "seconds");
                joules += energy_joules(lines->items[i].gpu);
                used_s += isnan(lines->items[i].used_s) ? 0 : lines->items[i].used_s;
        }
        sheet_row_begin(&row, screen, "used");
        sheet_row_printf(&row, "%zu of %zu", n_used, lines->n);
        if (n_unknown < lines->n) {
                text_seconds(used_s, used);
                text_seconds(seconds, text);
                sheet_row_printf(&row, "with a kernel %s of %s", used, text);
        }
        if (n_unknown > 0)
                sheet_row_printf(&row, "%zu not known", n_unknown);
        if (joules > 0) {
                text_joules(joules, text);
                sheet_row_put(&row, text);
        }
        sheet_row_end(&row);
}

/* Joins the verdicts about data pipelines: a GPU that is idle half of the time may wait for data. */
static void write_waits(Screen *screen, const Value *verdicts) {
        for (size_t i = 0; i < answer_length(verdicts); i++) {
                const Value *verdict = &verdicts->items[i];
                const char *stage = answer_text(verdict, "stage"), *limit = answer_text(verdict, "limit");
                double share = answer_number(verdict, "wait_share");
                bool is_known = strcmp(limit, "unknown") != 0;
                char text[TEXT_MAX];
                SheetRow row;

                if (isnan(share))
                        continue;
                sheet_text_share(share, text);
                sheet_row_begin(&row, screen, "program");
                sheet_row_printf(&row, "waited for data %s%s of the time%s%.60s%s",
                                 answer_flag(verdict, "is_wait_bound") ? "at most " : "", text, is_known ? " (" : "",
                                 !is_known ? "" : *stage ? stage : limit, is_known ? " is the limit)" : "");
                sheet_row_end(&row);
        }
}

void report_write_gpus(Sheet *sheet, const ReportRun *run, const Value *verdicts) {
        scoped(grid_deinit) Grid grid = {};
        Buffer *out = sheet->screen->out;
        char words[TEXT_MAX] = "";
        GpuLines lines;

        find_gpus(run, &lines);
        if (lines.n == 0)
                return;
        if (*answer_text(lines.items[0].gpu, "model"))
                (void)snprintf(words, sizeof(words), ", %.48s", answer_text(lines.items[0].gpu, "model"));
        sheet_heading(sheet->screen, "GPUs", words);
        write_use(sheet->screen, &lines);
        for (size_t i = 0; i < run->n_reports; i++)
                write_waits(sheet->screen, value_get(run->reports[i].job, "pipelines"));
        write_waits(sheet->screen, verdicts);
        grid_init_heads(&grid, "GPU|>time|>util|>SM|>SM≥80%|>tensor|>memory|>peak|>power");
        grid.indent = 2;
        for (size_t i = 0; i < lines.n; i++)
                put_line(&grid, &lines.items[i], run->n_hosts > 1);
        out->failed |= grid_write(&grid, sheet->screen, true) < 0;
        if (lines.n_left_out > 0)
                buffer_printf(out, "  and %zu more\n", lines.n_left_out);
}
