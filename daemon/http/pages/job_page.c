/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's page
 *
 * web/job.html, with the job in it. Errors are JSON here as everywhere.
 */

#include "http/assets.h"
#include "http/pages/pages_subject.h"
#include "http/jobs/job_lookup.h"
#include "http/jobs/phase_walk.h"
#include "http/pages/html.h"
#include "http/pages/job_html.h"
#include "http/pages/template.h"

/* More are in JSON. */
#define PAGE_PHASES_MAX 200U

typedef enum JobPageWord {
        WORD_STYLE,
        WORD_HOSTNAME,
        WORD_TITLE,
        WORD_ID,
        WORD_LABEL,
        WORD_COMMAND,
        WORD_NOTE,
        WORD_FACTS,
        WORD_ADVICE,
        WORD_OWN,
        WORD_NODE,
        WORD_NUMBERS,
        WORD_PHASES,
        N_WORDS,
} JobPageWord;

typedef struct JobPageWords {
        TemplateWord words[N_WORDS];
} JobPageWords;

static void words_init(JobPageWords *words) {
        static const char *const names[N_WORDS] = {
                "style", "hostname", "title", "id", "label", "command", "note", "facts", "advice", "own", "node", "numbers", "phases",
        };

        for (JobPageWord id = 0; id < N_WORDS; id++)
                words->words[id] = (TemplateWord){ .name = names[id] };
}

static void words_deinit(JobPageWords *words) {
        template_words_free(words->words, N_WORDS);
}

static Buffer *word(JobPageWords *words, JobPageWord id) {
        return &words->words[id].html;
}

static void fill_job(JobPageWords *words, const Exchange *exchange, const FoundJob *job) {
        const JobView *view = job->view;

        job_html_title(word(words, WORD_TITLE), view);
        html_text(word(words, WORD_ID), view->info.id);
        if (*view->info.name)
                html_text(word(words, WORD_LABEL), view->info.id);
        html_text(word(words, WORD_COMMAND), view->info.command);
        html_text(word(words, WORD_NOTE), view->info.note);
        job_html_facts(word(words, WORD_FACTS), view, job_lookup_time_ms(exchange, view));
        if (!job->has_metrics)
                return;

        job_html_advice(word(words, WORD_ADVICE), view, exchange_node(exchange));
        job_html_own_meters(word(words, WORD_OWN), view, exchange_node(exchange));
        job_html_node_meters(word(words, WORD_NODE), view, exchange_node(exchange));
        job_html_numbers(word(words, WORD_NUMBERS), view);
}

static const char phases_head[] =
        "<h2>Phases</h2>\n<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">Phase</th><th scope=\"col\">Took</th>"
        "<th scope=\"col\">CPUs used</th><th scope=\"col\">Memory, at most</th><th scope=\"col\">Read</th>"
        "<th scope=\"col\">Written</th><th scope=\"col\">Waited for I/O</th></tr></thead>\n<tbody>\n";

/* Comes last: asking for phases lets go of the row the job is in. */
static void fill_phases(JobPageWords *words, const Exchange *exchange, const FoundJob *job) {
        uint64_t now_ms = job_lookup_time_ms(exchange, job->view);
        double total_s = now_ms > job->view->begin_realtime_ms ? (double)(now_ms - job->view->begin_realtime_ms) / 1e3 : 0;
        PhaseView present;
        bool has_present = job->record && jobs_snapshot_record_phase(job->record, exchange_node(exchange), &present);
        Buffer *out = word(words, WORD_PHASES);
        PhaseWalk walk;
        PhaseView phase;

        phase_walk_begin(&walk, exchange->reader, exchange->argument, has_present ? &present : NULL, PAGE_PHASES_MAX);
        while (phase_walk_next(&walk, &phase)) {
                if (out->n == 0)
                        buffer_puts(out, phases_head);
                job_html_phase(out, &phase, phase_walk_seconds(&phase, now_ms), total_s);
        }
        if (out->n > 0)
                buffer_puts(out, "</tbody>\n</table></div>\n");
        if (!phase_walk_has_all(&walk))
                buffer_puts(out, "<p>Some phases are not shown here.</p>\n");
}

void pages_subject_job(Exchange *exchange) {
        scoped(words_deinit) JobPageWords words;
        FoundJob job;

        words_init(&words);
        if (job_lookup(exchange, &job) > 0)
                return;

        buffer_puts(word(&words, WORD_STYLE), asset_style_css);
        html_text(word(&words, WORD_HOSTNAME), exchange->snapshot ? exchange->snapshot->node.identity.hostname : "this node");
        fill_job(&words, exchange, &job);
        fill_phases(&words, exchange, &job);

        exchange->type = CONTENT_HTML;
        template_write(exchange->body, asset_job_html, words.words, N_WORDS);
}
