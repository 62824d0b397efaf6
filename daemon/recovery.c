#include "recovery.h"

#include <errno.h>
#include <string.h>

#include "lifecycle.h"
#include "util/clock.h"
#include "util/log.h"
#include "watch.h"

/* Closes a job with what the last checkpoint knew. Nothing later can be said of it. */
static int close_lost(Service *service, const StoreRecoveredJob *recovered, Window *window, uint64_t end_ms, const char *note) {
        const JobEnd end = {};
        MetricSet metrics;
        StoreJobEnd row = {
                .job = recovered->info.id, .state = JOB_INTERRUPTED, .end_realtime_ms = end_ms, .end = &end,
                .note = note, .metrics = &metrics,
        };
        int r;

        window->lost = true;
        window_metrics(window, meter_totals(service->node.meter), 1, &metrics);
        /* perf.py's own reading cannot be told without the moment it would have reported. */
        memset(metrics.has_compat, 0, sizeof(metrics.has_compat));

        r = store_put_job_end(service->store, &row, (StoreCookie){});
        service->jobs.n_interrupted++;
        return r == STORE_QUEUE_FULL ? 0 : r; /* more jobs than the queue holds: the next start closes the rest */
}

static int go_on(Service *service, const StoreRecoveredJob *recovered, const Window *window) {
        uint64_t now_ns = clock_realtime_ns();
        uint64_t gap_ms = now_ns / NS_PER_MS > recovered->checkpoint_realtime_ms
                                  ? now_ns / NS_PER_MS - recovered->checkpoint_realtime_ms
                                  : 0;
        Job *job;
        int r;

        r = jobs_add(&service->jobs, &recovered->info, &job);
        if (r < 0)
                return r;

        job->phase = JOB_PHASE_ACTIVE;
        job->window = *window;
        job->begin_realtime_ms = recovered->begin_realtime_ms;
        timeline_init(&job->timeline, clock_boottime_ns(), now_ns, service->config.interval_ns, service->config.timeline_points);
        (void)snprintf(job->note, sizeof(job->note),
                       "perfd restarted: totals are exact, but peaks, threshold times and the timeline miss %.1f s", (double)gap_ms / 1e3);
        r = lifecycle_watch(service, job);
        return r < 0 ? r : 0; /* gone in this very moment: the first sweep closes it */
}

static int recover_job(Service *service, const StoreRecovery *recovery, const StoreRecoveredJob *recovered, bool same_boot) {
        Window window;

        if (window_parse(recovered->progress ? recovered->progress : "", &window) != 0) {
                log_warning("Job '%s' has an unreadable checkpoint, closing it as interrupted without numbers.", recovered->info.id);
                window = (Window){ .lost = true };
        }

        if (!same_boot)
                return close_lost(service, recovered, &window, recovery->meter_realtime_ms,
                                  "the machine was rebooted: totals end at the last checkpoint before");
        if (!watch_is_alive(&service->node, &recovered->info))
                return close_lost(service, recovered, &window, recovery->meter_realtime_ms,
                                  "its process ended while perfd was down: totals end at the last checkpoint before");
        return go_on(service, recovered, &window);
}

/* 0: goes on in the same boot. Else a positive outcome of meter_restore(). */
static int restore_meter(Service *service, const StoreRecovery *recovery) {
        if (!recovery->meter)
                return METER_MALFORMED;
        return meter_restore(service->node.meter, recovery->meter, service->node.boot_id);
}

/* The account of another boot was good for closing its jobs; this boot's begins at nothing. */
static int new_meter(Service *service) {
        meter_free(TAKE(service->node.meter));
        return meter_new(&service->node.meter, service->config.interval_ns);
}

int recovery_run(Service *service) {
        scoped(store_recovery_freep) StoreRecovery *recovery = NULL;
        int restored, r;

        r = store_recover(service->store, &recovery);
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
