/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/jobs.h"

#include <errno.h>
#include <string.h>

#include "util/hash.h"

#define N_BUCKETS 1024U

int jobs_init(Jobs *jobs) {
        *jobs = (Jobs){ .n_buckets = N_BUCKETS };
        jobs->buckets = calloc(jobs->n_buckets, sizeof(*jobs->buckets));
        jobs->group_buckets = calloc(jobs->n_buckets, sizeof(*jobs->group_buckets));
        return jobs->buckets && jobs->group_buckets ? 0 : -ENOMEM;
}

void job_drop_ending(Job *job) {
        if (job->ending)
                free(job->ending->phase);
        free(TAKE(job->ending));
}

static void job_free(Job *job) {
        sd_event_source_disable_unref(job->process);
        sd_event_source_disable_unref(job->events);
        cgroup_free(job->cgroup);
        free(job->usage);
        free(job->mark);
        job_drop_ending(job);
        recording_deinit(&job->recording);
        job_description_deinit(&job->info);
        free(job);
}

static void finished_free(FinishedJob *finished) {
        job_description_deinit(&finished->info);
        free(finished);
}

void jobs_deinit(Jobs *jobs) {
        while (jobs->first)
                jobs_remove(jobs, jobs->first);
        jobs_forget_finished(jobs, UINT64_MAX, 0);
        free(jobs->buckets);
        free(jobs->group_buckets);
        *jobs = (Jobs){};
}

/* Ids come from clients, but at most [limits] jobs of them: long chains cost little. */
static size_t hash_of(const Jobs *jobs, const char *name) {
        return hash_text(HASH_BEGIN, name) % jobs->n_buckets;
}

static Job **bucket_of(const Jobs *jobs, const char *id) {
        return &jobs->buckets[hash_of(jobs, id)];
}

static Job **group_bucket_of(const Jobs *jobs, const char *name) {
        return &jobs->group_buckets[hash_of(jobs, name)];
}

int jobs_add(Jobs *jobs, const JobInfo *info, Job **ret) {
        Job **bucket = bucket_of(jobs, info->id);
        JobInfo without_cgroup = *info;
        Job *job;

        without_cgroup.cgroup = NULL;
        job = calloc(1, sizeof(*job));
        if (!job)
                return -ENOMEM;
        if (job_description_make(&without_cgroup, &job->info) < 0) {
                free(job);
                return -ENOMEM;
        }

        job->next_in_bucket = *bucket;
        *bucket = job;
        job->previous = jobs->last;
        *(jobs->last ? &jobs->last->next : &jobs->first) = job;
        jobs->last = job;
        jobs->n++;
        *ret = job;
        return 0;
}

Job *jobs_find(const Jobs *jobs, const char *id) {
        for (Job *job = *bucket_of(jobs, id); job; job = job->next_in_bucket)
                if (strcmp(job->info.id, id) == 0)
                        return job;
        return NULL;
}

static void unlink_group(Jobs *jobs, Job *job) {
        Job **link;

        if (!job->info.cgroup)
                return;

        link = group_bucket_of(jobs, job->info.cgroup);
        while (*link != job)
                link = &(*link)->next_in_group_bucket;
        *link = job->next_in_group_bucket;
        jobs->stats.n_with_cgroup--;
}

int jobs_set_group(Jobs *jobs, Job *job, const char *name) {
        Job **bucket = group_bucket_of(jobs, name);
        JobDescription card = {};
        int r;

        if (job->info.cgroup && strcmp(job->info.cgroup, name) == 0)
                return 0;
        if (jobs_find_group(jobs, name))
                return JOBS_TAKEN;

        job_description_share(&job->info, &card);
        r = job_description_set_cgroup(&card, name);
        if (r < 0) {
                job_description_deinit(&card);
                return r;
        }

        unlink_group(jobs, job);
        job_description_deinit(&job->info);
        job->info = card;
        job->next_in_group_bucket = *bucket;
        *bucket = job;
        jobs->stats.n_with_cgroup++;
        return 0;
}

Job *jobs_find_group(const Jobs *jobs, const char *name) {
        for (Job *job = *group_bucket_of(jobs, name); job; job = job->next_in_group_bucket)
                if (strcmp(job->info.cgroup, name) == 0)
                        return job;
        return NULL;
}

size_t jobs_count_uid(const Jobs *jobs, uint32_t uid) {
        size_t n = 0;

        for (const Job *job = jobs->first; job; job = job->next)
                n += job->info.uid == uid;
        return n;
}

void jobs_remove(Jobs *jobs, Job *job) {
        Job **link = bucket_of(jobs, job->info.id);

        while (*link != job)
                link = &(*link)->next_in_bucket;
        *link = job->next_in_bucket;
        unlink_group(jobs, job);

        *(job->previous ? &job->previous->next : &jobs->first) = job->next;
        *(job->next ? &job->next->previous : &jobs->last) = job->previous;
        jobs->n--;
        job_free(job);
}

static FinishedJob *finished_new(const Job *job) {
        const Ending *ending = job->ending;
        FinishedJob *finished = calloc(1, sizeof(*finished));

        if (!finished)
                return NULL;

        job_description_share(&job->info, &finished->info);
        finished->state = ending->state;
        finished->n_phases = job->n_phases;
        finished->begin_realtime_ms = job->begin_realtime_ms;
        finished->end_realtime_ms = ending->realtime_ms;
        finished->result = ending->result;
        return finished;
}

void jobs_retire(Jobs *jobs, Job *job, uint64_t now_boottime_ns) {
        FinishedJob *finished = finished_new(job);

        jobs->stats.n_finished += job->ending->state == JOB_FINISHED;
        jobs->stats.n_interrupted += job->ending->state == JOB_INTERRUPTED;
        if (finished) {
                finished->ended_boottime_ns = now_boottime_ns;
                *(jobs->last_finished ? &jobs->last_finished->next : &jobs->first_finished) = finished;
                jobs->last_finished = finished;
                jobs->n_finished++;
        }

        jobs_remove(jobs, job);
}

void jobs_forget_finished(Jobs *jobs, uint64_t before_boottime_ns, size_t n_max) {
        while (jobs->first_finished &&
               (jobs->n_finished > n_max || jobs->first_finished->ended_boottime_ns < before_boottime_ns)) {
                FinishedJob *oldest = jobs->first_finished;

                jobs->first_finished = oldest->next;
                if (!jobs->first_finished)
                        jobs->last_finished = NULL;
                jobs->n_finished--;
                finished_free(oldest);
        }
}

/* --- publishing ------------------------------------------------------------------------------- */

/* Jobs whose begin is not stored yet are not shown. */
static bool is_published(const Job *job) {
        return job->phase != JOB_PHASE_BEGINNING;
}

static JobsSize published_size(const Jobs *jobs) {
        JobsSize size = { .n_records = jobs->n_finished, .n_results = jobs->n_finished };

        for (const Job *job = jobs->first; job; job = job->next) {
                if (!is_published(job))
                        continue;
                size.n_records++;
                size.n_phases += job->mark != NULL;
                size.n_results += job->ending != NULL;
                size.n_windows += !job->ending;
                size.n_usages += !job->ending && job->usage;
        }
        return size;
}

static void publish_running(const Job *job, JobsSnapshot *snapshot) {
        JobRecord *record = jobs_snapshot_add(snapshot);

        job_description_share(&job->info, &record->info);
        record->state = JOB_RUNNING;
        record->n_phases = job->n_phases;
        record->begin_realtime_ms = job->begin_realtime_ms;
        record->is_usage_cut = job->is_usage_cut;
        if (job->mark)
                record->phase = jobs_snapshot_copy_phase(snapshot, job->mark);
        if (job->ending) { /* its metrics are final: only how it ended is missing */
                record->result = jobs_snapshot_copy_result(snapshot, &job->ending->result);
                return;
        }

        record->window = jobs_snapshot_copy_window(snapshot, &job->window);
        if (job->usage)
                record->usage = jobs_snapshot_copy_usage(snapshot, job->usage);
}

static void publish_finished(const FinishedJob *finished, JobsSnapshot *snapshot) {
        JobRecord *record = jobs_snapshot_add(snapshot);

        job_description_share(&finished->info, &record->info);
        record->state = finished->state;
        record->n_phases = finished->n_phases;
        record->begin_realtime_ms = finished->begin_realtime_ms;
        record->end_realtime_ms = finished->end_realtime_ms;
        record->result = jobs_snapshot_copy_result(snapshot, &finished->result);
}

int jobs_publish(const Jobs *jobs, size_t n_exposed_max, JobsSnapshot *ret) {
        JobsSize size = published_size(jobs);
        int r;

        r = jobs_snapshot_begin(ret, &size);
        if (r < 0)
                return r;

        for (const Job *job = jobs->first; job; job = job->next)
                if (is_published(job))
                        publish_running(job, ret);
        ret->n_running = ret->used.n_records;
        for (const FinishedJob *finished = jobs->first_finished; finished; finished = finished->next)
                publish_finished(finished, ret);

        ret->n_exposed_max = n_exposed_max;
        ret->stats = jobs->stats;
        return 0;
}
