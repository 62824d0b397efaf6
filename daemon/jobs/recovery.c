/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/recovery.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "jobs/energy_shares.h"
#include "jobs/job_end.h"
#include "jobs/job_watch.h"
#include "jobs/progress.h"
#include "store/jobs/job_reader.h"
#include "util/clock.h"

/* State of the node when perfd was last running. */
typedef struct Before {
        Totals totals; /* at the last sample */
        uint64_t realtime_ms;
        bool is_same_boot;
} Before;

static void note_gap(Job *job, const RecoveredJob *recovered) {
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS;
        uint64_t gap_ms = now_ms > recovered->checkpoint_realtime_ms ? now_ms - recovered->checkpoint_realtime_ms : 0;
        char note[160];

        (void)snprintf(note, sizeof(note),
                       "perfd restarted: totals are exact, but peaks, threshold times and the timeline lack %.1f "
                       "s", (double)gap_ms / 1e3);
        running_job_set_note(job, note);
}

/* Adds a job with the windows, usage and phase of its checkpoint, whose GPUs are moved. */
static int restore_job(Lifecycle *lifecycle, const RecoveredJob *recovered, Progress *progress, Job **ret) {
        Job *job;
        int r;

        r = jobs_add(lifecycle->jobs, &recovered->info, &progress->window.begin, &job);
        if (r < 0)
                return r;
        job->origin = (JobOrigin){ .uid = recovered->begun_by,
                                   .is_admin = recovered->is_by_admin || recovered->begun_by == 0 };
        r = lifecycle_charge_again(lifecycle->shares, recovered->info.pid != 0 || recovered->info.cgroup, &job->origin);
        if (r < 0)
                return r;

        job->stage = JOB_ACTIVE;
        job->peaks = progress->window.peaks;
        job->begin_realtime_ms = recovered->begin_realtime_ms;
        job->is_announced = progress->is_announced;
        job->group.is_usage_cut = progress->is_usage_cut;
        job->group.is_vouched = progress->is_group_vouched;
        job->group.id = progress->group_id;
        job->readings = (JobReadings){ progress->cpu_interval_ns, progress->is_cpu_interval_granted };
        job->n_phases = progress->n_phases;
        job->gpus = progress->gpus;
        progress->gpus = (JobGpus){};
        sample_log_span_begin(&job->samples, &lifecycle->jobs->samples, clock_realtime_ns() / NS_PER_MS);
        recording_init(&job->recording, clock_boottime_ns(), clock_realtime_ns(), lifecycle->node->config.interval_ns,
                       lifecycle->config->timeline_points);

        if (progress->has_usage) {
                job->group.usage = malloc(sizeof(*job->group.usage));
                if (!job->group.usage)
                        return -ENOMEM;
                *job->group.usage = progress->usage;
        }
        r = steps_restore(&job->group.steps, &progress->steps);
        if (r < 0)
                return r;
        if (progress->has_phase) {
                job->phase = malloc(sizeof(*job->phase));
                if (!job->phase)
                        return -ENOMEM;
                *job->phase = progress->phase;
        }

        *ret = job;
        return 0;
}

#define REMADE_NOTE                                                                                                    \
        "its cgroup was recreated while perfd was down; usage of the former cgroup after the last kept sample is "     \
        "missing"

/* State of a job's cgroup after the restart. */
typedef enum GroupState {
        GROUP_NONE,   /* the cgroup was removed, or the job had none */
        GROUP_SAME,
        GROUP_REMADE, /* the cgroup was removed and recreated with the same name; its counters began at zero */
} GroupState;

static int resume_group(Lifecycle *lifecycle, Job *job, GroupState state, const CgroupPlace *place) {
        int r;

        switch (state) {
        case GROUP_NONE:
                return 0;
        case GROUP_SAME:
                r = groups_resume(lifecycle->groups, job, place);
                return r < 0 ? r : 0;
        case GROUP_REMADE:
                job->group.is_usage_cut = true;
                running_job_set_note(job, REMADE_NOTE);
                r = groups_attach(lifecycle->groups, job, place, true);
                return r < 0 ? r : 0;
        }

        return 0;
}

#define OVER_NOTE "the job ended while perfd was down; the metrics of the node end at the last sample before"

/* True if no process of the job is left. A group in which none has run yet waits for the first. */
static bool is_over(const Job *job) {
        return job->group.cgroup && !cgroup_is_populated(job->group.cgroup) && groups_has_run(job);
}

/* Counters that were read after the outage are of a time at which the job was over. */
static void end_usage(Usage *usage, const Totals *last) {
        if (usage->last.boottime_ns > last->boottime_ns && usage->begin.boottime_ns <= last->boottime_ns)
                usage->last.boottime_ns = last->boottime_ns;
}

/*
 * Ends a job at the last sample before the outage. A detected job may continue in its cgroup; a job without a
 * process waits for the report of its end, as long as any job without a process does.
 */
static int end_before(Lifecycle *lifecycle, Job *job, const Before *before, const char *note) {
        int r;

        if (job->group.usage)
                end_usage(job->group.usage, &before->totals);
        if (job->phase && job->phase->has_usage)
                end_usage(&job->phase->usage, &before->totals);
        running_job_set_note(job, note);
        job->group.is_empty = true;
        r = job_end_make_before(job, lifecycle->node, &before->totals, before->realtime_ms);
        if (r < 0)
                return r;

        r = job_watch_start(lifecycle, job);
        job->process.is_gone = r == JOB_WATCH_GONE;
        return r < 0 ? r : 0;
}

static int resume(Lifecycle *lifecycle, const RecoveredJob *recovered, Progress *progress, const Before *before,
                  GroupState state, const CgroupPlace *place) {
        Job *job;
        int r;

        assert(place || state == GROUP_NONE);

        r = restore_job(lifecycle, recovered, progress, &job);
        if (r < 0)
                return r;

        note_gap(job, recovered);
        r = resume_group(lifecycle, job, state, place);
        if (r < 0)
                return r;
        if (state == GROUP_SAME && is_over(job))
                return end_before(lifecycle, job, before, OVER_NOTE);

        r = job_watch_start(lifecycle, job);
        if (r == JOB_WATCH_GONE)
                job->process.is_gone = job->group.cgroup; /* the first sweep closes a job without a cgroup */
        return r < 0 ? r : 0;
}

/* Closes a job that is over, and whose cgroup does not exist any more. */
static int close_over(Lifecycle *lifecycle, const RecoveredJob *recovered, Progress *progress,
                      const Before *before, const char *note) {
        Job *job;
        int r;

        r = restore_job(lifecycle, recovered, progress, &job);
        if (r < 0)
                return r;

        job->group.is_usage_cut = job->group.usage;
        r = end_before(lifecycle, job, before, note);
        if (r < 0)
                return r;
        job->final->state = JOB_INTERRUPTED;
        job->final->boottime_ns = 0; /* does not wait for a report, which can also come later */
        r = job_end_put(job, lifecycle->store, (StoreCookie){});
        if (r != 0)
                return r < 0 ? r : 0; /* without room in the queue, the next tick puts it */

        /* A cgroup of the same name is another job's, and may be detected before the end is stored. */
        lifecycle->jobs->stats.n_interrupted++;
        user_totals_add_queued(&lifecycle->jobs->totals, &job->info, &job->final->result.usage);
        jobs_remove(lifecycle->jobs, job);
        return 0;
}

/*
 * Returns true if a recreated cgroup continues the job, as the next step of a scheduler's job does: the job was
 * detected, and its checkpoint is not older than the time for which perfd waits for an end request. A job that a
 * client began has only one cgroup.
 */
static bool may_be_next(const JobsConfig *config, const RecoveredJob *recovered, const Progress *progress) {
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS;

        return recovered->info.isolation == ISOLATION_FOUND &&
               (progress->is_announced || now_ms < recovered->checkpoint_realtime_ms + config->linger_ns / NS_PER_MS);
}

static GroupState find_group(const Lifecycle *lifecycle, const RecoveredJob *recovered, const Progress *progress,
                             CgroupPlace *ret) {
        scoped(cgroup_freep) Cgroup *cgroup = NULL;

        if (!recovered->info.cgroup || cgroup_tree_place_from_name(recovered->info.cgroup, ret) != 0 ||
            cgroup_open(&cgroup, lifecycle->groups->tree, ret) != 0)
                return GROUP_NONE;
        if (progress->group_id == 0 || progress->group_id == cgroup_id(cgroup))
                return GROUP_SAME;
        return may_be_next(lifecycle->config, recovered, progress) ? GROUP_REMADE : GROUP_NONE;
}

/* Continues with the counters of the latest tick, which may be those of a cgroup that was removed or recreated since
 * the checkpoint. */
static void use_former(const UsageFile *file, const RecoveredJob *recovered, Progress *progress) {
        FormerUsage group;

        if (!usage_file_find(file, recovered->info.id, recovered->begin_realtime_ms, &group))
                return;
        if (progress->has_usage) {
                if (group.usage.last.boottime_ns <= progress->usage.last.boottime_ns)
                        return;
                /* the peak rate is that of the checkpoint */
                group.usage.has_cpu_max = progress->usage.has_cpu_max;
                group.usage.cpu_max = progress->usage.cpu_max;
        }
        progress->usage = group.usage;
        progress->has_usage = true;
        progress->is_usage_cut = group.is_usage_cut;
        progress->group_id = group.id;
}

static int recover_job(Lifecycle *lifecycle, const RecoveredJob *recovered, const Before *before) {
        bool is_same_boot = before->is_same_boot && recovered->boot_id &&
                            strcmp(recovered->boot_id, lifecycle->node->boot_id) == 0;
        scoped(progress_deinit) Progress progress = {};
        CgroupPlace place;
        GroupState state;

        if (progress_parse(recovered->progress ? recovered->progress : "", &progress) != 0) {
                const LogField fields[] = { LOG_TEXT("PERFD_JOB", recovered->info.id),
                                            LOG_NUMBER("PERFD_UID", recovered->info.uid),
                                            {} };

                log_for_user(&lifecycle->log_limits.unreadable, recovered->info.uid, LOG_LEVEL_WARNING, fields,
                            "Job '%s' has an unreadable checkpoint, closing it as interrupted without "
                            "numbers.", recovered->info.id);
                progress = (Progress){ .window.peaks.lost = true };
        }

        if (!is_same_boot)
                return close_over(lifecycle, recovered, &progress, before,
                                  JOB_REBOOT_NOTE "; totals end at the last checkpoint");

        use_former(&lifecycle->jobs->usage_file, recovered, &progress);
        state = find_group(lifecycle, recovered, &progress, &place);
        if (state != GROUP_NONE)
                return resume(lifecycle, recovered, &progress, before, state, &place);
        if (recovered->info.cgroup && progress.has_usage)
                return close_over(lifecycle, recovered, &progress, before,
                                  OVER_NOTE
                                  ", and those of the job at the last kept sample, because its cgroup was removed");
        if (!job_watch_is_alive(lifecycle->node, recovered->info.pid, recovered->info.pid_start_ticks))
                return close_over(lifecycle, recovered, &progress, before, OVER_NOTE);
        return resume(lifecycle, recovered, &progress, before, GROUP_NONE, NULL);
}

/* Restores the meter of the store. 0: the totals continue in the same boot. Otherwise a positive outcome of
 * meter_restore(), or < 0. */
static int restore_meter(Node *node, const JobRecovery *recovery) {
        if (!recovery->meter)
                return METER_MALFORMED;
        return meter_restore(node->meter, recovery->meter, node->boot_id);
}

/*
 * Continues with the account that was kept at the last sample. If it is damaged, the store's account may be older
 * than what was shown on /metrics, so that only jobs, whose windows refer to it, make it continue.
 */
static int restore_account(Node *node, bool has_jobs) {
        int r;

        r = node_restore_account(node);
        if (r != NODE_ACCOUNT_DAMAGED)
                return r < 0 ? r : 0;

        log_warning("The account of the node in the runtime directory is damaged: %s.",
                    has_jobs ? "continuing from the last checkpoint in the database" : "beginning a new one");
        return has_jobs ? 0 : node_reset_meter(node);
}

/* Restores the account of the node, and takes the first sample. */
static int restore_node(Node *node, const JobRecovery *recovery, Before *ret) {
        int restored, r;

        restored = restore_meter(node, recovery);
        r = restored == 0 ? restore_account(node, recovery->n_jobs > 0) : restored;
        if (r < 0)
                return r;

        *ret = (Before){ .totals = *meter_totals(node->meter), .is_same_boot = restored == 0 };
        ret->realtime_ms = ret->totals.realtime_ns > 0 ? ret->totals.realtime_ns / NS_PER_MS
                                                       : recovery->meter_realtime_ms;
        /* No window refers to the meter of another boot: a new meter starts at zero, or with the account of this
         * boot. */
        r = restored == 0 ? 0 : node_reset_meter(node);
        if (r == 0 && restored != 0)
                r = restore_account(node, false);
        return r < 0 ? r : node_sample(node, 0);
}

int recovery_run(Lifecycle *lifecycle) {
        scoped(job_reader_free_recoveryp) JobRecovery *recovery = NULL;
        size_t n_running = 0;
        Before before;
        int r;

        assert(lifecycle->jobs->n == 0);

        r = job_reader_recover(store_is_late(lifecycle->store) ? NULL : store_path(lifecycle->store),
                              store_wal_barrier(lifecycle->store), &recovery);
        if (r == 0)
                r = restore_node(lifecycle->node, recovery, &before);
        if (r >= 0)
                r = user_totals_restore(&lifecycle->jobs->totals, recovery->totals);
        if (r < 0)
                return r;

        user_totals_set_label(&lifecycle->jobs->totals, lifecycle->config->metrics_totals_label);
        for (size_t i = 0; i < recovery->n_jobs; i++) {
                r = recover_job(lifecycle, &recovery->jobs[i], &before);
                if (r < 0)
                        return r;
        }
        usage_file_forget(&lifecycle->jobs->usage_file);
        if (before.is_same_boot)
                energy_shares_begin(&lifecycle->jobs->energy, &before.totals);

        for (const Job *job = lifecycle->jobs->first; job; job = job->links.next)
                n_running += !job->final;
        if (recovery->n_jobs > 0)
                log_notice("Resumed %zu of %zu jobs that were running when perfd last stopped; the others ended "
                           "meanwhile.",
                           n_running, recovery->n_jobs);
        return 0;
}
