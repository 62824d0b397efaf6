/* SPDX-License-Identifier: Apache-2.0 */
#include "pipelines/pipeline_room.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "desk/desk.h"
#include "util/clock.h"

void pipeline_room_init(PipelineRoom *room, Store *store, Identity *identity, const Jobs *jobs) {
        *room = (PipelineRoom){ .store = store, .identity = identity, .jobs = jobs };
}

void pipeline_room_deinit(PipelineRoom *room) {
        live_pipelines_deinit(&room->live);
}

/* --- requests ------------------------------------------------------------------------------------- */

/*
 * Chooses the job of a report. A named job that does not run is left to the store, which knows its owner. Returns NULL after filling the
 * answer.
 */
static const char *choose_job(PipelineRoom *room, const Request *request, Ticket ticket, bool *ret_may_act, Answer *ret) {
        const PipelineReport *report = request->pipeline_report;
        const Peer *peer = &request->peer;
        bool is_other;
        const Job *job = identity_choose_job(room->identity, peer, ticket, report->job, report->is_job_inherited, &is_other);

        *ret_may_act = peer->is_admin || peer->uid == 0;
        if (job && !identity_may_act(room->identity, peer, ticket, job)) {
                (void)desk_answer(ret, STATUS_DENIED, "pipeline_report.job", "belongs to another user");
                return NULL;
        }
        if (job) {
                *ret_may_act = true;
                return job->info.id;
        }
        if (is_other) {
                (void)desk_answer(ret, STATUS_DENIED, "pipeline_report.job", "the job that $PERFD_JOB names belongs to another user");
                return NULL;
        }
        if (!report->job[0]) {
                (void)desk_answer(ret, STATUS_NOT_FOUND, "pipeline_report.job",
                                  "not inside a perfd job: use --job ID or set PERFD_JOB");
                return NULL;
        }
        return report->job;
}

enum {
        ITEM_REFUSED = 1, /* the answer is filled */
};

/*
 * Refuses a report with a time far ahead or, if the clock of this node is not synchronised, replaces the time by that of arrival.
 * path: of the list that has the item i. 0 or ITEM_REFUSED.
 */
static int check_time(uint64_t *time_ms, const char *path, size_t i, uint64_t now_ms, Answer *ret) {
        char text[COMPLAINT_TEXT_MAX], whole[COMPLAINT_PATH_MAX];

        switch (desk_check_time(*time_ms, now_ms, text)) {
        case DESK_TIME_REFUSED:
                (void)snprintf(whole, sizeof(whole), "%s[%zu].time_ms", path, i);
                (void)desk_answer(ret, STATUS_INVALID, whole, text);
                return ITEM_REFUSED;
        case DESK_TIME_UNTRUSTED:
                *time_ms = 0;
        }
        return 0;
}

static int check_times(const PipelineReport *report, uint64_t now_ms, Answer *ret) {
        size_t stage = 0;
        int r = 0;

        /* The codec gives the parts of a stage one copy of its label. */
        for (size_t i = 0; r == 0 && i < report->n_intervals; i++) {
                stage += i > 0 && report->intervals[i].stage != report->intervals[i - 1].stage;
                r = check_time(&report->intervals[i].end_ms, "pipeline_report.stages", stage, now_ms, ret);
        }
        for (size_t i = 0; r == 0 && i < report->n_events; i++)
                r = check_time(&report->events[i].begin_ms, "pipeline_report.events", i, now_ms, ret);
        return r;
}

static int place(void *state, const Request *request, Ticket ticket, Answer *ret) {
        const StoreCookie cookie = { .kind = &pipeline_room_kinds[0], .ticket = ticket };
        const PipelineReport *report = request->pipeline_report;
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS;
        PipelineRoom *room = state;
        const char *job;
        bool may_act;

        assert(report && report->n_intervals <= PIPELINE_REPORT_INTERVALS_MAX);
        job = choose_job(room, request, ticket, &may_act, ret);
        if (!job || check_times(report, now_ms, ret) != 0)
                return 0;

        return desk_pending(store_put(room->store, pipeline_rows_pack(report, job, request->peer.uid, may_act, now_ms, cookie)));
}

/* Returns the description of a job that is running, or in /metrics since it ended; else NULL. */
static const JobDescription *find_shown(const Jobs *jobs, const char *id) {
        const Job *running = jobs_find(jobs, id);

        if (running)
                return &running->info;
        for (const FinishedJob *job = jobs->finished.first; job; job = job->next)
                if (strcmp(job->info.id, id) == 0)
                        return &job->info;
        return NULL;
}

static bool is_shown(const void *userdata, const char *id) {
        return find_shown(userdata, id);
}

static void show(PipelineRoom *room, const RowSet *stored) {
        const JobDescription *job = find_shown(room->jobs, pipeline_rows_job(stored));

        if (job)
                live_pipelines_update(&room->live, stored, job->uid);
}

/* Writes which intervals of a report were not stored, if any. */
static int answer_stored(PipelineRoom *room, const StoreDone *done, Answer *ret) {
        const StoredReport *stored = pipeline_rows_stored(done->rows);
        char remark[COMPLAINT_TEXT_MAX] = "";

        room->stats.n_intervals += stored->n_new;
        room->stats.n_repeated += stored->n_repeated;
        room->stats.n_rejected += stored->n_rejected;
        if (stored->n_new > 0)
                show(room, done->rows);

        if (stored->n_rejected > 0)
                (void)snprintf(remark, sizeof(remark), "%lu intervals are not stored: a job may have up to %u stages",
                               (unsigned long)stored->n_rejected, PIPELINE_JOB_STAGES_MAX);
        else if (stored->n_repeated > 0)
                (void)snprintf(remark, sizeof(remark), "%lu of %lu intervals were stored before, or are older than the merged intervals",
                               (unsigned long)stored->n_repeated, (unsigned long)(stored->n_repeated + stored->n_new));
        return desk_answer(ret, stored->n_repeated > 0 && stored->n_new + stored->n_rejected == 0 ? STATUS_DUPLICATE : STATUS_OK, "",
                           remark);
}

static int complete(void *state, const StoreDone *done, Answer *ret) {
        PipelineRoom *room = state;

        switch (done->outcome) {
        case STORE_DONE:
                return answer_stored(room, done, ret);
        case STORE_MISSING:
                return desk_answer(ret, STATUS_NOT_FOUND, "pipeline_report.job", "no such job on this node; it may have expired");
        case STORE_DENIED:
                return desk_answer(ret, STATUS_DENIED, "pipeline_report.job", "belongs to another user");
        case STORE_DUPLICATE:
        case STORE_CONFLICT:
        case STORE_QUOTA:
        case STORE_FAILED:
                break;
        }
        return desk_answer_store_failed(ret, room->store);
}

const Kind pipeline_room_kinds[1] = { { REQUEST_PIPELINE_REPORT, "pipeline report", place, complete, NULL } };

/* --- publishing ----------------------------------------------------------------------------------- */

int pipeline_room_publish(PipelineRoom *room, PipelinesSnapshot *ret) {
        live_pipelines_forget(&room->live, is_shown, room->jobs);
        room->stats.n_left_out = live_pipelines_left_out(&room->live);
        ret->stats = room->stats;
        return live_pipelines_publish(&room->live, ret);
}
