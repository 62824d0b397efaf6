/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/groups.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "util/clock.h"

int groups_init(Groups *groups, Jobs *jobs, const char *root) {
        int r;

        *groups = (Groups){ .jobs = jobs };
        r = cgroup_tree_new(&groups->tree, root);
        if (r < 0 || cgroup_tree_is_mounted(groups->tree) || strcmp(root, "/") == 0)
                return r;

        groups->tree = cgroup_tree_free(groups->tree);
        return cgroup_tree_new(&groups->tree, "/");
}

void groups_deinit(Groups *groups) {
        groups->tree = cgroup_tree_free(groups->tree);
}

/* Drops the hierarchies (v1 beside v2) in which the cgroup does not exist: there the process is still in its former
 * cgroup. */
static void drop_other_places(CgroupPlace *place, const char *name) {
        char *const paths[] = { place->v2,     place->cpu,   place->cpuacct, place->cpuset,
                                place->memory, place->blkio, place->pids };

        for (size_t i = 0; i < N_ELEMENTS(paths); i++)
                if (strcmp(basename(paths[i]), basename(name)) != 0)
                        paths[i][0] = '\0';
}

bool groups_find_place(const Groups *groups, int32_t pid, CgroupPlace *ret) {
        char name[GROUP_NAME_MAX];

        if (pid == 0 || cgroup_tree_find_process(groups->tree, pid, ret) != 0 || cgroup_tree_place_name(ret, name) != 0)
                return false;

        drop_other_places(ret, name);
        return true;
}

static void close_group(Job *job) {
        job->group.events = sd_event_source_disable_unref(job->group.events);
        job->group.cgroup = cgroup_free(job->group.cgroup);
}

#define SEARCHES 2U

/* Before the job, so that no step has used more than its job. */
static void read_steps(Job *job, bool is_whole, uint64_t now_ns) {
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS;

        if (is_whole || steps_may_grow(job->group.steps, now_ms))
                job->group.n_searches = SEARCHES;
        if (job->group.n_searches > 0) {
                job->group.n_searches--;
                steps_find(&job->group.steps, cgroup_tree(job->group.cgroup), job->info.cgroup, now_ms);
        }
        steps_read(job->group.steps, now_ns, now_ms);
}

static void advance(Job *job, const CgroupSample *sample) {
        usage_advance(job->group.usage, sample);
        if (job->phase && job->phase->has_usage)
                usage_advance(&job->phase->usage, sample);
}

static int begin_usage(Job *job, const CgroupSample *sample, bool is_fresh) {
        if (job->group.usage) {
                usage_continue(job->group.usage, sample);
                if (job->phase && job->phase->has_usage)
                        usage_continue(&job->phase->usage, sample);
                return 0;
        }

        job->group.usage = calloc(1, sizeof(*job->group.usage));
        if (!job->group.usage)
                return -ENOMEM;

        usage_begin(job->group.usage, sample, is_fresh);
        if (job->phase) {
                usage_begin(&job->phase->usage, sample, is_fresh);
                job->phase->has_usage = true;
        }
        return 0;
}

/* Limits the rate of the message, because clients can cause any number of failures. */
static int refuse(Groups *groups, const Job *job, int error) {
        const LogField fields[] = { LOG_TEXT("PERFD_JOB", job->info.id),
                                    LOG_NUMBER("PERFD_UID", job->info.uid), LOG_NUMBER("ERRNO", -error), {} };

        if (error != 0)
                log_for_user(&groups->log_limits, job->info.uid, LOG_LEVEL_WARNING, fields,
                            "Cannot read the cgroup of job '%s', recording the node's metrics only: "
                            "%s", job->info.id, strerror(-error));
        return GROUPS_REFUSED;
}

/* Opens the cgroup, reads it once and enters it in the table of jobs. 0, GROUPS_REFUSED or -ENOMEM. */
static int open_group(Groups *groups, Job *job, const CgroupPlace *place, CgroupSample *ret) {
        scoped(cgroup_freep) Cgroup *cgroup = NULL;
        char name[GROUP_NAME_MAX];
        int r;

        if (cgroup_tree_place_name(place, name) != 0)
                return GROUPS_REFUSED;

        r = cgroup_open(&cgroup, groups->tree, place);
        if (r == -ENOMEM)
                return r;
        if (r != 0)
                return refuse(groups, job, r < 0 ? r : 0);
        if (cgroup_read(cgroup, clock_boottime_ns(), ret) != 0)
                return GROUPS_REFUSED;

        r = jobs_set_group(groups->jobs, job, name);
        if (r != 0)
                return r == JOBS_TAKEN ? GROUPS_REFUSED : r;

        assert(job->info.cgroup && strcmp(job->info.cgroup, name) == 0);
        close_group(job);
        job->group.cgroup = TAKE(cgroup);
        job->group.id = cgroup_id(job->group.cgroup);
        job->group.is_empty = false;
        read_steps(job, true, ret->boottime_ns);
        return 0;
}

/* The kernel's memory peak covers the cgroup's whole life: it replaces samples only for a fresh cgroup of a job
 * without phases. */
static void choose_peak(Job *job) {
        assert(job->group.cgroup && job->group.usage);
        cgroup_trust_peak(job->group.cgroup, job->group.usage->is_fresh && !job->phase);
}

/* Opens the cgroup and begins or continues its usage. 0, GROUPS_REFUSED or -ENOMEM. */
static int attach(Groups *groups, Job *job, const CgroupPlace *place, bool is_fresh, bool is_same) {
        CgroupSample sample = {};
        int r;

        r = open_group(groups, job, place, &sample);
        if (r != 0)
                return r;

        if (is_same)
                advance(job, &sample);
        else {
                r = begin_usage(job, &sample, is_fresh);
                if (r < 0)
                        return r;
        }
        choose_peak(job);
        return 0;
}

int groups_attach(Groups *groups, Job *job, const CgroupPlace *place, bool is_fresh) {
        return attach(groups, job, place, is_fresh, false);
}

int groups_resume(Groups *groups, Job *job, const CgroupPlace *place) {
        return attach(groups, job, place, job->info.isolation == ISOLATION_FOUND, job->group.usage);
}

static int read_group(Job *job, bool is_whole) {
        uint64_t now_ns = clock_boottime_ns();
        CgroupSample sample;

        assert(job->group.cgroup || !job->group.events);

        if (!job->group.cgroup)
                return job->info.cgroup ? GROUPS_GONE : 0;
        read_steps(job, is_whole, now_ns);
        if ((is_whole ? cgroup_read(job->group.cgroup, now_ns, &sample)
                      : cgroup_refresh(job->group.cgroup, now_ns, &sample)) != 0) {
                close_group(job);
                /* Counters since the last reading are lost, unless the cgroup was empty, or the totals are already
                 * final. */
                job->group.is_usage_cut = job->group.is_usage_cut || (!job->group.is_empty && !job->final);
                return GROUPS_GONE;
        }

        advance(job, &sample);
        return 0;
}

int groups_read(Job *job) {
        return read_group(job, true);
}

int groups_refresh(Job *job) {
        return read_group(job, false);
}

/* A new cgroup is empty: an empty cgroup ends a job only after a process has run in it. */
bool groups_has_run(const Job *job) {
        const Usage *usage = job->group.usage;

        return usage && (usage->last.usage_us > 0 || usage->pids_max > 0);
}

static void usage_of_group(const Job *job, const Node *node, const Usage *usage, UsageSet *ret) {
        usage_metrics(usage, node_n_cpus(node), node_memory_bytes(node), ret);
        if (job->group.is_usage_cut)
                usage_cut(ret);
}

void groups_exclude(Job *job, const ClientCpu *cpu) {
        if (job->group.usage)
                usage_exclude(job->group.usage, cpu);
        if (job->phase && job->phase->has_usage)
                usage_exclude(&job->phase->usage, cpu);
}

void groups_metrics(const Job *job, const Node *node, const JobEnd *end, UsageSet *ret) {
        uint64_t end_ms = node_realtime_ms(node);

        if (job->group.usage)
                usage_of_group(job, node, job->group.usage, ret);
        else if (end && end->has_rusage)
                usage_of_process_tree(
                        &(ProcessTree){ end->rusage.ru_utime, end->rusage.ru_stime, end->is_rusage_partial },
                        end_ms > job->begin_realtime_ms ? (double)(end_ms - job->begin_realtime_ms) / 1e3 : 0,
                        node_n_cpus(node), ret);
        else
                usage_none(ret);
}

void groups_phase_metrics(const Job *job, const Node *node, UsageSet *ret) {
        assert(job->phase);

        if (job->phase->has_usage)
                usage_of_group(job, node, &job->phase->usage, ret);
        else
                usage_none(ret);
}
