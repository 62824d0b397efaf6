#pragma once

/*
 * Jobs: the ones that run, and the ones that just ended
 *
 * A Job lives here from its begin request until its numbers are in the store; after that
 * its JobView stays a while for /metrics. Found by id in a hash table that never moves a Job.
 */

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "ingest/ingest.h"
#include "model/job.h"
#include "model/timeline.h"
#include "model/window.h"
#include "util/scoped.h"

typedef enum JobPhase {
        JOB_PHASE_BEGINNING, /* queued for the store, not acked */
        JOB_PHASE_ACTIVE,
        JOB_PHASE_ENDING,    /* end queued for the store, not acked */
} JobPhase;

typedef struct Job Job;
struct Job {
        Job *next_in_bucket;
        Job *previous, *next; /* in order of begin */
        JobInfo info;
        JobPhase phase;
        Window window;
        Timeline timeline;
        uint64_t begin_realtime_ms;
        char note[160];
        sd_event_source *process; /* watches info.pid; NULL when nobody is watched */
        Ticket ticket;            /* of the request under way */
        bool has_ticket;
        JobState end_state;       /* once ENDING */
        uint64_t end_realtime_ms;
        JobEnd end;
        MetricSet end_metrics;
};

typedef struct FinishedJob FinishedJob;
struct FinishedJob {
        FinishedJob *next; /* older first */
        JobView view;
        uint64_t ended_boottime_ns;
};

typedef struct Jobs {
        Job **buckets; /* owned */
        size_t n_buckets;
        Job *first, *last;
        size_t n;
        FinishedJob *first_finished, *last_finished;
        size_t n_finished;
        uint64_t n_begun, n_ended, n_interrupted; /* since start */
} Jobs;

int jobs_init(Jobs *jobs);
void jobs_deinit(Jobs *jobs);

/* A new job, in the table, phase BEGINNING. info is copied. 0 or -ENOMEM. *ret is owned by the table. */
int jobs_add(Jobs *jobs, const JobInfo *info, Job **ret);
Job *jobs_find(const Jobs *jobs, const char *id);
size_t jobs_count_uid(const Jobs *jobs, uint32_t uid);
/* Out of the table and freed. */
void jobs_remove(Jobs *jobs, Job *job);

/* Out of the table; its final view is kept for exposition. Out of memory: it is just not exposed. */
void jobs_retire(Jobs *jobs, Job *job, uint64_t now_boottime_ns);
/* Forgets the ones that ended before; and the oldest beyond n_max. */
void jobs_forget_finished(Jobs *jobs, uint64_t before_boottime_ns, size_t n_max);
