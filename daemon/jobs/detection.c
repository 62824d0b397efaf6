/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/detection.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "jobs/groups.h"
#include "jobs/lifecycle.h"
#include "util/clock.h"
#include "util/log.h"

/* Ids and labels are anybody's choice; whose a group is, only administrators say, or the group itself. */
static bool may_have(const Job *job, const FoundGroup *group) {
        return job->is_group_vouched || job->info.uid == group->owner_uid || (group->has_uid && job->info.uid == group->uid);
}

/* The newest, since an earlier run of a job that was requeued may never have been ended. */
static Job *find_announced(const Service *service, const FoundGroup *group) {
        for (Job *job = service->jobs.last; job; job = job->previous)
                if (found_group_is_of(group, &job->info) && may_have(job, group))
                        return job;
        return NULL;
}

static int attach(Service *service, Job *job, const FoundGroup *group) {
        int r;

        r = groups_attach(service, job, &group->place, true);
        if (r != 0)
                return r == GROUPS_REFUSED ? 0 : r;

        job->info.enclosure = ENCLOSURE_FOUND;
        job->is_group_vouched = true;
        r = lifecycle_put_learned(service, job, (StoreCookie){});
        if (r < 0)
                return r;
        job->is_learned_due = r == STORE_QUEUE_FULL; /* ticks try again */
        if (job->phase == JOB_PHASE_ACTIVE)
                job_drop_ending(job);
        return lifecycle_watch_group(service, job);
}

static void say_refused(Service *service, const FoundGroup *group, const char *why) {
        if (log_limit_pass(&service->log_limit, clock_boottime_ns(), 60 * NS_PER_S, 10))
                log_warning("Cannot follow job '%s', found by pattern %s: %s", group->job, group->pattern, why);
}

static int begin(Service *service, const FoundGroup *group) {
        JobInfo info = {
                .uid = group->has_uid ? group->uid : JOB_UID_UNKNOWN,
                .gid = JOB_UID_UNKNOWN,
                .rank = -1,
                .node = -1,
                .enclosure = ENCLOSURE_FOUND,
        };
        int r;

        memcpy(info.id, group->job, sizeof(info.id));
        r = lifecycle_begin_found(service, &info, &group->place);
        if (r == LIFECYCLE_REFUSED && service->jobs.n >= service->config.jobs.jobs_max)
                say_refused(service, group, "limit [limits] jobs is reached");
        return r < 0 ? r : 0;
}

static int postpone(Service *service, const FoundGroup *group) {
        FoundGroup *groups = reallocarray(service->postponed, service->n_postponed + 1, sizeof(*groups));

        if (!groups)
                return -ENOMEM;
        service->postponed = groups;
        service->postponed[service->n_postponed++] = *group;
        return 0;
}

static int take(Service *service, const FoundGroup *group) {
        char name[GROUP_NAME_MAX];
        Job *job;

        if (cgroup_place_name(&group->place, name) != 0)
                return 0;

        job = jobs_find_group(&service->jobs, name);
        if (job && job->cgroup && groups_read(service, job) != GROUPS_GONE)
                return 0; /* followed already: its owner brought it with its begin */
        if (!job)
                job = find_announced(service, group);
        if (!job)
                return begin(service, group);
        if (job->cgroup)
                return 0;
        return job->phase == JOB_PHASE_ENDING ? postpone(service, group) : attach(service, job, group);
}

/* What the step used is read while it can be. */
static int take_step_end(Service *service, const CgroupPlace *place) {
        char name[GROUP_NAME_MAX];
        Job *job = cgroup_place_name(place, name) == 0 ? jobs_find_group(&service->jobs, name) : NULL;

        return job && job->cgroup && !job->ending ? lifecycle_look_at_group(service, job) : 0;
}

static int take_all(Service *service) {
        CgroupPlace place;
        FoundGroup group;
        int r;

        r = finder_scan(service->finder);
        while (r >= 0 && finder_next(service->finder, &group) == 0)
                r = take(service, &group);
        while (r >= 0 && finder_next_step_end(service->finder, &place) == 0)
                r = take_step_end(service, &place);
        return r < 0 ? r : 0;
}

int detection_take_postponed(Service *service) {
        scoped(freep) FoundGroup *groups = TAKE(service->postponed);
        size_t n = service->n_postponed;
        int r = 0;

        service->n_postponed = 0;
        for (size_t i = 0; i < n && r >= 0; i++)
                r = take(service, &groups[i]);
        return r;
}

static int on_found(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        (void)source;
        (void)fd;
        (void)events;
        return take_all(userdata);
}

void detection_deinit(Service *service) {
        service->found = sd_event_source_disable_unref(service->found);
        service->finder = finder_free(service->finder);
        free(TAKE(service->postponed));
        service->n_postponed = 0;
}

int detection_configure(Service *service) {
        scoped(finder_freep) Finder *finder = NULL;
        FinderPattern patterns[CONFIG_PATTERNS_MAX];
        sd_event_source *found = NULL;
        size_t n;
        int r;

        n = config_patterns(&service->config.patterns, patterns);
        if (n > 0) {
                r = finder_new(&finder, service->cgroups, patterns, n);
                if (r < 0)
                        return r;
                r = sd_event_add_io(service->event, &found, finder_fd(finder), EPOLLIN, on_found, service);
                if (r < 0)
                        return r;
                (void)sd_event_source_set_exit_on_failure(found, true);
        }

        detection_deinit(service);
        service->finder = TAKE(finder);
        service->found = found;
        return service->finder ? take_all(service) : 0;
}
