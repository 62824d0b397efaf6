/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/phases.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "jobs/energy_shares.h"
#include "jobs/groups.h"
#include "jobs/job_end.h"
#include "jobs/progress.h"
#include "jobs/sampling.h"
#include "store/jobs/job_rows.h"
#include "util/utf8.h"

struct PendingMark {
        PendingMark *previous, *next;
        char job[JOB_ID_MAX];
        bool is_other;  /* the job is not the one that the request named */
        uint32_t index; /* index of the phase that began */
        Phase before;   /* the phase that ended; it continues if the store fails */
};

static void unlink_mark(Phases *phases, PendingMark *mark) {
        assert(mark->previous ? mark->previous->next == mark : phases->pending == mark);

        *(mark->previous ? &mark->previous->next : &phases->pending) = mark->next;
        if (mark->next)
                mark->next->previous = mark->previous;
        free(mark);
}

void phases_deinit(Phases *phases) {
        while (phases->pending)
                unlink_mark(phases, phases->pending);
}

static int answer_no_job(const Identity *identity, const Request *request, bool is_other, Answer *ret) {
        if (is_other && !identity->hides_others)
                return desk_answer(ret, STATUS_DENIED, "mark.job",
                                   "the job that $PERFD_JOB names belongs to another user");
        if (!request->mark.job[0])
                return desk_answer(ret, STATUS_NOT_FOUND, "mark.job",
                                   "not inside a perfd job: use --job ID or set PERFD_JOB");
        if (request->mark.is_job_inherited)
                return desk_answer(ret, STATUS_NOT_FOUND, "mark.job",
                                   "the job that $PERFD_JOB names is not running on this node, and this process is "
                                   "in no other job");
        return identity_refuse_missing("mark.job", ret);
}

/* Returns the job to mark. NULL: *ret says why the mark is refused. */
static Job *find_job(const Phases *phases, const Request *request, Ticket ticket, bool *ret_is_other, Answer *ret) {
        const Peer *peer = &request->peer;
        Job *job = identity_choose_job(phases->identity, peer, ticket, request->mark.job,
                                       request->mark.is_job_inherited, ret_is_other);

        if (!job)
                answer_no_job(phases->identity, request, *ret_is_other, ret);
        else if (!identity_may_act(phases->identity, peer, ticket, job))
                (void)identity_refuse(phases->identity, "mark.job", ret);
        else if (job->stage != JOB_ACTIVE || job->final)
                desk_answer(ret, STATUS_UNAVAILABLE, "mark.job", "this job is being begun or ended: try again");
        else if (job->n_phases >= phases->config->phases_max)
                desk_answer(ret, STATUS_QUOTA, "mark.name",
                            "limit [limits] phases of one job is reached: mark less often, or ask the administrator "
                            "to raise it");
        else
                return job;

        return NULL;
}

/* Makes the phase before the first mark, which has no name and began with the job. */
static int begin_first(Job *job) {
        if (job->phase)
                return 0;

        job->phase = calloc(1, sizeof(*job->phase));
        if (!job->phase)
                return -ENOMEM;

        job->phase->begin_realtime_ms = job->begin_realtime_ms;
        job->phase->window = (Window){ .begin = job->begin->totals, .peaks = job->peaks };
        job->phase->has_usage = job->group.usage;
        if (job->group.usage)
                job->phase->usage = *job->group.usage;
        job->n_phases = 1;
        return 0;
}

static void begin_next(const Node *node, const Job *job, const char *name, Phase *ret) {
        *ret = (Phase){
                .index = job->phase->index + 1,
                .begin_realtime_ms = node_realtime_ms(node),
                .has_usage = job->group.usage,
        };
        utf8_copy(ret->name, sizeof(ret->name), name);
        window_begin(&ret->window, meter_totals(node->meter), &node->sample);
        if (!job->group.usage)
                return;
        usage_begin(&ret->usage, &job->group.usage->last, false);
        ret->usage.energy.begin_uj = job->group.usage->energy.last_uj;
        usage_follow_energy(&ret->usage, job->group.usage);
}

static int put(const Phases *phases, const Job *job, const PhaseView *ended, const Phase *next, StoreCookie cookie) {
        const Node *node = phases->node;
        scoped(freep) char *progress = NULL;
        scoped(freep) char *meter = NULL;
        StorePhase row = { .job = job->info.id, .phase = ended, .boot_id = node->boot_id };
        int r;

        r = progress_format(job, next, next->index + 1, &progress);
        if (r == 0)
                r = meter_save(node->meter, node->boot_id, &meter);
        if (r < 0)
                return r;

        row.progress = progress;
        row.meter = meter;
        return store_put(phases->store, job_rows_pack_phase(&row, cookie));
}

/* Ends the job's phase and begins the next, unless the store has no room. 0, STORE_QUEUE_FULL or < 0. */
static int mark_job(const Phases *phases, Job *job, const Request *request, Ticket ticket, PendingMark *mark) {
        const StoreCookie cookie = { .kind = &phases_kinds[0], .ticket = ticket, .owner = mark };
        const Node *node = phases->node;
        PhaseView ended;
        Phase next;
        int r;

        assert(job->stage == JOB_ACTIVE && !job->final);

        r = begin_first(job);
        if (r < 0)
                return r;

        /* The next phase begins with this sample, and no phase may have a peak above the peak of its job. */
        window_add_gauges(&job->peaks, &node->sample);
        window_add_gauges(&job->phase->window.peaks, &node->sample);

        job_end_phase_view(job, node, &ended);
        ended.has_wall_seconds = request->mark.has_wall_seconds;
        ended.wall_seconds = request->mark.wall_seconds;
        begin_next(node, job, request->mark.name, &next);
        (void)snprintf(mark->job, sizeof(mark->job), "%s", job->info.id);
        mark->index = next.index;
        mark->before = *job->phase;

        r = put(phases, job, &ended, &next, cookie);
        if (r != 0)
                return r;

        if (job->group.cgroup)
                cgroup_trust_peak(job->group.cgroup, false);
        *job->phase = next;
        job->n_phases = next.index + 1;
        return 0;
}

static int place_mark(void *state, const Request *request, Ticket ticket, Answer *ret) {
        Phases *phases = state;
        scoped(freep) PendingMark *mark = NULL;
        bool is_other;
        Job *job;
        int r;

        job = find_job(phases, request, ticket, &is_other, ret);
        if (!job)
                return 0;

        r = sampling_now(phases->jobs, phases->node);
        if (r < 0)
                return r;
        (void)groups_read(job); /* if the cgroup was removed, the next tick ends the job */
        energy_shares_settle(phases->jobs, job, meter_totals(phases->node->meter));

        mark = calloc(1, sizeof(*mark));
        if (!mark)
                return -ENOMEM;
        mark->is_other = is_other;
        r = mark_job(phases, job, request, ticket, mark);
        if (r != 0)
                return desk_pending(r);

        assert(!phases->pending || !phases->pending->previous);
        mark->next = phases->pending;
        if (mark->next)
                mark->next->previous = mark;
        phases->pending = TAKE(mark);
        return DESK_PENDING;
}

/*
 * Undoes a mark that could not be stored. Observations since the mark, of one or two ticks, are in the counters but
 * not in the peaks. If more marks of the job are queued, the last mark to fail undoes all.
 */
static void undo_mark(const Phases *phases, const PendingMark *mark) {
        Job *job = jobs_find(phases->jobs, mark->job);

        assert(mark->before.index < mark->index);

        if (!job || job->stage != JOB_ACTIVE || job->final || !job->phase)
                return;

        if (job->phase->index != mark->index) {
                for (PendingMark *later = phases->pending; later; later = later->next)
                        if (later->before.index == mark->index && strcmp(later->job, mark->job) == 0)
                                later->before = mark->before;
                return;
        }

        /* A job that was never marked has no phases. */
        if (mark->before.index == 0) {
                free(TAKE(job->phase));
                job->n_phases = 0;
                return;
        }

        *job->phase = mark->before;
        job->n_phases = mark->before.index + 1;
        if (job->phase->has_usage)
                usage_advance(&job->phase->usage, &job->group.usage->last);
}

static int answer_marked(const Phases *phases, const PendingMark *mark, Ticket ticket, Answer *ret) {
        desk_answer(ret, STATUS_OK, "", "");
        memcpy(ret->job, mark->job, sizeof(ret->job));
        memcpy(ret->phase, mark->before.name, sizeof(ret->phase));
        if (mark->is_other)
                identity_explain_other(phases->identity, ticket, ret->complaint.text);
        return 0;
}

_Static_assert(sizeof(((Answer *)0)->phase) == sizeof(((Phase *)0)->name), "a phase's name is copied whole");
_Static_assert(sizeof(((Answer *)0)->job) == sizeof(((PendingMark *)0)->job), "a job's id is copied whole");

static int complete_mark(void *state, const StoreDone *done, Answer *ret) {
        Phases *phases = state;
        PendingMark *mark = done->cookie.owner;

        assert(mark && mark->job[0]);

        if (done->outcome == STORE_DONE)
                answer_marked(phases, mark, done->cookie.ticket, ret);
        else if (done->outcome == STORE_MISSING)
                desk_answer(ret, STATUS_NOT_FOUND, "mark.job", "this job has ended meanwhile");
        else {
                undo_mark(phases, mark);
                desk_answer_store_failed(ret, phases->store);
        }

        unlink_mark(phases, mark);
        return 0;
}

const Kind phases_kinds[] = {
        { REQUEST_MARK, "mark", place_mark, complete_mark, NULL },
};
