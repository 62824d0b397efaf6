/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a job: web/job.html. Errors are JSON, as everywhere. */

#include "http/pages/pages_subject.h"
#include "http/jobs/job_lookup.h"
#include "http/jobs/phases_json.h"
#include "http/pages/html.h"
#include "http/pages/job_html.h"
#include "http/pages/page_assets.h"
#include "http/pages/template.h"

/* The JSON API has all of them. */
#define PAGE_PHASES_MAX 200U

static void fill_job(Template *words, const Target *target, const Sources *sources, const FoundJob *job) {
        const JobView *view = job->view;

        job_html_title(template_word(words, "title"), view);
        html_text(template_word(words, "id"), view->info.id);
        if (*view->info.name)
                html_text(template_word(words, "label"), view->info.id);
        if (!*view->info.command || privacy_may_see(&target->viewer, view->info.uid))
                html_text(template_word(words, "command"), view->info.command);
        else
                html_text(template_word(words, "hidden"), "The command line is " PRIVACY_REASON ".");
        html_text(template_word(words, "note"), view->info.note);
        job_html_facts(template_word(words, "facts"), view, job_lookup_time_ms(sources, view));
        if (!job->has_metrics)
                return;

        job_html_advice(template_word(words, "advice"), view, exchange_node(sources));
        job_html_own_meters(template_word(words, "own"), view, exchange_node(sources));
        job_html_node_meters(template_word(words, "node"), view, exchange_node(sources));
        job_html_numbers(template_word(words, "numbers"), view);
}

static const char phases_head[] =
        "<h2>Phases</h2>\n<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">Phase</th><th "
        "scope=\"col\">Took</th><th scope=\"col\">CPUs used</th><th scope=\"col\">Peak memory</th><th "
        "scope=\"col\">Read</th><th scope=\"col\">Written</th><th scope=\"col\">Waited for "
        "I/O</th></tr></thead>\n<tbody>\n";

/* Phases come last: reading them releases the row that the job refers to. */
static void fill_phases(Template *words, const Target *target, const Sources *sources, const FoundJob *job) {
        uint64_t now_ms = job_lookup_time_ms(sources, job->view);
        double total_s = now_ms > job->view->begin_realtime_ms ? (double)(now_ms - job->view->begin_realtime_ms) / 1e3
                                                               : 0;
        PhaseView present;
        bool has_present = job->record && snapshot_jobs_record_phase(job->record, exchange_node(sources), &present);
        Buffer *out = template_word(words, "phases");
        PhaseWalk walk;
        PhaseView phase;

        phases_json_begin(&walk, sources->reader, target->argument, has_present ? &present : NULL, PAGE_PHASES_MAX);
        while (phases_json_next(&walk, &phase)) {
                if (out->n == 0)
                        buffer_puts(out, phases_head);
                job_html_phase(out, &phase, phases_json_seconds(&phase, now_ms), total_s);
        }
        if (out->n > 0)
                buffer_puts(out, "</tbody>\n</table></div>\n");
        if (!walk.has_all)
                buffer_puts(out, "<p>Some phases are not shown.</p>\n");
}

void pages_subject_job(const Target *target, const Sources *sources, Response *response) {
        scoped(template_deinit) Template words = {};
        FoundJob job;

        if (job_lookup(target, sources, response, &job) > 0)
                return;

        buffer_puts(template_word(&words, "style"), page_assets_style_css);
        html_text(template_word(&words, "hostname"),
                  sources->snapshot ? sources->snapshot->node.identity.hostname : "this node");
        fill_job(&words, target, sources, &job);
        fill_phases(&words, target, sources, &job);

        response->type = CONTENT_HTML;
        template_write(response->body, page_assets_job_html, &words, "");
}
