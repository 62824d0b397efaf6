#include "jobs.h"

#include <errno.h>
#include <string.h>

#define N_BUCKETS 1024U

int jobs_init(Jobs *jobs) {
        *jobs = (Jobs){ .n_buckets = N_BUCKETS };
        jobs->buckets = calloc(jobs->n_buckets, sizeof(*jobs->buckets));
        return jobs->buckets ? 0 : -ENOMEM;
}

static void job_free(Job *job) {
        sd_event_source_disable_unref(job->process);
        timeline_deinit(&job->timeline);
        job_info_deinit(&job->info);
        free(job);
}

static void finished_free(FinishedJob *finished) {
        job_view_deinit(&finished->view);
        free(finished);
}

void jobs_deinit(Jobs *jobs) {
        while (jobs->first)
                jobs_remove(jobs, jobs->first);
        jobs_forget_finished(jobs, UINT64_MAX, 0);
        free(jobs->buckets);
        *jobs = (Jobs){};
}

/* FNV-1a. Ids come from clients, but at most [limits] jobs of them: long chains cost little. */
static Job **bucket_of(const Jobs *jobs, const char *id) {
        uint64_t hash = UINT64_C(14695981039346656037);

        for (; *id; id++)
                hash = (hash ^ (unsigned char)*id) * UINT64_C(1099511628211);
        return &jobs->buckets[hash % jobs->n_buckets];
}

int jobs_add(Jobs *jobs, const JobInfo *info, Job **ret) {
        Job **bucket = bucket_of(jobs, info->id);
        Job *job;

        job = calloc(1, sizeof(*job));
        if (!job)
                return -ENOMEM;
        if (job_info_copy(info, &job->info) < 0) {
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

        *(job->previous ? &job->previous->next : &jobs->first) = job->next;
        *(job->next ? &job->next->previous : &jobs->last) = job->previous;
        jobs->n--;
        job_free(job);
}

void jobs_retire(Jobs *jobs, Job *job, uint64_t now_boottime_ns) {
        FinishedJob *finished = calloc(1, sizeof(*finished));

        if (finished) {
                finished->ended_boottime_ns = now_boottime_ns;
                finished->view = (JobView){
                        .info = job->info,
                        .state = job->end_state,
                        .begin_realtime_ms = job->begin_realtime_ms,
                        .end_realtime_ms = job->end_realtime_ms,
                        .end = job->end,
                        .metrics = job->end_metrics,
                };
                memcpy(finished->view.note, job->note, sizeof(job->note));
                job->info.labels = NULL; /* moved; the id stays for jobs_remove() */
                *(jobs->last_finished ? &jobs->last_finished->next : &jobs->first_finished) = finished;
                jobs->last_finished = finished;
                jobs->n_finished++;
        }

        jobs->n_ended += job->end_state == JOB_FINISHED;
        jobs->n_interrupted += job->end_state == JOB_INTERRUPTED;
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
