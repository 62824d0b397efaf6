/* SPDX-License-Identifier: Apache-2.0 */
/* The landing page: web/index.html with the current state of the node, its jobs, and the indicators in the store.
 * Without a snapshot, all values are "–". */

#include <inttypes.h>

#include "http/pages/pages_subject.h"
#include "http/pages/html.h"
#include "http/pages/job_html.h"
#include "http/pages/page_assets.h"
#include "http/pages/template.h"
#include "store/indicators/indicator_reader.h"
#include "util/clock.h"

/* The JSON API has all of them. */
#define LANDING_JOBS_MAX 20U
#define LANDING_INDICATORS_MAX 100U

/* Writes "25.0 % of 64.0 GiB". */
static void put_ratio_of(Buffer *out, double ratio, uint64_t bytes) {
        html_percent(out, ratio);
        buffer_puts(out, " of ");
        html_bytes(out, (double)bytes);
}

static void words_from_sample(Template *words, const NodeSnapshot *node) {
        const Sample *sample = &node->sample;
        const SampleFilesystem *root = sample_root_filesystem(sample);

        if (node->observation.end_ns > 0 && node->observation.has_cpu)
                html_percent(template_word(words, "cpu"), node->observation.cpu_mean);
        if (sample_has(sample, SOURCE_STAT))
                buffer_put_u64(template_word(words, "cpus"), sample->n_online);
        if (sample_has(sample, SOURCE_MEMINFO) && sample->memory.total_bytes > 0)
                put_ratio_of(template_word(words, "memory"), sample_memory_ratio(sample), sample->memory.total_bytes);
        if (sample_has(sample, SOURCE_FILESYSTEMS) && root)
                put_ratio_of(template_word(words, "root"), sample_filesystem_used_ratio(root), root->size_bytes);
        if (node->realtime_ns > 0)
                html_time(template_word(words, "time"), node->realtime_ns);
}

static void put_job(Buffer *out, const JobView *job, const NodeSnapshot *node) {
        buffer_printf(out, "<li>\n<p><a href=\"jobs/%s\">", job->info.id);
        job_html_title(out, job);
        buffer_printf(out, "</a> <small>%s, ", job_state_name(job->state));
        html_seconds(out, job_html_seconds(job, node->realtime_ns / NS_PER_MS));
        buffer_puts(out, "</small></p>\n<div class=\"pair\">\n<div><h3>The job itself</h3>\n");
        job_html_own_meters(out, job, node);
        buffer_puts(out, "</div>\n<div><h3>Node during the job</h3>\n");
        job_html_node_meters(out, job, node);
        buffer_puts(out, "</div>\n</div>\n");
        job_html_advice(out, job, node);
        buffer_puts(out, "</li>\n");
}

static void put_jobs(Buffer *out, const Snapshot *snapshot, const Viewer *viewer) {
        size_t n_all = 0, n = 0, n_others = 0;

        for (size_t i = 0; i < snapshot->jobs.used.n_records; i++) {
                const JobRecord *record = &snapshot->jobs.records[i];
                JobView view;

                if (!privacy_may_list(viewer, record->info.uid)) {
                        n_others += record->state == JOB_RUNNING;
                        continue;
                }
                if (n_all++ >= LANDING_JOBS_MAX)
                        continue;
                if (n++ == 0)
                        buffer_puts(out, "<ul class=\"jobs\">\n");
                snapshot_jobs_record_view(record, &snapshot->node, &view);
                put_job(out, &view, &snapshot->node);
        }
        if (n > 0)
                buffer_puts(out, "</ul>\n");
        else
                buffer_printf(out, "<p>%s is running, and none ended recently.</p>\n",
                              viewer->hides_others ? "None of your jobs" : "No job");
        if (viewer->hides_others)
                buffer_printf(out, "<p>Running jobs of others: %zu (" PRIVACY_OTHERS_REASON ").</p>\n", n_others);
        if (n < n_all)
                buffer_printf(out, "<p>%zu more jobs: see <a href=\"api/v1/jobs\">/api/v1/jobs</a>.</p>\n", n_all - n);
}

static void words_from_snapshot(Template *words, const Snapshot *snapshot, const Viewer *viewer) {
        const char *kernel[] = { "Linux ", snapshot->node.identity.kernel, ", ", snapshot->node.identity.machine };

        for (size_t i = 0; i < N_ELEMENTS(kernel); i++)
                html_text(template_word(words, "kernel"), kernel[i]);
        buffer_put_u64(template_word(words, "jobs"), snapshot->jobs.n_running);
        buffer_puts(template_word(words, "store"), snapshot->store.is_writable ? "writable, " : "not writable, ");
        html_bytes(template_word(words, "store"), (double)snapshot->store.size_bytes);
        words_from_sample(words, &snapshot->node);
        put_jobs(template_word(words, "job_list"), snapshot, viewer);
}

static void put_indicator(Buffer *out, const IndicatorRow *row) {
        buffer_puts(out, "<tr><th scope=\"row\"><a href=\"indicators/");
        html_text(out, row->name);
        buffer_puts(out, "\">");
        html_text(out, row->name);
        buffer_puts(out, "</a></th><td class=\"text\">");
        html_text(out, row->component);
        buffer_printf(out, "</td><td>%" PRIu64 "</td><td>", row->n_results);
        html_time(out, row->latest_ms * NS_PER_MS);
        buffer_puts(out, "</td></tr>\n");
}

static const char indicators_head[] =
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Indicators\"><table>\n<thead><tr><th "
        "scope=\"col\">Indicator</th><th scope=\"col\" class=\"text\">Component</th><th scope=\"col\">Runs</th><th "
        "scope=\"col\">Latest</th></tr></thead>\n<tbody>\n";

static void put_indicators(Buffer *out, Reader *reader) {
        IndicatorRow row;
        size_t n = 0;
        int r;

        r = indicator_reader_list(reader);
        while (r == 0 && (r = indicator_reader_next(reader, &row)) == 0 && n < LANDING_INDICATORS_MAX) {
                buffer_puts(out, n == 0 ? indicators_head : "");
                put_indicator(out, &row);
                n++;
        }
        reader_reset(reader);

        if (n > 0)
                buffer_puts(out, "</tbody>\n</table></div>\n");
        else if (r == READER_END)
                buffer_puts(out, "<p>No results yet; <code>perfctl run</code> and <code>perfctl submit</code> store "
                                 "them.</p>\n");
        if (r == 0)
                buffer_puts(out,
                            "<p>More indicators: see <a href=\"api/v1/indicators\">/api/v1/indicators</a>.</p>\n");
        else if (r != READER_END)
                buffer_puts(out, "<p>The store cannot be read at the moment.</p>\n");
}

void pages_subject_landing(const Target *target, const Sources *sources, Response *response) {
        scoped(template_deinit) Template words = {};
        const char *hostname = sources->snapshot ? sources->snapshot->node.identity.hostname : "";

        buffer_puts(template_word(&words, "style"), page_assets_style_css);
        buffer_puts(template_word(&words, "version"), PERFD_VERSION);
        html_text(template_word(&words, "hostname"), *hostname ? hostname : "this node");
        if (sources->snapshot)
                words_from_snapshot(&words, sources->snapshot, &target->viewer);
        put_indicators(template_word(&words, "indicator_list"), sources->reader);

        response->type = CONTENT_HTML;
        template_write(response->body, page_assets_index_html, &words, "–");
}
