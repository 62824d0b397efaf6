/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pages/job_html.h"

#include <inttypes.h>

#include "http/jobs/advice.h"
#include "http/measure/metric_scope.h"
#include "http/pages/html.h"
#include "util/clock.h"

#define NONE (-1)

static bool has_own(const JobView *job, UsageMetric metric) {
        return quality_is_present(job->usage.quality[metric]);
}

static bool has_node(const JobView *job, Metric metric) {
        return quality_is_present(job->metrics.quality[metric]);
}

double job_html_seconds(const JobView *job, uint64_t now_ms) {
        uint64_t end_ms = job->end_realtime_ms ?: now_ms;

        if (has_node(job, METRIC_DURATION))
                return job->metrics.value[METRIC_DURATION];
        return end_ms > job->begin_realtime_ms ? (double)(end_ms - job->begin_realtime_ms) / 1e3 : 0;
}

void job_html_title(Buffer *out, const JobView *job) {
        html_text(out, *job->info.name ? job->info.name : job->info.id);
}

/* --- facts --------------------------------------------------------------------------------------- */

static void fact_begin(Buffer *out, const char *label) {
        buffer_printf(out, "<li><small>%s</small><b>", label);
}

static void fact_end(Buffer *out) {
        buffer_puts(out, "</b></li>\n");
}

static void put_state(Buffer *out, const JobView *job) {
        fact_begin(out, "State");
        buffer_puts(out, job_state_name(job->state));
        if (job->end.has_exit_status && job->end.signal)
                buffer_printf(out, ", signal %" PRIi32, job->end.signal);
        else if (job->end.has_exit_status)
                buffer_printf(out, ", exit %" PRIi32, job->end.exit_status);
        else if (job->state == JOB_FINISHED)
                buffer_puts(out, ", exit status unknown");
        fact_end(out);
}

static void put_times(Buffer *out, const JobView *job, uint64_t now_ms) {
        fact_begin(out, "Begin");
        html_time(out, job->begin_realtime_ms * NS_PER_MS);
        fact_end(out);

        fact_begin(out, job->state == JOB_RUNNING ? "Runs for" : "Took");
        if (job->state == JOB_RUNNING || job->end_realtime_ms > 0 || has_node(job, METRIC_DURATION))
                html_seconds(out, job_html_seconds(job, now_ms));
        else
                html_text(out, "unknown");
        fact_end(out);
}

/* index: negative for none. n: 0 if unknown. */
static void put_index(Buffer *out, const char *label, int64_t index, uint32_t n) {
        if (index < 0)
                return;

        fact_begin(out, label);
        buffer_printf(out, "%" PRIi64, index);
        if (n > 0)
                buffer_printf(out, " of %" PRIu32, n);
        fact_end(out);
}

static void put_place(Buffer *out, const JobDescription *info) {
        static const char *const isolations[N_ISOLATIONS] = {
                [ISOLATION_NONE] = "none",
                [ISOLATION_SCOPE] = "a scope of systemd",
                [ISOLATION_CGROUP] = "a cgroup made for it",
                [ISOLATION_SUBREAPER] = "its process tree",
                [ISOLATION_FOUND] = "a cgroup that was found",
        };

        fact_begin(out, "Isolation");
        buffer_puts(out, isolations[info->isolation]);
        fact_end(out);

        put_index(out, "Rank", info->rank, info->n_ranks);
        put_index(out, "Node", info->node, info->n_nodes);
}

void job_html_facts(Buffer *out, const JobView *job, uint64_t now_ms) {
        put_state(out, job);
        put_times(out, job, now_ms);

        fact_begin(out, "User");
        if (*job->info.user)
                html_text(out, job->info.user);
        else
                buffer_printf(out, "uid %" PRIu32, job->info.uid);
        fact_end(out);
        put_place(out, &job->info);
}

/* --- meters -------------------------------------------------------------------------------------- */

static void meter_begin(Buffer *out, const char *label) {
        buffer_printf(out, "<div class=\"meter\"><small>%s</small> <b>", label);
}

static void meter_end(Buffer *out, double ratio) {
        double bounded = ratio < 0 ? 0 : ratio > 1 ? 1 : ratio;

        buffer_printf(out, "</b><div class=\"bar\"><i style=\"width:%.1f%%\"></i></div></div>\n", 100 * bounded);
}

static void put_no_usage(Buffer *out, const JobView *job) {
        const char *reason = metric_quality_reason(job->usage.quality[USAGE_CPU_MEAN]);

        buffer_printf(out, "<p>No metrics of the job itself. %s</p>\n", reason ?: "");
}

static void put_cpus(Buffer *out, const JobView *job) {
        double used = job->usage.value[USAGE_CPU_MEAN], given = job->usage.value[USAGE_CPU_GIVEN];

        if (!has_own(job, USAGE_CPU_MEAN))
                return;

        meter_begin(out, "CPUs used, mean");
        html_count(out, used);
        if (has_own(job, USAGE_CPU_GIVEN) && given > 0) {
                buffer_puts(out, " of ");
                html_count(out, given);
        }
        meter_end(out, has_own(job, USAGE_CPU_GIVEN) && given > 0 ? used / given : 0);
}

static void put_memory(Buffer *out, const JobView *job, const NodeSnapshot *node) {
        bool has_limit = has_own(job, USAGE_MEMORY_LIMIT);
        double limit = has_limit ? job->usage.value[USAGE_MEMORY_LIMIT] : (double)snapshot_node_memory_bytes(node);

        UsageMetric used = has_own(job, USAGE_MEMORY_UNRECLAIMABLE) ? USAGE_MEMORY_UNRECLAIMABLE : USAGE_MEMORY_PEAK;

        if (!has_own(job, used))
                return;

        meter_begin(out, used == USAGE_MEMORY_PEAK ? "Peak memory" : "Peak memory, without page cache");
        html_bytes(out, job->usage.value[used]);
        if (limit > 0) {
                buffer_puts(out, has_limit ? " of " : " of the node’s ");
                html_bytes(out, limit);
        }
        meter_end(out, limit > 0 ? job->usage.value[used] / limit : 0);
}

void job_html_own_meters(Buffer *out, const JobView *job, const NodeSnapshot *node) {
        if (!has_own(job, USAGE_CPU_MEAN) && !has_own(job, USAGE_MEMORY_PEAK))
                put_no_usage(out, job);
        put_cpus(out, job);
        put_memory(out, job, node);
}

void job_html_node_meters(Buffer *out, const JobView *job, const NodeSnapshot *node) {
        double cpu = job->metrics.value[METRIC_CPU_MEAN], memory = job->metrics.value[METRIC_MEM_MAX];

        if (has_node(job, METRIC_CPU_MEAN)) {
                meter_begin(out, "CPU, mean");
                html_percent(out, cpu);
                if (snapshot_node_n_cpus(node) > 0)
                        buffer_printf(out, " of %" PRIu32, snapshot_node_n_cpus(node));
                meter_end(out, cpu);
        }
        if (has_node(job, METRIC_MEM_MAX)) {
                meter_begin(out, "Peak memory");
                html_percent(out, memory);
                if (snapshot_node_memory_bytes(node) > 0) {
                        buffer_puts(out, " of ");
                        html_bytes(out, (double)snapshot_node_memory_bytes(node));
                }
                meter_end(out, memory);
        }
}

/* --- advice -------------------------------------------------------------------------------------- */

void job_html_advice(Buffer *out, const JobView *job, const NodeSnapshot *node) {
        Advice advice[ADVICE_MAX];
        size_t n = advice_give(job, node, advice);

        if (n == 0)
                return;

        buffer_puts(out, "<ul class=\"advice\">\n");
        for (size_t i = 0; i < n; i++) {
                buffer_puts(out, "<li>");
                html_text(out, advice[i].text);
                buffer_printf(out, " <small>%s</small></li>\n", advice[i].rule);
        }
        buffer_puts(out, "</ul>\n");
}

/* --- table of metrics ----------------------------------------------------------------------------- */

typedef enum Format {
        FORMAT_RATIO,
        FORMAT_SECONDS,
        FORMAT_SHARE, /* seconds, as a share of the duration */
        FORMAT_BYTES,
        FORMAT_COUNT,
} Format;

static const struct {
        const char *label;
        Format format;
        int own, node; /* UsageMetric, Metric, or NONE */
} rows[] = {
        { "CPU utilization", FORMAT_RATIO, USAGE_CPU_RATIO, METRIC_CPU_MEAN },
        { "CPU time in user mode", FORMAT_SECONDS, USAGE_CPU_USER, METRIC_CPU_USER },
        { "CPU time in the kernel", FORMAT_SECONDS, USAGE_CPU_SYSTEM, METRIC_CPU_SYSTEM },
        { "Unused CPU time", FORMAT_SECONDS, USAGE_CPU_UNUSED, METRIC_CPU_UNUSED_HOURS },
        { "CPUs used, peak", FORMAT_COUNT, USAGE_CPU_MAX, NONE },
        { "Periods throttled", FORMAT_RATIO, USAGE_THROTTLED_RATIO, NONE },
        { "Peak memory", FORMAT_BYTES, USAGE_MEMORY_PEAK, NONE },
        { "Peak memory that cannot be reclaimed", FORMAT_BYTES, USAGE_MEMORY_UNRECLAIMABLE, NONE },
        { "Anonymous memory, peak", FORMAT_BYTES, USAGE_MEMORY_ANON_PEAK, NONE },
        { "Anonymous memory, mean", FORMAT_BYTES, USAGE_MEMORY_ANON_MEAN, NONE },
        { "Page cache, peak", FORMAT_BYTES, USAGE_MEMORY_FILE_PEAK, NONE },
        { "Page cache, mean", FORMAT_BYTES, USAGE_MEMORY_FILE_MEAN, NONE },
        { "Memory of the kernel, peak", FORMAT_BYTES, USAGE_MEMORY_KERNEL_PEAK, NONE },
        { "Memory of the kernel, mean", FORMAT_BYTES, USAGE_MEMORY_KERNEL_MEAN, NONE },
        { "Shared memory, peak", FORMAT_BYTES, USAGE_MEMORY_SHMEM_PEAK, NONE },
        { "Shared memory, mean", FORMAT_BYTES, USAGE_MEMORY_SHMEM_MEAN, NONE },
        { "Peak share of memory", FORMAT_RATIO, USAGE_MEMORY_RATIO, METRIC_MEM_MAX },
        { "Processes killed because memory ran out", FORMAT_COUNT, USAGE_OOM_KILLS, METRIC_OOM_KILLS },
        { "Waited for a CPU", FORMAT_SHARE, USAGE_PSI_CPU_SOME, METRIC_PSI_CPU_SOME },
        { "Waited for memory", FORMAT_SHARE, USAGE_PSI_MEMORY_SOME, METRIC_PSI_MEMORY_SOME },
        { "Waited for I/O", FORMAT_SHARE, USAGE_PSI_IO_SOME, METRIC_PSI_IO_SOME },
        { "Read from disks", FORMAT_BYTES, USAGE_READ_BYTES, METRIC_DISK_READ },
        { "Written to disks", FORMAT_BYTES, USAGE_WRITE_BYTES, METRIC_DISK_WRITE },
        { "Received over the network", FORMAT_BYTES, NONE, METRIC_NET_EXT_RECV },
        { "Sent over the network", FORMAT_BYTES, NONE, METRIC_NET_EXT_SENT },
        { "Processes and threads, peak", FORMAT_COUNT, USAGE_PIDS_PEAK, NONE },
};

static void put_value(Buffer *out, Format format, double value, double duration_s) {
        switch (format) {
        case FORMAT_RATIO:
                html_percent(out, value);
                return;
        case FORMAT_SECONDS:
                html_seconds(out, value);
                return;
        case FORMAT_SHARE:
                if (duration_s > 0)
                        html_percent(out, value / duration_s);
                else
                        html_seconds(out, value);
                return;
        case FORMAT_BYTES:
                html_bytes(out, value);
                return;
        case FORMAT_COUNT:
                html_count(out, value);
                return;
        }
}

static void put_cell(Buffer *out, const ScopeMetrics *figures, int i, Format format, double duration_s) {
        if (i == NONE) {
                buffer_puts(out, "<td></td>");
                return;
        }
        if (!metric_scope_has(figures, (size_t)i)) {
                buffer_printf(out, "<td><abbr title=\"%s\">–</abbr></td>", metric_quality_reason(figures->quality[i]));
                return;
        }

        buffer_puts(out, "<td>");
        put_value(out, format, figures->value[i], duration_s);
        buffer_puts(out, figures->quality[i] == QUALITY_SAMPLED ? "<abbr title=\"sampled\">~</abbr></td>" : "</td>");
}

static double duration_of(const MetricSet *metrics) {
        return quality_is_present(metrics->quality[METRIC_DURATION]) ? metrics->value[METRIC_DURATION] : 0;
}

void job_html_numbers(Buffer *out, const JobView *job) {
        const ScopeMetrics own = metric_scope_of_job(&job->usage), node = metric_scope_of_node(&job->metrics);

        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                buffer_printf(out, "<tr><th scope=\"row\">%s</th>", rows[i].label);
                put_cell(out, &own, rows[i].own, rows[i].format, duration_of(&job->metrics));
                put_cell(out, &node, rows[i].node, rows[i].format, duration_of(&job->metrics));
                buffer_puts(out, "</tr>\n");
        }
}

void job_html_phase(Buffer *out, const PhaseView *phase, double seconds, double total_seconds) {
        const ScopeMetrics own = metric_scope_of_job(&phase->usage);
        double share = total_seconds > 0 ? seconds / total_seconds : 0;
        double duration_s = duration_of(&phase->metrics);

        buffer_puts(out, "<tr><th scope=\"row\">");
        if (*phase->name)
                html_text(out, phase->name);
        else
                buffer_puts(out, phase->index == 0 ? "<i>before the first mark</i>" : "<i>unnamed</i>");
        if (!phase->end_realtime_ms)
                buffer_puts(out, " <small>running</small>");
        buffer_printf(out, "<div class=\"bar\"><i style=\"width:%.1f%%\"></i></div></th><td>",
                      100 * (share < 1 ? share : 1));
        html_seconds(out, seconds);
        buffer_puts(out, "</td>");
        put_cell(out, &own, USAGE_CPU_MEAN, FORMAT_COUNT, duration_s);
        put_cell(out, &own, USAGE_MEMORY_PEAK, FORMAT_BYTES, duration_s);
        put_cell(out, &own, USAGE_READ_BYTES, FORMAT_BYTES, duration_s);
        put_cell(out, &own, USAGE_WRITE_BYTES, FORMAT_BYTES, duration_s);
        put_cell(out, &own, USAGE_PSI_IO_SOME, FORMAT_SHARE, duration_s);
        buffer_puts(out, "</tr>\n");
}
