/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client/report/report.h"
#include "client/report/report_total.h"

#define LABEL_COLUMNS 22U
#define VALUE_COLUMNS 10U
#define BAR_COLUMNS_MAX 40U
#define PAIR_WIDTH_MIN 68U /* minimum screen width for two numbers on a line */

/* --- brief ---------------------------------------------------------------------------------------- */

typedef enum PieceKind {
        PIECE_BUSY, /* the mean of a host, or the used part of the CPU time of all hosts */
        PIECE_PEAK, /* the maximum, with its host */
        PIECE_SUM,
} PieceKind;

static const struct {
        const char *label;
        struct {
                const char *key, *before, *after;
                PieceKind kind;
        } pieces[3];
} brief_rows[] = {
        { "CPUs", { { "cpu_avg_utilization_pct", "", " busy", PIECE_BUSY }, { "max_t_cpu_pct_per_cpu_avg", "", " peak", PIECE_PEAK },
                    { "max_t_cpu_pct_per_cpu_max", "busiest ", "", PIECE_PEAK } } },
        { "memory", { { "max_t_mem_percent", "", " peak", PIECE_PEAK }, { "max_t_disk_usage_percent", "file system / ", " full", PIECE_PEAK } } },
        { "disks", { { "total_disk_io_read_mb", "", " read", PIECE_SUM }, { "total_disk_io_write_mb", "", " written", PIECE_SUM } } },
        { "network", { { "total_net_io_ext_recv_mb", "", " received", PIECE_SUM }, { "total_net_io_ext_sent_mb", "", " sent", PIECE_SUM } } },
};

static bool find_busy(const ReportRun *run, const char *key, ReportTotal *ret) {
        ReportTotal capacity;

        if (run->n_hosts == 1)
                return report_total_max(run, TOTAL_OF_HOSTS, key, ret);
        if (!report_total_sum(run, TOTAL_OF_HOSTS, "node_cpu_hours", &capacity) || !(capacity.value > 0) ||
            !report_total_sum(run, TOTAL_OF_HOSTS, "node_unused_cpu_hours", ret))
                return false;

        ret->value = 100 * (1 - ret->value / capacity.value);
        ret->unit = "%";
        return true;
}

static bool find_piece(const ReportRun *run, PieceKind kind, const char *key, ReportTotal *ret) {
        switch (kind) {
        case PIECE_BUSY:
                return find_busy(run, key, ret);
        case PIECE_PEAK:
                return report_total_max(run, TOTAL_OF_HOSTS, key, ret);
        case PIECE_SUM:
                return report_total_sum(run, TOTAL_OF_HOSTS, key, ret);
        }
        return false;
}

static void write_brief_row(Sheet *sheet, const ReportRun *run, size_t i) {
        char text[TEXT_MAX], reason[TEXT_MAX];
        SheetRow row;

        sheet_row_begin(&row, sheet->screen, brief_rows[i].label);
        for (size_t k = 0; k < N_ELEMENTS(brief_rows[i].pieces) && brief_rows[i].pieces[k].key; k++) {
                const char *before = brief_rows[i].pieces[k].before, *after = brief_rows[i].pieces[k].after;
                bool has_host = brief_rows[i].pieces[k].kind == PIECE_PEAK && run->n_hosts > 1;
                ReportTotal total;

                if (!find_piece(run, brief_rows[i].pieces[k].kind, brief_rows[i].pieces[k].key, &total))
                        continue;
                report_total_format(sheet, &total, text);
                sheet_row_printf(&row, "%s%s%s%s%s", before, text, after, has_host ? " on " : "",
                                 !has_host ? "" : *total.at->hostname ? total.at->hostname : "a node");
        }
        if (!row.has_pieces)
                sheet_row_put_styled(&row, STYLE_DIM,
                                     sheet_absence(sheet, brief_rows[i].pieces[0].key, reason) ?: "not known yet");
        sheet_row_end(&row);
}

static void write_brief(Sheet *sheet, const ReportRun *run) {
        char words[2 * TEXT_MAX] = "", memory[TEXT_MAX];
        int64_t cpus, n_bytes;

        if (run->n_hosts > 1)
                snprintf(words, sizeof(words), ", %zu hosts", run->n_hosts);
        else if (value_get_int(sheet->on, "cpus", &cpus) && value_get_int(sheet->on, "memory_bytes", &n_bytes)) {
                text_mib((double)n_bytes / 1048576, memory);
                snprintf(words, sizeof(words), ", %jd CPUs and %s", (intmax_t)cpus, memory);
        }

        sheet_heading(sheet->screen, run->n_hosts > 1 ? "Nodes during the run" : "Node during the job", words);
        for (size_t i = 0; i < N_ELEMENTS(brief_rows); i++)
                write_brief_row(sheet, run, i);
}

/* --- full ----------------------------------------------------------------------------------------- */

typedef struct Line {
        const char *label;
        const char *key;
} Line;

static const Line cpu_lines[] = {
        { "mean", "cpu_avg_utilization_pct" },
        { "peak", "max_t_cpu_pct_per_cpu_avg" },
        { "peak, busiest CPU", "max_t_cpu_pct_per_cpu_max" },
        { "peak, idlest CPU", "max_t_cpu_pct_per_cpu_min" },
        { "time over 20 %", "cpu_avg_utilization_over20_pct" },
        { "time over 40 %", "cpu_avg_utilization_over40_pct" },
        { "time over 80 %", "cpu_avg_utilization_over80_pct" },
        { "time at 100 %", "cpu_avg_utilization_at100_pct" },
};

static const Line room_lines[] = {
        { "memory, peak", "max_t_mem_percent" },
        { "file system /, peak", "max_t_disk_usage_percent" },
};

/* Pairs of related numbers that share a line. */
static const struct {
        const char *label;
        const char *words[2];
        const char *keys[2];
} pair_lines[] = {
        { "CPU time", { "available", "unused" }, { "node_cpu_hours", "node_unused_cpu_hours" } },
        { "disks", { "read", "written" }, { "total_disk_io_read_mb", "total_disk_io_write_mb" } },
        { "network", { "received", "sent" }, { "total_net_io_ext_recv_mb", "total_net_io_ext_sent_mb" } },
        { "loopback", { "received", "sent" }, { "total_net_io_lo_recv_mb", "total_net_io_lo_sent_mb" } },
};

static size_t bar_columns(const Screen *screen) {
        size_t taken = 2 + LABEL_COLUMNS + 1 + VALUE_COLUMNS + 3;
        size_t n = screen->width > taken ? screen->width - taken : 8;

        return n < BAR_COLUMNS_MAX ? n : BAR_COLUMNS_MAX;
}

static void put_value(Sheet *sheet, const AnswerMetric *value) {
        char text[TEXT_MAX];

        answer_metric_format(value, text);
        screen_pad(sheet->screen, strlen(text), VALUE_COLUMNS);
        buffer_puts(sheet->screen->out, text);
        screen_styled(sheet->screen, STYLE_DIM, value->is_exact ? " " : sheet_mark(sheet, false));
}

static void put_absence(Sheet *sheet, const char *key) {
        char reason[TEXT_MAX];

        screen_styled(sheet->screen, STYLE_DIM, sheet_absence(sheet, key, reason) ?: "not known yet");
}

static void write_bar_line(Sheet *sheet, const Line *line) {
        Screen *screen = sheet->screen;
        AnswerMetric value;

        buffer_printf(screen->out, "  %-*s ", (int)LABEL_COLUMNS, line->label);
        if (answer_metric(sheet->job, line->key, &value)) {
                put_value(sheet, &value);
                buffer_putc(screen->out, ' ');
                screen_bar(screen, value.value / 100, bar_columns(screen));
        } else
                put_absence(sheet, line->key);
        buffer_putc(screen->out, '\n');
}

/* A job shorter than the sampling interval has none of these metrics; one line says so. */
static bool are_all_absent(const Sheet *sheet, const Line *lines, size_t n) {
        char first[TEXT_MAX], reason[TEXT_MAX];
        AnswerMetric value;

        if (!sheet_absence(sheet, lines[0].key, first))
                strcpy(first, "");

        for (size_t i = 0; i < n; i++)
                if (answer_metric(sheet->job, lines[i].key, &value) ||
                    strcmp(sheet_absence(sheet, lines[i].key, reason) ?: "", first) != 0)
                        return false;
        return true;
}

static void write_bar_lines(Sheet *sheet, const Line *lines, size_t n) {
        if (are_all_absent(sheet, lines, n)) {
                buffer_puts(sheet->screen->out, "  ");
                put_absence(sheet, lines[0].key);
                buffer_putc(sheet->screen->out, '\n');
                return;
        }

        for (size_t i = 0; i < n; i++)
                write_bar_line(sheet, &lines[i]);
}

static void trim(Buffer *out) {
        while (out->n > 0 && out->text[out->n - 1] == ' ')
                out->n--;
}

static void write_pair_line(Sheet *sheet, size_t i) {
        Buffer *out = sheet->screen->out;
        AnswerMetric value;

        buffer_printf(out, "  %-*s ", (int)LABEL_COLUMNS, pair_lines[i].label);
        for (size_t k = 0; k < 2; k++) {
                if (answer_metric(sheet->job, pair_lines[i].keys[k], &value)) {
                        if (k > 0 && sheet->screen->width < PAIR_WIDTH_MIN) {
                                trim(out);
                                buffer_printf(out, "\n%*s", (int)(2 + LABEL_COLUMNS + 1), "");
                        }
                        put_value(sheet, &value);
                        buffer_printf(out, "%-10s", pair_lines[i].words[k]);
                } else if (k == 0)
                        put_absence(sheet, pair_lines[i].keys[k]);
        }
        trim(out);
        buffer_putc(out, '\n');
}

static void write_whole(Sheet *sheet) {
        screen_heading(sheet->screen, "CPUs of the node during the job");
        write_bar_lines(sheet, cpu_lines, N_ELEMENTS(cpu_lines));

        screen_heading(sheet->screen, "Memory, disks and network of the node during the job");
        write_bar_lines(sheet, room_lines, N_ELEMENTS(room_lines));
        for (size_t i = 0; i < N_ELEMENTS(pair_lines); i++)
                write_pair_line(sheet, i);
}

void report_write_node(Sheet *sheet, const ReportRun *run) {
        if (run->n_reports == 1 && !*answer_text(sheet->job, "cgroup"))
                write_whole(sheet);
        else if (run->n_hosts > 0)
                write_brief(sheet, run);
}
