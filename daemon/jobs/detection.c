/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/detection.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "jobs/job_watch.h"
#include "util/array.h"

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

int detection_take_postponed(Detection *detection) {
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

void detection_deinit(Detection *detection) {
        detection->source = sd_event_source_disable_unref(detection->source);
        detection->finder = finder_free(detection->finder);
        assert(detection->postponed || detection->n_postponed == 0);
        free(TAKE(detection->postponed));
        detection->n_postponed = 0;
}

int detection_configure(Detection *detection, const FinderPattern *patterns, size_t n_patterns) {
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
