/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/job_room.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "jobs/energy_shares.h"
#include "jobs/job_watch.h"
#include "jobs/progress.h"
#include "jobs/recovery.h"
#include "jobs/sampling.h"
#include "store/jobs/job_rows.h"
#include "util/array.h"
#include "util/clock.h"

/* --- detection ------------------------------------------------------------------------------------- */

/*
 * A detected cgroup becomes the own cgroup of the job that was announced under its id, or of a new job.
 */

/* Returns true if the owner of the cgroup matches the job: clients choose ids freely, so that an equal id proves
 * nothing. */
static bool may_have(const Job *job, const FoundGroup *group) {
        return job->group.is_vouched || job->info.uid == group->owner_uid ||
               (group->has_uid && job->info.uid == group->uid);
}

/* Returns the newest job with this id: the end of an earlier run of a requeued job may never have been reported. */
static Job *find_announced(const Jobs *jobs, const FoundGroup *group) {
        for (Job *job = jobs->last; job; job = job->links.previous)
                if (finder_group_is_of(group, &job->info) && may_have(job, group))
                        return job;
        return NULL;
}

static int attach(Lifecycle *lifecycle, Job *job, const FoundGroup *group) {
        int r;

        assert(!job->group.cgroup && job->stage != JOB_ENDING);

        r = groups_attach(lifecycle->groups, job, &group->place, true);
        if (r != 0)
                return r == GROUPS_REFUSED ? 0 : r;

        job->info.isolation = ISOLATION_FOUND;
        job->group.is_vouched = true;
        (void)shares_resize(&job->origin.charge, 1); /* perfd watches the cgroup from now on */
        r = lifecycle_update_identity(lifecycle, job);
        if (r < 0)
                return r;
        if (job->stage == JOB_ACTIVE)
                running_job_drop_final(job);
        return job_watch_start_group(lifecycle, job);
}

static void log_refused(Detection *detection, const FoundGroup *group, const char *why) {
        const LogField fields[] = { LOG_TEXT("PERFD_JOB", group->job), LOG_NUMBER("PERFD_UID", group->owner_uid), {} };

        log_for_user(&detection->log_limits, group->owner_uid, LOG_LEVEL_WARNING, fields,
                     "Cannot follow job '%s', found by pattern %s: %s", group->job, group->pattern, why);
}

static int begin(Detection *detection, const FoundGroup *group) {
        JobInfo info = {
                .uid = group->has_uid ? group->uid : JOB_UID_UNKNOWN,
                .gid = JOB_UID_UNKNOWN,
                .rank = -1,
                .node = -1,
                .isolation = ISOLATION_FOUND,
        };
        Lifecycle *lifecycle = detection->lifecycle;
        int r;

        memcpy(info.id, group->job, sizeof(info.id));
        r = lifecycle_begin_found(lifecycle, &info, &group->place);
        if (r == LIFECYCLE_FULL)
                log_refused(detection, group, "limit [limits] jobs is reached");
        return r < 0 ? r : 0;
}

static int postpone(Detection *detection, const FoundGroup *group) {
        if (ARRAY_EXTEND(detection->postponed, detection->n_postponed) < 0)
                return -ENOMEM;
        detection->postponed[detection->n_postponed++] = *group;
        return 0;
}

static int take(Detection *detection, const FoundGroup *group) {
        Lifecycle *lifecycle = detection->lifecycle;
        char name[GROUP_NAME_MAX];
        Job *job;

        if (cgroup_tree_place_name(&group->place, name) != 0)
                return 0;

        job = jobs_find_group(lifecycle->jobs, name);
        if (job && job->group.cgroup && groups_read(job) != GROUPS_GONE)
                return 0; /* the begin request named the cgroup already */
        if (!job)
                job = find_announced(lifecycle->jobs, group);
        if (!job)
                return begin(detection, group);
        if (job->group.cgroup)
                return 0;
        return job->stage == JOB_ENDING ? postpone(detection, group) : attach(lifecycle, job, group);
}

/* Reads the cgroup of a job of which a step has begun, or has ended, before the cgroup is removed. */
static int take_step(Lifecycle *lifecycle, const CgroupPlace *place) {
        char name[GROUP_NAME_MAX];
        Job *job = cgroup_tree_place_name(place, name) == 0 ? jobs_find_group(lifecycle->jobs, name) : NULL;

        return job && job->group.cgroup && !job->final ? job_watch_check_group(lifecycle, job) : 0;
}

static int take_all(Detection *detection) {
        CgroupPlace place;
        FoundGroup group;
        int r;

        r = finder_scan(detection->finder);
        while (r >= 0 && finder_next(detection->finder, &group) == 0)
                r = take(detection, &group);
        while (r >= 0 && finder_next_step(detection->finder, &place) == 0)
                r = take_step(detection->lifecycle, &place);
        return r < 0 ? r : 0;
}

/* Begins new jobs for the postponed cgroups; called after the store has completed rows. 0 or < 0. */
static int detection_take_postponed(Detection *detection) {
        scoped(freep) FoundGroup *groups = TAKE(detection->postponed);
        size_t n = detection->n_postponed;
        int r = 0;

        detection->n_postponed = 0;
        for (size_t i = 0; i < n && r >= 0; i++)
                r = take(detection, &groups[i]);
        return r;
}

static int on_found(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Detection *detection = userdata;

        (void)events;
        assert(source == detection->source && fd == finder_fd(detection->finder));
        return take_all(detection);
}

static void detection_deinit(Detection *detection) {
        detection->source = sd_event_source_disable_unref(detection->source);
        detection->finder = finder_free(detection->finder);
        assert(detection->postponed || detection->n_postponed == 0);
        free(TAKE(detection->postponed));
        detection->n_postponed = 0;
}

/* Replaces the finder by a finder for these patterns; removes it if there are no patterns. 0, or < 0: the finder is
 * unchanged. */
static int detection_configure(Detection *detection, const FinderPattern *patterns, size_t n_patterns) {
        scoped(finder_freep) Finder *finder = NULL;
        sd_event_source *source = NULL;
        int r;

        if (n_patterns > 0) {
                r = finder_new(&finder, detection->lifecycle->groups->tree, patterns, n_patterns);
                if (r >= 0)
                        r = sd_event_add_io(detection->lifecycle->event, &source, finder_fd(finder), EPOLLIN, on_found,
                                            detection);
                if (r < 0)
                        return r;
                (void)sd_event_source_set_exit_on_failure(source, true);
        }

        detection_deinit(detection);
        detection->finder = TAKE(finder);
        detection->source = source;
        return detection->finder ? take_all(detection) : 0;
}

/* --------------------------------------------------------------------------------------------------- */

int job_room_init(JobRoom *room, const JobRoomParts *parts, const char *root) {
        int r;

        *room = (JobRoom){};
        r = jobs_init(&room->jobs);
        if (r >= 0)
                r = groups_init(&room->groups, &room->jobs, root);
        if (r < 0)
                return r;

        identity_init(&room->identity, &room->jobs, room->groups.tree);
        user_names_init(&room->names, root);
        room->lifecycle = (Lifecycle){
                .config = parts->config, .event = parts->event, .node = parts->node, .store = parts->store,
                .shares = parts->shares, .jobs = &room->jobs, .groups = &room->groups, .identity = &room->identity,
                .names = &room->names, .start_realtime_ms = clock_realtime_ns() / NS_PER_MS,
        };
        r = gpu_use_new(&room->gpu_use, root, room->groups.tree);
        room->jobs.gpu_use = room->gpu_use;
        if (r >= 0)
                r = lifecycle_watch_gpus(&room->lifecycle);
        if (r < 0)
                return r;
        room->phases = (Phases){
                .config = parts->config, .node = parts->node, .store = parts->store,
                .jobs = &room->jobs, .identity = &room->identity,
        };
        room->detection = (Detection){ .lifecycle = &room->lifecycle };
        room->checkpoints = (Checkpoints){ .jobs = &room->jobs, .node = parts->node, .store = parts->store };
        return 0;
}

void job_room_deinit(JobRoom *room) {
        detection_deinit(&room->detection);
        phases_deinit(&room->phases);
        user_names_deinit(&room->names);
        identity_deinit(&room->identity);
        jobs_deinit(&room->jobs);
        room->gpu_use = gpu_use_free(room->gpu_use);
        groups_deinit(&room->groups);
}

int job_room_open_totals(JobRoom *room, const char *path) {
        return user_totals_open(&room->jobs.totals, path, room->lifecycle.node->boot_id);
}

int job_room_open_usage(JobRoom *room, const char *path) {
        return usage_file_open(&room->jobs.usage_file, path, room->lifecycle.node->boot_id);
}

int job_room_start(JobRoom *room) {
        assert(room->jobs.n == 0);
        return recovery_run(&room->lifecycle);
}

int job_room_set_patterns(JobRoom *room, const FinderPattern *patterns, size_t n_patterns) {
        return detection_configure(&room->detection, patterns, n_patterns);
}

void job_room_configure(JobRoom *room) {
        user_totals_set_label(&room->jobs.totals, room->lifecycle.config->metrics_totals_label);
}

int job_room_tick(JobRoom *room) {
        int r;

        r = sampling_tick(&room->jobs, room->lifecycle.node);
        if (r >= 0)
                r = lifecycle_tick(&room->lifecycle);
        if (r >= 0)
                energy_shares_divide(&room->jobs, meter_totals(room->lifecycle.node->meter));
        if (r >= 0)
                usage_file_write(&room->jobs.usage_file, room->jobs.first);
        return r;
}

/* --- checkpoints --------------------------------------------------------------------------------- */

#define JOBS_AT_ONCE 64

/* Collects jobs that this round has not put yet, and formats their progress. The caller frees the texts. */
static int collect(const Checkpoints *checkpoints, StoreCheckpoint items[static JOBS_AT_ONCE], size_t *n) {
        for (Job *job = checkpoints->jobs->first; job && *n < JOBS_AT_ONCE; job = job->links.next) {
                char *progress;
                int r;

                if (job->stage != JOB_ACTIVE || job->checkpoint_round == checkpoints->round)
                        continue;
                r = progress_format(job, job->phase, job->n_phases, &progress);
                if (r < 0)
                        return r;

                job->checkpoint_round = checkpoints->round;
                items[(*n)++] = (StoreCheckpoint){ .job = job->info.id, .progress = progress };
        }
        return 0;
}

/* Puts one part with the state of the meter, because windows refer to the meter's totals. The first part may have no
 * jobs. */
static int put_part(Checkpoints *checkpoints, bool is_first) {
        const Node *node = checkpoints->node;
        StoreCheckpoint items[JOBS_AT_ONCE];
        scoped(freep) char *meter = NULL;
        size_t n = 0;
        int r;

        assert(checkpoints->round > 0); /* 0 marks a job that no round has put */

        r = collect(checkpoints, items, &n);
        if (r == 0 && (n > 0 || is_first))
                r = meter_save(node->meter, node->boot_id, &meter);
        if (r == 0 && meter)
                r = store_put(checkpoints->store,
                              job_rows_pack_checkpoints(items, n, node->boot_id, meter, node_realtime_ms(node)));

        /* A full queue ends the round; the next round begins after an interval. */
        checkpoints->is_under_way = r == 0 && n == JOBS_AT_ONCE;
        for (size_t i = 0; i < n; i++)
                free((char *)items[i].progress);
        return r < 0 ? r : 0;
}

/* Begins a round and puts its first part, or with is_whole all parts. Ends a round that is under way. 0 or < 0. */
static int checkpoints_begin(Checkpoints *checkpoints, bool is_whole) {
        int r;

        checkpoints->round++;
        r = put_part(checkpoints, true);
        while (r == 0 && is_whole && checkpoints->is_under_way)
                r = put_part(checkpoints, false);
        return r;
}

/* Puts the next part if a round is under way. 0 or < 0. */
static int checkpoints_continue(Checkpoints *checkpoints) {
        return checkpoints->is_under_way ? put_part(checkpoints, false) : 0;
}

/* A full queue leaves the totals for the next checkpoint. */
static int put_totals(JobRoom *room) {
        UserTotals *totals = &room->jobs.totals;
        scoped(freep) char *text = NULL;
        int r;

        r = user_totals_format(totals, &text);
        if (r != 0)
                return r < 0 ? r : 0;
        r = store_put(room->lifecycle.store, job_rows_pack_totals(text));
        totals->is_changed = r != 0;
        return r < 0 ? r : 0;
}

int job_room_forget_totals(JobRoom *room, uint32_t uid) {
        int r;

        user_totals_forget(&room->jobs.totals, uid);
        r = put_totals(room);
        return r == 0 && room->jobs.totals.is_changed ? STORE_QUEUE_FULL : r;
}

/* The last checkpoint of an orderly stop is followed by a commit of all rows. */
static void catch_up(JobRoom *room, bool is_last) {
        StoreStats stats;

        if (!room->jobs.totals.is_ahead)
                return;
        store_stats(room->lifecycle.store, &stats);
        if (stats.queue_rows == 0 || is_last)
                user_totals_catch_up(&room->jobs.totals);
}

int job_room_checkpoint(JobRoom *room, bool is_last) {
        int r;

        catch_up(room, is_last);
        r = job_watch_sweep(&room->lifecycle);
        if (r >= 0)
                r = put_totals(room);
        return r < 0 ? r : checkpoints_begin(&room->checkpoints, is_last);
}

int job_room_continue(JobRoom *room) {
        int r;

        r = detection_take_postponed(&room->detection);
        return r < 0 ? r : checkpoints_continue(&room->checkpoints);
}

int job_room_publish(const JobRoom *room, JobsSnapshot *ret) {
        int r;

        r = jobs_publish(&room->jobs, room->lifecycle.config->metrics_jobs_max, ret);
        if (r < 0)
                return r;

        ret->n_not_exposed = jobs_count_hidden(&room->jobs.finished.hidden, room->lifecycle.node->sample.boottime_ns,
                                         room->lifecycle.config->metrics_finished_ns);
        ret->shows_created = room->lifecycle.config->metrics_created;
        ret->stats.n_io_lines_skipped = cgroup_tree_devices(room->groups.tree)->n_skipped;
        ret->finder = (FinderStats){};
        if (room->detection.finder)
                finder_stats(room->detection.finder, &ret->finder);
        return 0;
}
