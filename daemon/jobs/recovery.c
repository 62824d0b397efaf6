/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/recovery.h"

#include <errno.h>
#include <string.h>

#include "jobs/groups.h"
#include "jobs/lifecycle.h"
#include "jobs/process_watch.h"
#include "jobs/progress.h"
#include "store/jobs/job_recovery.h"
#include "store/jobs/job_rows.h"
#include "util/clock.h"
#include "util/log.h"

/* What was counted up to the last checkpoint is at least so much. */
static void measure_lost(const Service *service, Progress *progress, MetricSet *ret_metrics, UsageSet *ret_usage) {
        progress->window.lost = true;
        window_metrics(&progress->window, meter_totals(service->node.meter), 1, ret_metrics);
        /* perf.py's own reading cannot be told without the moment it would have reported. */
        memset(ret_metrics->has_compat, 0, sizeof(ret_metrics->has_compat));

        if (!progress->has_usage) {
                usage_none(ret_usage);
                return;
        }
        usage_metrics(&progress->usage, node_n_cpus(&service->node), 0, ret_usage);
        usage_cut(ret_usage);
}

/* Closes a job with what the last checkpoint knew. Nothing later can be said of it. */
static int close_lost(Service *service, const RecoveredJob *recovered, Progress *progress, uint64_t end_ms, const char *note) {
        const JobEnd end = {};
        MetricSet metrics;
        UsageSet usage;
        StoreJobEnd row = {
                .job = recovered->info.id, .state = JOB_INTERRUPTED, .end_realtime_ms = end_ms, .end = &end,
                .note = note, .metrics = &metrics, .usage = &usage,
        };
        PhaseView phase;
        int r;

        measure_lost(service, progress, &metrics, &usage);
        if (progress->has_phase) {
                phase = (PhaseView){
                        .index = progress->phase.index,
                        .begin_realtime_ms = progress->phase.begin_realtime_ms,
                        .end_realtime_ms = end_ms,
                };
                memcpy(phase.name, progress->phase.name, sizeof(phase.name));
                progress->window = progress->phase.window;
                progress->usage = progress->phase.usage;
                progress->has_usage = progress->phase.has_usage;
                measure_lost(service, progress, &phase.metrics, &phase.usage);
                row.phase = &phase;
        }

        r = store_put(service->store, job_rows_pack_end(&row, (StoreCookie){}));
        service->jobs.stats.n_interrupted++;
        return r == STORE_QUEUE_FULL ? 0 : r; /* more jobs than the queue holds: the next start closes the rest */
}

static void say_gap(Job *job, const RecoveredJob *recovered) {
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS;
        uint64_t gap_ms = now_ms > recovered->checkpoint_realtime_ms ? now_ms - recovered->checkpoint_realtime_ms : 0;
        char note[160];

        (void)snprintf(note, sizeof(note),
                       "perfd restarted: totals are exact, but peaks, threshold times and the timeline miss %.1f s", (double)gap_ms / 1e3);
        (void)job_description_set_note(&job->info, note);
}

/* From the checkpoint into the table: its windows, its own usage, its phase. */
static int take_up(Service *service, const RecoveredJob *recovered, const Progress *progress, Job **ret) {
        Job *job;
        int r;

        r = jobs_add(&service->jobs, &recovered->info, &job);
        if (r < 0)
                return r;

        job->phase = JOB_PHASE_ACTIVE;
        job->window = progress->window;
        job->begin_realtime_ms = recovered->begin_realtime_ms;
        job->is_announced = progress->is_announced;
        job->is_usage_cut = progress->is_usage_cut;
        job->is_group_vouched = progress->is_group_vouched;
        job->group_id = progress->group_id;
        job->n_phases = progress->n_phases;
        recording_init(&job->recording, clock_boottime_ns(), clock_realtime_ns(), service->config.node.interval_ns,
                      service->config.jobs.timeline_points);

        if (progress->has_usage) {
                job->usage = malloc(sizeof(*job->usage));
                if (!job->usage)
                        return -ENOMEM;
                *job->usage = progress->usage;
        }
        if (progress->has_phase) {
                job->mark = malloc(sizeof(*job->mark));
                if (!job->mark)
                        return -ENOMEM;
                *job->mark = progress->phase;
        }

        *ret = job;
        return 0;
}

#define REMADE_NOTE "its cgroup was made anew while perfd was down: what the one before used after the last checkpoint is missing"

/* What its group is now. */
typedef enum GroupState {
        GROUP_NONE,   /* it is gone, or never was */
        GROUP_SAME,
        GROUP_REMADE, /* another one of that name, which counts from its making */
} GroupState;

static int follow(Service *service, Job *job, GroupState state, const CgroupPlace *place) {
        int r;

        switch (state) {
        case GROUP_NONE:
                return 0;
        case GROUP_SAME:
                r = groups_resume(service, job, place);
                return r < 0 ? r : 0;
        case GROUP_REMADE:
                job->is_usage_cut = true;
                (void)job_description_set_note(&job->info, REMADE_NOTE);
                r = groups_attach(service, job, place, true);
                return r < 0 ? r : 0;
        }

        return 0;
}

static int go_on(Service *service, const RecoveredJob *recovered, const Progress *progress, GroupState state,
                 const CgroupPlace *place) {
        Job *job;
        int r;

        r = take_up(service, recovered, progress, &job);
        if (r < 0)
                return r;

        say_gap(job, recovered);
        r = follow(service, job, state, place);
        if (r < 0)
                return r;

        r = lifecycle_watch(service, job);
        if (r == LIFECYCLE_GONE)
                job->is_process_gone = job->cgroup; /* which goes on; without one the first sweep closes the job */
        return r < 0 ? r : 0;
}

/*
 * Whether a group that was made anew is the same job's, as it would be with perfd there: a scheduler's next step, in time. A
 * group that was made for a job by whoever began it has no other of that job's after it.
 */
static bool may_be_next(const Service *service, const RecoveredJob *recovered, const Progress *progress) {
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS;

        return recovered->info.enclosure == ENCLOSURE_FOUND &&
               (progress->is_announced || now_ms < recovered->checkpoint_realtime_ms + service->config.jobs.linger_ns / NS_PER_MS);
}

static GroupState find_group(const Service *service, const RecoveredJob *recovered, const Progress *progress, CgroupPlace *ret) {
        scoped(cgroup_freep) Cgroup *cgroup = NULL;

        if (!recovered->info.cgroup || cgroup_place_named(recovered->info.cgroup, ret) != 0 ||
            cgroup_open(&cgroup, service->cgroups, ret) != 0)
                return GROUP_NONE;
        if (progress->group_id == 0 || progress->group_id == cgroup_id(cgroup))
                return GROUP_SAME;
        return may_be_next(service, recovered, progress) ? GROUP_REMADE : GROUP_NONE;
}

static int recover_job(Service *service, const JobRecovery *recovery, const RecoveredJob *recovered, bool same_boot) {
        CgroupPlace place;
        Progress progress;
        GroupState state;

        if (progress_parse(recovered->progress ? recovered->progress : "", &progress) != 0) {
                log_warning("Job '%s' has an unreadable checkpoint, closing it as interrupted without numbers.", recovered->info.id);
                progress = (Progress){ .window.lost = true };
        }

        if (!same_boot)
                return close_lost(service, recovered, &progress, recovery->meter_realtime_ms,
                                  "the machine was rebooted: totals end at the last checkpoint before");

        state = find_group(service, recovered, &progress, &place);
        if (state != GROUP_NONE)
                return go_on(service, recovered, &progress, state, &place);
        if (recovered->info.cgroup && progress.has_usage)
                return close_lost(service, recovered, &progress, recovery->meter_realtime_ms,
                                  "it ended while perfd was down: totals end at the last checkpoint before");
        if (!process_watch_is_alive(&service->node, recovered->info.pid, recovered->info.pid_start_ticks))
                return close_lost(service, recovered, &progress, recovery->meter_realtime_ms,
                                  "its process ended while perfd was down: totals end at the last checkpoint before");
        return go_on(service, recovered, &progress, GROUP_NONE, NULL);
}

/* 0: goes on in the same boot. Else a positive outcome of meter_restore(). */
static int restore_meter(Service *service, const JobRecovery *recovery) {
        if (!recovery->meter)
                return METER_MALFORMED;
        return meter_restore(service->node.meter, recovery->meter, service->node.boot_id);
}

/* The account of another boot was good for closing its jobs; this boot's begins at nothing. */
static int new_meter(Service *service) {
        meter_free(TAKE(service->node.meter));
        return meter_new(&service->node.meter, service->config.node.interval_ns);
}

int recovery_run(Service *service) {
        scoped(job_recovery_freep) JobRecovery *recovery = NULL;
        int restored, r;

        r = job_recovery_read(store_is_late(service->store) ? NULL : store_path(service->store), &recovery);
        if (r < 0)
                return r;

        restored = restore_meter(service, recovery);
        if (restored < 0)
                return restored;

        for (size_t i = 0; i < recovery->n_jobs; i++) {
                r = recover_job(service, recovery, &recovery->jobs[i], restored == 0);
                if (r < 0)
                        return r;
        }

        if (recovery->n_jobs > 0)
                log_notice("Took up %zu of %zu jobs that were running when perfd last stopped; the others are closed as interrupted.",
                           service->jobs.n, recovery->n_jobs);

        /* Without jobs nothing hangs on the old account. */
        return restored != 0 || service->jobs.n == 0 ? new_meter(service) : 0;
}
