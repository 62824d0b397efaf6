/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/checkpoints.h"

#include <stdlib.h>

#include "jobs/progress.h"
#include "store/jobs/job_rows.h"
#include "util/clock.h"

#define JOBS_AT_ONCE 64

/* Those that this round has not put yet, with their progress, which the caller frees. */
static int result_groups_read(Service *service, StoreCheckpoint items[static JOBS_AT_ONCE], size_t *n) {
        for (Job *job = service->jobs.first; job && *n < JOBS_AT_ONCE; job = job->next) {
                char *progress;
                int r;

                if (job->phase != JOB_PHASE_ACTIVE || job->checkpoint_round == service->checkpoint_round)
                        continue;
                r = progress_format(job, job->mark, job->n_phases, &progress);
                if (r < 0)
                        return r;

                job->checkpoint_round = service->checkpoint_round;
                items[(*n)++] = (StoreCheckpoint){ .job = job->info.id, .progress = progress };
        }
        return 0;
}

/* The meter's account goes with each part: a window counts from where it was at its begin. */
static int put_part(Service *service) {
        StoreCheckpoint items[JOBS_AT_ONCE];
        scoped(freep) char *meter = NULL;
        size_t n = 0;
        int r;

        r = result_groups_read(service, items, &n);
        if (r == 0 && n > 0)
                r = meter_save(service->node.meter, service->node.boot_id, &meter);
        if (r == 0 && n > 0)
                r = store_put(service->store, job_rows_pack_checkpoints(items, n, service->node.boot_id, meter,
                                                                        service->node.sample.realtime_ns / NS_PER_MS));

        /* A full queue costs the rest of this round, not the daemon: the next is an interval away. */
        service->is_checkpoint_under_way = r == 0 && n == JOBS_AT_ONCE;
        for (size_t i = 0; i < n; i++)
                free((char *)items[i].progress);
        return r < 0 ? r : 0;
}

int checkpoints_begin(Service *service) {
        int r;

        service->checkpoint_round++;
        do
                r = put_part(service);
        while (r == 0 && service->is_draining && service->is_checkpoint_under_way);
        return r;
}

int checkpoints_continue(Service *service) {
        return service->is_checkpoint_under_way ? put_part(service) : 0;
}
