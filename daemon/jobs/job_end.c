/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/job_end.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "job/job.h"
#include "jobs/groups.h"
#include "store/jobs/job_rows.h"

void job_end_phase_view(const Job *job, const Node *node, PhaseView *ret) {
        const Phase *phase = job->phase;

        assert(phase);

        *ret = (PhaseView){
                .index = phase->index,
                .begin_realtime_ms = phase->begin_realtime_ms,
                .end_realtime_ms = node_realtime_ms(node),
        };
        memcpy(ret->name, phase->name, sizeof(ret->name));
        node_window_metrics(node, &phase->window.begin, &phase->window.peaks, &ret->metrics);
        groups_phase_metrics(job, node, &ret->usage);
}

_Static_assert(sizeof(((PhaseView *)0)->name) == sizeof(((Phase *)0)->name), "a phase's name is copied whole");

/* Writes nothing if no sample was kept. */
static int write_samples(const Job *job, const Node *node, const SampleLog *log, Buffer *out) {
        scoped(export_samples_deinit) ExportSamples samples = {};
        int r;

        r = sample_log_span_list(&job->samples, log, &job->begin->totals, meter_totals(node->meter), &samples);
        if (r < 0 || samples.n == 0)
                return r;

        export_samples_write(&samples, out);
        return buffer_error(out);
}

static int fill(Job *job, const Node *node, const JobEnd *end, JobFinal *ret) {
        /* The sample of the end ends no observation if the last observation is recent. */
        window_add_gauges(&job->peaks, &node->sample);
        if (job->phase)
                window_add_gauges(&job->phase->window.peaks, &node->sample);

        ret->realtime_ms = node_realtime_ms(node);
        ret->boottime_ns = node->sample.boottime_ns;
        node_window_metrics(node, &job->begin->totals, &job->peaks, &ret->result.metrics);
        groups_metrics(job, node, end, &ret->result.usage);
        job_gpus_put_usage(&job->gpus, &ret->result.usage);
        if (!job->phase)
                return 0;

        ret->phase = calloc(1, sizeof(*ret->phase));
        if (!ret->phase)
                return -ENOMEM;

        job_end_phase_view(job, node, ret->phase);
        return 0;
}

/* Adds the reported end to final numbers that were made without it. */
static void settle(Job *job, const Node *node, const JobEnd *end) {
        JobFinal *final = job->final;
        LateEnd late = {
                .begin_realtime_ms = job->begin_realtime_ms,
                .end_realtime_ms = final->realtime_ms,
                .n_node_cpus = node_n_cpus(node),
                .metrics = &final->result.metrics,
                .usage = &final->result.usage,
        };

        job_settle_late_end(&late, end, node_realtime_ms(node));
        final->realtime_ms = late.end_realtime_ms;
}

int job_end_make(Jobs *jobs, Job *job, const Node *node, JobState state, const JobEnd *end) {
        int r;

        assert(job->stage == JOB_ACTIVE);
        assert(state == JOB_FINISHED || state == JOB_INTERRUPTED);

        if (job->final)
                settle(job, node, end);
        else {
                job->final = calloc(1, sizeof(*job->final));
                if (!job->final)
                        return -ENOMEM;

                r = fill(job, node, end, job->final);
                if (r == 0)
                        r = write_samples(job, node, &jobs->samples, &job->final->samples);
                if (r < 0) {
                        running_job_drop_final(job);
                        return r;
                }
                job->final->gpus_due_ns = job->gpus.n > 0 ? gpu_use_ask(jobs->gpu_use) : 0;
        }

        job->final->state = state;
        job->final->result.end = *end;
        if ((end->has_exit_status || end->realtime_ms > 0) && strstr(job->info.note, JOB_NO_END_NOTE))
                running_job_set_note(job, "");
        return 0;
}

/* The window ends at the totals; the counters of the group are final, but not the time at which they were. */
static void measure_before(const Job *job, const Totals *begin, const WindowPeaks *peaks, const Usage *usage,
                           const Node *node, const Totals *last, MetricSet *ret_metrics, UsageSet *ret_usage) {
        WindowPeaks cut = *peaks;

        cut.lost = true;
        window_metrics(begin, &cut, last, node_n_cpus(node), ret_metrics);
        /* the compatible values of perf.py depend on the time of the report, which is unknown */
        memset(ret_metrics->has_compat, 0, sizeof(ret_metrics->has_compat));
        if (!usage) {
                usage_none(ret_usage);
                return;
        }

        usage_metrics(usage, node_n_cpus(node), node_memory_bytes(node), ret_usage);
        usage_doubt_duration(ret_usage);
        if (job->group.is_usage_cut || !job->group.cgroup)
                usage_cut(ret_usage);
}

static int fill_before(Job *job, const Node *node, const Totals *last, uint64_t realtime_ms, JobFinal *ret) {
        const Phase *phase = job->phase;

        measure_before(job, &job->begin->totals, &job->peaks, job->group.usage, node, last, &ret->result.metrics,
                       &ret->result.usage);
        job_gpus_put_usage(&job->gpus, &ret->result.usage);
        if (!phase)
                return 0;

        ret->phase = calloc(1, sizeof(*ret->phase));
        if (!ret->phase)
                return -ENOMEM;

        *ret->phase = (PhaseView){ .index = phase->index,
                                   .begin_realtime_ms = phase->begin_realtime_ms,
                                   .end_realtime_ms = realtime_ms };
        memcpy(ret->phase->name, phase->name, sizeof(ret->phase->name));
        measure_before(job, &phase->window.begin, &phase->window.peaks, phase->has_usage ? &phase->usage : NULL, node,
                       last, &ret->phase->metrics, &ret->phase->usage);
        return 0;
}

int job_end_make_before(Job *job, const Node *node, const Totals *last, uint64_t realtime_ms) {
        int r;

        assert(job->stage == JOB_ACTIVE && !job->final);

        job->final = calloc(1, sizeof(*job->final));
        if (!job->final)
                return -ENOMEM;

        *job->final = (JobFinal){
                .state = job->is_announced ? JOB_INTERRUPTED : JOB_FINISHED,
                /* unknown if there is no sample after the begin */
                .realtime_ms = last->boottime_ns > job->begin->totals.boottime_ns ? realtime_ms : 0,
                .boottime_ns = node->sample.boottime_ns,
        };
        r = fill_before(job, node, last, realtime_ms, job->final);
        if (r < 0)
                running_job_drop_final(job);
        return r;
}

bool job_end_settle(const GpuUse *use, Job *job) {
        JobFinal *final = job->final;

        if (!final || (final->gpus_due_ns > 0 && !gpu_use_is_answered(use, final->gpus_due_ns)))
                return false;
        if (final->gpus_due_ns > 0)
                job_gpus_put_usage(&job->gpus, &final->result.usage);
        final->gpus_due_ns = 0;
        if (!final->is_put_due)
                return false;
        assert(job->stage == JOB_ENDING);
        job->stage = JOB_ACTIVE;
        return true;
}

int job_end_put(Job *job, Store *store, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer timeline = {};
        JobFinal *final = job->final;
        StoreJobEnd row;
        int r;

        assert(final && job->stage == JOB_ACTIVE);
        final->ticket = cookie.ticket;
        final->is_put_due = final->gpus_due_ns > 0;
        if (final->is_put_due) {
                job->stage = JOB_ENDING;
                return 0;
        }

        r = recording_write(&job->recording, &timeline);
        if (r < 0)
                return r;
        buffer_put(&timeline, final->samples.text, final->samples.n);
        if (buffer_error(&timeline) < 0)
                return -ENOMEM;

        row = (StoreJobEnd){
                .job = job->info.id,
                .state = final->state,
                .end_realtime_ms = final->realtime_ms,
                .end = &final->result.end,
                .note = job->info.note,
                .metrics = &final->result.metrics,
                .usage = &final->result.usage,
                .phase = final->phase,
                .steps = job->group.steps ? &job->group.steps->list : NULL,
                .gpus = &job->gpus,
                .timeline = &timeline,
        };
        r = store_put(store, job_rows_pack_end(&row, cookie));
        if (r == 0)
                job->stage = JOB_ENDING;
        return r;
}
