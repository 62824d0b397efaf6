/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/phases.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "jobs/groups.h"
#include "jobs/identity.h"
#include "jobs/job_end.h"
#include "jobs/progress.h"
#include "node/observe.h"
#include "reply.h"
#include "store/jobs/job_rows.h"
#include "util/clock.h"
#include "util/utf8.h"

struct PendingMark {
        PendingMark *previous, *next;
        Ticket ticket;
        char job[JOB_ID_MAX];
        bool is_other;  /* not the job that was named */
        uint32_t index; /* of the phase that began */
        Phase before;   /* the phase that ended: goes on when the store could not take it */
};

static void unlink_mark(Service *service, PendingMark *mark) {
        *(mark->previous ? &mark->previous->next : &service->marks) = mark->next;
        if (mark->next)
                mark->next->previous = mark->previous;
        free(mark);
}

void phases_deinit(Service *service) {
        while (service->marks)
                unlink_mark(service, service->marks);
}

static void reply_no_job(Service *service, const Request *request, Ticket ticket, bool is_other) {
        if (is_other)
                reply(service, ticket, STATUS_DENIED, "mark.job", "the job that $PERFD_JOB names belongs to another user");
        else if (!request->mark.job[0])
                reply(service, ticket, STATUS_NOT_FOUND, "mark.job",
                      "you are in no job that perfd can tell by its cgroup: name one (--job, $PERFD_JOB)");
        else if (request->mark.is_job_inherited)
                reply(service, ticket, STATUS_NOT_FOUND, "mark.job",
                      "the job that $PERFD_JOB names does not run on this node, and you are in no other that perfd can tell by its cgroup");
        else
                reply(service, ticket, STATUS_NOT_FOUND, "mark.job", "there is no such running job on this node");
}

/* Answers why there can be no mark: then NULL. */
static Job *find_job(Service *service, const Request *request, Ticket ticket, bool *ret_is_other) {
        Job *job = identity_choose_job(service, &request->peer, ticket, request->mark.job, request->mark.is_job_inherited, ret_is_other);

        if (!job)
                reply_no_job(service, request, ticket, *ret_is_other);
        else if (!identity_may(service, &request->peer, ticket, job))
                reply(service, ticket, STATUS_DENIED, "mark.job", "this job belongs to another user");
        else if (job->phase != JOB_PHASE_ACTIVE || job->ending)
                reply(service, ticket, STATUS_UNAVAILABLE, "mark.job", "this job is just being begun or ended: ask again");
        else if (job->n_phases >= service->config.jobs.phases_max)
                reply(service, ticket, STATUS_QUOTA, "mark.name",
                      "limit [limits] phases of one job is reached: mark less often, or ask the administrator to raise it");
        else
                return job;

        return NULL;
}

/* Before its first mark a job is in a phase without a name that began when it did. */
static int begin_first(Job *job) {
        if (job->mark)
                return 0;

        job->mark = calloc(1, sizeof(*job->mark));
        if (!job->mark)
                return -ENOMEM;

        job->mark->begin_realtime_ms = job->begin_realtime_ms;
        job->mark->window = job->window;
        job->mark->has_usage = job->usage;
        if (job->usage)
                job->mark->usage = *job->usage;
        job->n_phases = 1;
        return 0;
}

static void begin_next(const Service *service, const Job *job, const char *name, Phase *ret) {
        *ret = (Phase){
                .index = job->mark->index + 1,
                .begin_realtime_ms = service->node.sample.realtime_ns / NS_PER_MS,
                .has_usage = job->usage,
        };
        utf8_copy(ret->name, sizeof(ret->name), name);
        window_begin(&ret->window, meter_totals(service->node.meter), &service->node.sample);
        if (job->usage)
                usage_begin(&ret->usage, &job->usage->last, false);
}

static int put(Service *service, const Job *job, const PhaseView *ended, const Phase *next, PendingMark *mark) {
        scoped(freep) char *progress = NULL;
        scoped(freep) char *meter = NULL;
        StorePhase row = { .job = job->info.id, .phase = ended, .boot_id = service->node.boot_id };
        int r;

        r = progress_format(job, next, next->index + 1, &progress);
        if (r == 0)
                r = meter_save(service->node.meter, service->node.boot_id, &meter);
        if (r < 0)
                return r;

        row.progress = progress;
        row.meter = meter;
        return store_put(service->store, job_rows_pack_phase(&row, cookie_of_owner(mark, COOKIE_MARK)));
}

static int mark_job(Service *service, Job *job, const Request *request, PendingMark *mark) {
        PhaseView ended;
        Phase next;
        int r;

        r = begin_first(job);
        if (r < 0)
                return r;

        /* The next phase begins with it, and no phase may have had more than its job. */
        window_see(&job->window, &service->node.sample);
        window_see(&job->mark->window, &service->node.sample);

        job_end_phase_view(service, job, &ended);
        ended.has_wall_seconds = request->mark.has_wall_seconds;
        ended.wall_seconds = request->mark.wall_seconds;
        begin_next(service, job, request->mark.name, &next);
        (void)snprintf(mark->job, sizeof(mark->job), "%s", job->info.id);
        mark->index = next.index;
        mark->before = *job->mark;

        r = put(service, job, &ended, &next, mark);
        if (r != 0)
                return r;

        if (job->cgroup)
                cgroup_trust_peak(job->cgroup, false);
        *job->mark = next;
        job->n_phases = next.index + 1;
        return 0;
}

int phases_mark(Service *service, const Request *request, Ticket ticket) {
        scoped(freep) PendingMark *mark = NULL;
        bool is_other;
        Job *job;
        int r;

        job = find_job(service, request, ticket, &is_other);
        if (!job)
                return 0;

        r = observe_bracket(service);
        if (r < 0)
                return r;
        (void)groups_read(service, job); /* a group that is gone ends the job at the next tick */

        mark = calloc(1, sizeof(*mark));
        if (!mark)
                return -ENOMEM;
        mark->ticket = ticket;
        mark->is_other = is_other;
        r = mark_job(service, job, request, mark);
        if (r != 0)
                return r;

        mark->next = service->marks;
        if (mark->next)
                mark->next->previous = mark;
        service->marks = TAKE(mark);
        return 0;
}

/*
 * A mark that failed changed nothing. What was seen since it came, a tick or two, is in the counters but not in the
 * peaks. Where there were more marks meanwhile, the last that fails takes all of them back.
 */
static void take_back(Service *service, const PendingMark *mark) {
        Job *job = jobs_find(&service->jobs, mark->job);

        if (!job || job->phase != JOB_PHASE_ACTIVE || job->ending || !job->mark)
                return;

        if (job->mark->index != mark->index) {
                for (PendingMark *later = service->marks; later; later = later->next)
                        if (later->before.index == mark->index && strcmp(later->job, mark->job) == 0)
                                later->before = mark->before;
                return;
        }

        /* A job that was never marked has no phases. */
        if (mark->before.index == 0) {
                free(TAKE(job->mark));
                job->n_phases = 0;
                return;
        }

        *job->mark = mark->before;
        job->n_phases = mark->before.index + 1;
        if (job->mark->has_usage)
                usage_advance(&job->mark->usage, &job->usage->last);
}

void phases_complete(Service *service, PendingMark *mark, StoreOutcome outcome) {
        if (outcome != STORE_DONE && outcome != STORE_MISSING)
                take_back(service, mark);

        if (outcome == STORE_DONE) {
                Answer answer = { .status = STATUS_OK };

                memcpy(answer.job, mark->job, sizeof(answer.job));
                memcpy(answer.phase, mark->before.name, sizeof(answer.phase));
                if (mark->is_other)
                        identity_explain_other(service, mark->ticket, answer.complaint.text);
                ingest_answer(service->ingest, mark->ticket, &answer);
        } else if (outcome == STORE_MISSING)
                reply(service, mark->ticket, STATUS_NOT_FOUND, "mark.job", "this job has ended meanwhile");
        else
                reply_store_failed(service, mark->ticket);

        unlink_mark(service, mark);
}
