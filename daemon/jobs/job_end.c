/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/job_end.h"

#include <errno.h>
#include <string.h>

#include "jobs/groups.h"
#include "reply.h"
#include "store/jobs/job_rows.h"
#include "util/clock.h"

void job_end_phase_view(const Service *service, const Job *job, PhaseView *ret) {
        const Phase *phase = job->mark;

        *ret = (PhaseView){
                .index = phase->index,
                .begin_realtime_ms = phase->begin_realtime_ms,
                .end_realtime_ms = service->node.sample.realtime_ns / NS_PER_MS,
        };
        memcpy(ret->name, phase->name, sizeof(ret->name));
        window_metrics(&phase->window, meter_totals(service->node.meter), node_n_cpus(&service->node), &ret->metrics);
        groups_phase_metrics(service, job, &ret->usage);
}

static int fill(Service *service, Job *job, const JobEnd *end, Ending *ret) {
        ret->realtime_ms = service->node.sample.realtime_ns / NS_PER_MS;
        ret->boottime_ns = service->node.sample.boottime_ns;
        window_metrics(&job->window, meter_totals(service->node.meter), node_n_cpus(&service->node), &ret->result.metrics);
        groups_metrics(service, job, end, &ret->result.usage);
        if (!job->mark)
                return 0;

        ret->phase = calloc(1, sizeof(*ret->phase));
        if (!ret->phase)
                return -ENOMEM;

        job_end_phase_view(service, job, ret->phase);
        return 0;
}

int job_end_make(Service *service, Job *job, JobState state, const JobEnd *end) {
        int r;

        if (!job->ending) {
                job->ending = calloc(1, sizeof(*job->ending));
                if (!job->ending)
                        return -ENOMEM;

                r = fill(service, job, end, job->ending);
                if (r < 0) {
                        job_drop_ending(job);
                        return r;
                }
        }

        job->ending->state = state;
        job->ending->result.end = *end;
        return 0;
}

int job_end_put(Service *service, Job *job) {
        scoped(freep) char *timeline = NULL;
        const Ending *ending = job->ending;
        StoreJobEnd row = {
                .job = job->info.id,
                .state = ending->state,
                .end_realtime_ms = ending->realtime_ms,
                .end = &ending->result.end,
                .note = job->info.note,
                .metrics = &ending->result.metrics,
                .usage = &ending->result.usage,
                .phase = ending->phase,
        };
        int r;

        r = recording_format(&job->recording, &timeline);
        if (r < 0)
                return r;

        row.timeline = timeline;
        r = store_put(service->store, job_rows_pack_end(&row, cookie_of_owner(job, COOKIE_END)));
        if (r == 0)
                job->phase = JOB_PHASE_ENDING;
        return r;
}
