/* SPDX-License-Identifier: Apache-2.0 */
#include "http/jobs/job_lookup.h"

#include <assert.h>

#include "document/indicator.h"
#include "util/clock.h"

const JobRecord *job_lookup_live(const Snapshot *snapshot, const char *id) {
        return snapshot ? snapshot_jobs_find(&snapshot->jobs, id) : NULL;
}

int job_lookup(const Target *target, const Sources *sources, Response *response, FoundJob *ret) {
        const JobRecord *live;
        int r;

        if (!indicator_name_is_valid(target->argument, JOB_ID_MAX - 1))
                return exchange_error(response, 400, "job id must be 1 to %d characters of A-Z a-z 0-9 _ . : -",
                                      JOB_ID_MAX - 1);

        assert(target->argument); /* argument of the route */
        live = job_lookup_live(sources->snapshot, target->argument);
        if (live && !privacy_may_list(&target->viewer, live->info.uid))
                live = NULL;
        r = job_reader_find(sources->reader, target->argument, &ret->row);
        if (r == 0 && !privacy_may_list(&target->viewer, ret->row.view.info.uid))
                r = READER_END;
        if (r == 0 && (!live || ret->row.view.state != JOB_RUNNING)) {
                ret->view = &ret->row.view;
                ret->record = NULL;
                ret->has_metrics = ret->row.has_metrics;
                return 0;
        }

        if (r != 0)
                ret->row = (JobRow){};
        if (live) {
                snapshot_jobs_record_view(live, &sources->snapshot->node, &ret->live);
                ret->view = &ret->live;
                ret->record = live;
                ret->has_metrics = true;
                return 0;
        }

        if (r == READER_END)
                return exchange_error(response, 404, "no job '%s' on this node; it may have expired", target->argument);
        return exchange_store_error(response, r);
}

uint64_t job_lookup_time_ms(const Sources *sources, const JobView *job) {
        uint64_t now_ms = sources->snapshot ? sources->snapshot->node.realtime_ns / NS_PER_MS : 0;

        return job->end_realtime_ms ?: now_ms ?: job->begin_realtime_ms;
}
