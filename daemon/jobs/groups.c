/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/groups.h"

#include <errno.h>
#include <string.h>

#include "util/clock.h"
#include "util/log.h"

static const char *last_of(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* Where hierarchies of v1 are beside v2's, a group made in one is not made in the others: there the process is where it was. */
static void keep_own(CgroupPlace *place, const char *name) {
        char *const paths[] = { place->v2, place->cpu, place->cpuacct, place->cpuset, place->memory, place->blkio, place->pids };

        for (size_t i = 0; i < N_ELEMENTS(paths); i++)
                if (strcmp(last_of(paths[i]), last_of(name)) != 0)
                        paths[i][0] = '\0';
}

bool groups_find_place(const Service *service, int32_t pid, CgroupPlace *ret) {
        char name[GROUP_NAME_MAX];

        if (pid == 0 || cgroup_place_of(service->cgroups, pid, ret) != 0 || cgroup_place_name(ret, name) != 0)
                return false;

        keep_own(ret, name);
        return true;
}

static void close_group(Job *job) {
        job->events = sd_event_source_disable_unref(job->events);
        job->cgroup = cgroup_free(job->cgroup);
}

static void advance(Job *job, const CgroupSample *sample) {
        usage_advance(job->usage, sample);
        if (job->mark && job->mark->has_usage)
                usage_advance(&job->mark->usage, sample);
}

static int begin_usage(Job *job, const CgroupSample *sample, bool is_fresh) {
        if (job->usage) {
                usage_continue(job->usage, sample);
                if (job->mark && job->mark->has_usage)
                        usage_continue(&job->mark->usage, sample);
                return 0;
        }

        job->usage = calloc(1, sizeof(*job->usage));
        if (!job->usage)
                return -ENOMEM;

        usage_begin(job->usage, sample, is_fresh);
        if (job->mark) {
                usage_begin(&job->mark->usage, sample, is_fresh);
                job->mark->has_usage = true;
        }
        return 0;
}

/* What clients can bring about as often as they like is not said each time. */
static int refuse(Service *service, const Job *job, int error) {
        if (error != 0 && log_limit_pass(&service->log_limit, clock_boottime_ns(), 60 * NS_PER_S, 10))
                log_warning("Cannot follow the cgroup of job '%s', it has the node's numbers only: %s", job->info.id, strerror(-error));
        return GROUPS_REFUSED;
}

/* Opens and reads it once, and puts it into the table. 0, GROUPS_REFUSED or -ENOMEM. */
static int open_group(Service *service, Job *job, const CgroupPlace *place, CgroupSample *ret) {
        scoped(cgroup_freep) Cgroup *cgroup = NULL;
        char name[GROUP_NAME_MAX];
        int r;

        if (cgroup_place_name(place, name) != 0)
                return GROUPS_REFUSED;

        r = cgroup_open(&cgroup, service->cgroups, place);
        if (r == -ENOMEM)
                return r;
        if (r != 0)
                return refuse(service, job, r < 0 ? r : 0);
        if (cgroup_read(cgroup, clock_boottime_ns(), ret) != 0)
                return GROUPS_REFUSED;

        r = jobs_set_group(&service->jobs, job, name);
        if (r != 0)
                return r == JOBS_TAKEN ? GROUPS_REFUSED : r;

        close_group(job);
        job->cgroup = TAKE(cgroup);
        job->group_id = cgroup_id(job->cgroup);
        job->is_empty = false;
        return 0;
}

/* r: whether its usage has begun, or goes on. The kernel's peak is of a group's life: a phase's is told by samples. */
static int follow(Job *job, int r) {
        if (r == 0)
                cgroup_trust_peak(job->cgroup, job->usage->is_fresh && !job->mark);
        return r;
}

int groups_attach(Service *service, Job *job, const CgroupPlace *place, bool is_fresh) {
        CgroupSample sample = {};
        int r;

        r = open_group(service, job, place, &sample);
        return r != 0 ? r : follow(job, begin_usage(job, &sample, is_fresh));
}

int groups_resume(Service *service, Job *job, const CgroupPlace *place) {
        CgroupSample sample = {};
        int r;

        r = open_group(service, job, place, &sample);
        if (r != 0)
                return r;
        if (!job->usage)
                return follow(job, begin_usage(job, &sample, job->info.enclosure == ENCLOSURE_FOUND));

        advance(job, &sample);
        return follow(job, 0);
}

static int take_reading(Job *job, bool is_whole) {
        uint64_t now_ns = clock_boottime_ns();
        CgroupSample sample;

        if (!job->cgroup)
                return job->info.cgroup ? GROUPS_GONE : 0;
        if ((is_whole ? cgroup_read(job->cgroup, now_ns, &sample) : cgroup_glance(job->cgroup, now_ns, &sample)) != 0) {
                close_group(job);
                /* What it counted since the last look is lost, unless nothing ran in it then, or the numbers are made. */
                job->is_usage_cut = job->is_usage_cut || (!job->is_empty && !job->ending);
                return GROUPS_GONE;
        }

        advance(job, &sample);
        return 0;
}

int groups_read(Service *service, Job *job) {
        (void)service;
        return take_reading(job, true);
}

int groups_glance(Service *service, Job *job) {
        (void)service;
        return take_reading(job, false);
}

static void measure(const Service *service, const Job *job, const Usage *usage, UsageSet *ret) {
        const Sample *sample = &service->node.sample;

        usage_metrics(usage, node_n_cpus(&service->node), sample_has(sample, SOURCE_MEMINFO) ? sample->memory.total_bytes : 0, ret);
        if (job->is_usage_cut)
                usage_cut(ret);
}

void groups_metrics(const Service *service, const Job *job, const JobEnd *end, UsageSet *ret) {
        uint64_t end_ms = service->node.sample.realtime_ns / NS_PER_MS;

        if (job->usage)
                measure(service, job, job->usage, ret);
        else if (end && end->has_rusage)
                usage_of_process_tree(end->rusage.ru_utime, end->rusage.ru_stime,
                                      end_ms > job->begin_realtime_ms ? (double)(end_ms - job->begin_realtime_ms) / 1e3 : 0,
                                      node_n_cpus(&service->node), ret);
        else
                usage_none(ret);
}

void groups_phase_metrics(const Service *service, const Job *job, UsageSet *ret) {
        if (job->mark->has_usage)
                measure(service, job, &job->mark->usage, ret);
        else
                usage_none(ret);
}
