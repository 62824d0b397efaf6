/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client/report/report.h"
#include "client/report/report_total.h"

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
        } pieces[4];
        enum {
                ROW_ALWAYS,
                ROW_DETAIL,    /* for a job without numbers of its own */
                ROW_EQUIPMENT, /* not of every node */
        } when;
} rows[] = {
        { "CPUs", { { "cpu_avg_utilization_pct", "", " busy", PIECE_BUSY }, { "max_t_cpu_pct_per_cpu_avg", "", " peak", PIECE_PEAK },
                    { "max_t_cpu_pct_per_cpu_max", "busiest ", "", PIECE_PEAK } }, ROW_ALWAYS },
        { "CPUs over", { { "cpu_avg_utilization_over20_pct", "20 % in ", " of the time", PIECE_PEAK }, { "cpu_avg_utilization_over40_pct", "40 % in ", "", PIECE_PEAK },
                         { "cpu_avg_utilization_over80_pct", "80 % in ", "", PIECE_PEAK }, { "cpu_avg_utilization_at100_pct", "at 100 % in ", "", PIECE_PEAK } }, ROW_DETAIL },
        { "CPU time", { { "node_cpu_hours", "", " available", PIECE_SUM }, { "node_unused_cpu_hours", "", " unused", PIECE_SUM },
                        { "max_t_cpu_pct_per_cpu_min", "idlest CPU ", " peak", PIECE_PEAK } }, ROW_DETAIL },
        { "memory", { { "max_t_mem_percent", "", " peak", PIECE_PEAK }, { "max_t_disk_usage_percent", "file system / ", " full", PIECE_PEAK } }, ROW_ALWAYS },
        { "disks", { { "total_disk_io_read_mb", "", " read", PIECE_SUM }, { "total_disk_io_write_mb", "", " written", PIECE_SUM } }, ROW_ALWAYS },
        { "network", { { "total_net_io_ext_recv_mb", "", " received", PIECE_SUM }, { "total_net_io_ext_sent_mb", "", " sent", PIECE_SUM } }, ROW_ALWAYS },
        { "fabric", { { "total_net_io_ib_recv_mb", "", " received", PIECE_SUM }, { "total_net_io_ib_sent_mb", "", " sent", PIECE_SUM } }, ROW_EQUIPMENT },
        { "netfs", { { "total_netfs_read_mb", "", " read", PIECE_SUM }, { "total_netfs_written_mb", "", " written", PIECE_SUM },
                     { "total_netfs_operations", "", " operations", PIECE_SUM } }, ROW_EQUIPMENT },
        { "loopback", { { "total_net_io_lo_recv_mb", "", " received", PIECE_SUM }, { "total_net_io_lo_sent_mb", "", " sent", PIECE_SUM } }, ROW_DETAIL },
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

static bool is_there(const ReportRun *run, size_t i) {
        ReportTotal total;

        return rows[i].when != ROW_EQUIPMENT || find_piece(run, rows[i].pieces[0].kind, rows[i].pieces[0].key, &total);
}

static void write_row(Sheet *sheet, const ReportRun *run, size_t i, bool has_details) {
        char text[TEXT_MAX], reason[TEXT_MAX];
        SheetRow row;

        sheet_row_begin(&row, sheet->screen, rows[i].label);
        for (size_t k = 0; k < N_ELEMENTS(rows[i].pieces) && rows[i].pieces[k].key; k++) {
                const char *before = rows[i].pieces[k].before, *after = rows[i].pieces[k].after;
                bool has_host = rows[i].pieces[k].kind == PIECE_PEAK && run->n_hosts > 1;
                ReportTotal total;

                if (find_piece(run, rows[i].pieces[k].kind, rows[i].pieces[k].key, &total)) {
                        report_total_format(sheet, &total, text);
                        sheet_row_printf(&row, "%s%s%s%s%s", before, text, after, has_host ? " on " : "",
                                         !has_host ? "" : *total.at->hostname ? total.at->hostname : "a node");
                } else if (has_details && row.has_pieces && sheet_absence(sheet, rows[i].pieces[k].key, reason))
                        sheet_row_printf(&row, "%.*s%s: %s", (int)strlen(before) - (*before && !*after), before,
                                         after + (*after == ' '), reason);
        }
        if (!row.has_pieces)
                sheet_row_put_styled(&row, STYLE_DIM,
                                     sheet_absence(sheet, rows[i].pieces[0].key, reason) ?: "not known yet");
        sheet_row_end(&row);
}

void report_write_node(Sheet *sheet, const ReportRun *run) {
        bool has_details = run->n_reports == 1 && !*answer_text(sheet->job, "cgroup");
        char words[2 * TEXT_MAX] = "", memory[TEXT_MAX];
        int64_t cpus, n_bytes;

        if (run->n_hosts == 0)
                return;
        if (run->n_hosts > 1)
                snprintf(words, sizeof(words), ", %zu hosts", run->n_hosts);
        else if (value_get_int(sheet->on, "cpus", &cpus) && value_get_int(sheet->on, "memory_bytes", &n_bytes)) {
                text_mib((double)n_bytes / 1048576, memory);
                snprintf(words, sizeof(words), ", %jd CPUs and %s", (intmax_t)cpus, memory);
        }

        sheet_heading(sheet->screen, run->n_hosts > 1 ? "Nodes during the run" : "Node during the job", words);
        for (size_t i = 0; i < N_ELEMENTS(rows); i++)
                if ((has_details || rows[i].when != ROW_DETAIL) && is_there(run, i))
                        write_row(sheet, run, i, has_details);
}
