/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/checkpoints.h"

#include <assert.h>
#include <stdlib.h>

#include "jobs/progress.h"
#include "store/jobs/job_rows.h"

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

/* Puts one part with the state of the meter, because windows refer to the meter's totals. The first part may have no jobs. */
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

int checkpoints_begin(Checkpoints *checkpoints, bool is_whole) {
        int r;

        checkpoints->round++;
        r = put_part(checkpoints, true);
        while (r == 0 && is_whole && checkpoints->is_under_way)
                r = put_part(checkpoints, false);
        return r;
}

int checkpoints_continue(Checkpoints *checkpoints) {
        return checkpoints->is_under_way ? put_part(checkpoints, false) : 0;
}
