/* SPDX-License-Identifier: Apache-2.0 */
#include "pipelines/pipeline_room.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/user_counts.h"
#include "util/array.h"
#include "util/clock.h"

void pipeline_room_init(PipelineRoom *room, Store *store, Identity *identity, const Jobs *jobs) {
        *room = (PipelineRoom){ .store = store, .identity = identity, .jobs = jobs };
}

void pipeline_room_deinit(PipelineRoom *room) {
        for (size_t i = 0; i < room->live.n; i++)
                free(room->live.jobs[i].series);
        free(room->live.jobs);
        room->live = (LivePipelines){};
}

/* --- totals of running jobs ---------------------------------------------------------------------- */

/* Returns the job, which is added if needed; NULL: out of memory. */
static LiveJob *find_job(LivePipelines *live, const char *id, uint32_t uid) {
        for (size_t i = 0; i < live->n; i++)
                if (strcmp(live->jobs[i].id, id) == 0)
                        return &live->jobs[i];

        if (ARRAY_RESERVE(live->jobs, live->n_allocated, live->n + 1) < 0)
                return NULL;
        live->jobs[live->n] = (LiveJob){ .uid = uid };
        (void)snprintf(live->jobs[live->n].id, sizeof(live->jobs->id), "%s", id);
        return &live->jobs[live->n++];
}

static size_t text_bytes(const char *job, const char *stage) {
        return strlen(job) + strlen(stage);
}

/*
 * Returns the job with the least recently updated series of the user with the most text, counting n_bytes for this
 * user. *ret: index of the series. NULL: that is this user.
 */
static LiveJob *find_victim(LivePipelines *live, uint32_t uid, size_t n_bytes, size_t *ret) {
        UserCounts counts = {};
        LiveJob *victim = NULL;

        user_counts_add(&counts, uid, (uint32_t)n_bytes);
        for (const LiveJob *job = live->jobs; job < live->jobs + live->n; job++)
                user_counts_add(&counts, job->uid, (uint32_t)job->n_bytes);
        if (user_counts_get(&counts, uid) == counts.n_most)
                return NULL;
        for (LiveJob *job = live->jobs; job < live->jobs + live->n; job++)
                for (size_t i = 0; user_counts_get(&counts, job->uid) == counts.n_most && i < job->n; i++)
                        if (!victim || job->series[i].used < victim->series[*ret].used) {
                                victim = job;
                                *ret = i;
                        }
        return victim;
}

static void remove_series(LivePipelines *live, LiveJob *job, size_t i) {
        size_t n_bytes = text_bytes(job->id, job->series[i].total.stage);

        assert(live->n_series > 0 && job->n_bytes >= n_bytes && live->n_bytes >= n_bytes);
        job->series[i] = job->series[--job->n];
        job->n_bytes -= n_bytes;
        job->is_cut = true;
        live->n_series--;
        live->n_bytes -= n_bytes;
}

/* Returns false if no place is left for a series of this user. */
static bool make_place(LivePipelines *live, uint32_t uid, size_t n_bytes) {
        while (live->n_series >= LIVE_SERIES_MAX || live->n_bytes + n_bytes > LIVE_TEXT_MAX) {
                size_t i = 0;
                LiveJob *victim = find_victim(live, uid, n_bytes, &i);

                if (!victim)
                        return false;
                remove_series(live, victim, i);
        }
        return true;
}

/* Returns the series, which is added if needed; NULL: out of memory, or the limit is reached. */
static LiveSeries *find_series(LivePipelines *live, LiveJob *job, int64_t row, const char *label, PipelinePart part) {
        size_t n_bytes = text_bytes(job->id, label);
        LiveSeries *series;

        for (size_t i = 0; i < job->n; i++)
                if (job->series[i].row == row)
                        return &job->series[i];

        if (!make_place(live, job->uid, n_bytes) || ARRAY_RESERVE(job->series, job->n_allocated, job->n + 1) < 0)
                return NULL;

        series = &job->series[job->n++];
        *series = (LiveSeries){ .row = row, .total = { .part = part } };
        (void)snprintf(series->total.job, sizeof(series->total.job), "%s", job->id);
        (void)snprintf(series->total.stage, sizeof(series->total.stage), "%s", label);
        job->n_bytes += n_bytes;
        live->n_series++;
        live->n_bytes += n_bytes;
        return series;
}

/* Takes the new totals of a stored report of a job of this user. Out of memory: totals are missing from /metrics. */
static void update_live(LivePipelines *live, const RowSet *stored, uint32_t uid) {
        const StoredSeries *from = pipeline_rows_series(stored);
        PipelineWalk walk = pipeline_rows_walk(stored);
        LiveJob *job = find_job(live, pipeline_rows_job(stored), uid);
        PipelineInterval interval;

        for (; job && pipeline_rows_next(&walk, &interval); from++) {
                LiveSeries *series = from->row > 0 ? find_series(live, job, from->row, interval.stage, interval.part)
                                                   : NULL;

                if (series) {
                        series->total.sums = from->sums;
                        series->used = ++live->n_uses;
                }
                job->is_cut |= from->row > 0 && !series;
        }
        if (job) {
                job->n_stored = pipeline_rows_stored(stored)->n_series;
                job->is_cut &= job->n < job->n_stored;
        }
        live->version++;
}

/* --- requests ------------------------------------------------------------------------------------- */

/*
 * Chooses the job of a report. A named job that does not run is left to the store, which knows its owner. Returns
 * NULL after filling the answer.
 */
static const char *choose_job(PipelineRoom *room, const Request *request, Ticket ticket, bool *ret_may_act,
                              Answer *ret) {
        const PipelineReport *report = request->pipeline_report;
        const Peer *peer = &request->peer;
        bool is_other;
        const Job *job = identity_choose_job(room->identity, peer, ticket, report->job, report->is_job_inherited,
                                             &is_other);

        *ret_may_act = peer->is_admin || peer->uid == 0;
        if (job && !identity_may_act(room->identity, peer, ticket, job)) {
                (void)identity_refuse(room->identity, "pipeline_report.job", ret);
                return NULL;
        }
        if (job) {
                *ret_may_act = true;
                return job->info.id;
        }
        if (is_other) {
                if (room->identity->hides_others)
                        (void)identity_refuse_missing("pipeline_report.job", ret);
                else
                        (void)desk_answer(ret, STATUS_DENIED, "pipeline_report.job",
                                          "the job that $PERFD_JOB names belongs to another user");
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
 * Refuses a report with a time far ahead or, if the clock of this node is not synchronised, replaces the time by
 * that of arrival.
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

        return desk_pending(
                store_put(room->store, pipeline_rows_pack(report, job, request->peer.uid, may_act, now_ms, cookie)));
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

static void show(PipelineRoom *room, const RowSet *stored) {
        const JobDescription *job = find_shown(room->jobs, pipeline_rows_job(stored));

        if (job)
                update_live(&room->live, stored, job->uid);
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
                (void)snprintf(remark, sizeof(remark),
                               "%lu intervals of the report are not stored: a job may have up to %u stages",
                               (unsigned long)stored->n_rejected, PIPELINE_JOB_STAGES_MAX);
        else if (stored->n_repeated > 0)
                (void)snprintf(remark, sizeof(remark),
                               "%lu of %lu intervals were stored before, or are older than the merged intervals",
                               (unsigned long)stored->n_repeated, (unsigned long)(stored->n_repeated + stored->n_new));
        (void)desk_answer(
                ret, stored->n_repeated > 0 && stored->n_new + stored->n_rejected == 0 ? STATUS_DUPLICATE : STATUS_OK,
                "", remark);
        ret->n_refused = stored->n_rejected;
        return 0;
}

static int complete(void *state, const StoreDone *done, Answer *ret) {
        PipelineRoom *room = state;

        switch (done->outcome) {
        case STORE_DONE:
                return answer_stored(room, done, ret);
        case STORE_MISSING:
                return identity_refuse_missing("pipeline_report.job", ret);
        case STORE_DENIED:
                return identity_refuse(room->identity, "pipeline_report.job", ret);
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

/* Removes the jobs that are not in /metrics any more. */
static void forget_hidden(LivePipelines *live, const Jobs *jobs) {
        size_t n = 0;

        for (size_t i = 0; i < live->n; i++) {
                LiveJob *job = &live->jobs[i];

                if (find_shown(jobs, job->id)) {
                        live->jobs[n++] = *job;
                        continue;
                }
                assert(live->n_series >= job->n && live->n_bytes >= job->n_bytes);
                live->n_series -= job->n;
                live->n_bytes -= job->n_bytes;
                live->version++;
                free(job->series);
        }
        live->n = n;
}

/* Returns the number of series that are not in /metrics because of the limit. */
static size_t count_not_exposed(const LivePipelines *live) {
        size_t n = 0;

        for (size_t i = 0; i < live->n; i++)
                if (live->jobs[i].is_cut && live->jobs[i].n_stored > live->jobs[i].n)
                        n += live->jobs[i].n_stored - live->jobs[i].n;
        return n;
}

/* Copies the totals if they have changed. 0 or -ENOMEM. */
static int publish_live(const LivePipelines *live, PipelinesSnapshot *ret) {
        int r;

        if (ret->version == live->version)
                return 0;
        r = ARRAY_RESERVE(ret->totals, ret->n_allocated, live->n_series);
        if (r < 0)
                return r;

        ret->n = 0;
        for (size_t i = 0; i < live->n; i++)
                for (size_t k = 0; k < live->jobs[i].n; k++)
                        ret->totals[ret->n++] = live->jobs[i].series[k].total;
        assert(ret->n == live->n_series);
        ret->version = live->version;
        return 0;
}

int pipeline_room_publish(PipelineRoom *room, PipelinesSnapshot *ret) {
        forget_hidden(&room->live, room->jobs);
        room->stats.n_not_exposed = count_not_exposed(&room->live);
        ret->stats = room->stats;
        return publish_live(&room->live, ret);
}
