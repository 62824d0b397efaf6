/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/table/jobs.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "util/hash.h"

int jobs_init(Jobs *jobs) {
        *jobs = (Jobs){};
        jobs->buckets = calloc(JOBS_BUCKETS, sizeof(*jobs->buckets));
        jobs->group_buckets = calloc(JOBS_BUCKETS, sizeof(*jobs->group_buckets));
        return jobs->buckets && jobs->group_buckets ? 0 : -ENOMEM;
}

static void finished_free(FinishedJob *finished) {
        job_description_deinit(&finished->info);
        free(finished);
}

void jobs_deinit(Jobs *jobs) {
        while (jobs->first)
                jobs_remove(jobs, jobs->first);
        jobs_forget_finished(jobs, UINT64_MAX, 0, 0);
        sample_log_deinit(&jobs->samples);
        free(jobs->buckets);
        free(jobs->group_buckets);
        user_totals_deinit(&jobs->totals);
        usage_file_deinit(&jobs->usage_file);
        *jobs = (Jobs){};
}

/* Clients choose the ids, but the table has at most [limits] jobs entries: a long chain costs little. */
static struct JobBucket *bucket_of(struct JobBucket *buckets, const char *name) {
        return &buckets[hash_text(HASH_BEGIN, name) % JOBS_BUCKETS];
}

int jobs_add(Jobs *jobs, const JobInfo *info, const Totals *begin, Job **ret) {
        JobInfo without_cgroup = *info;
        Job *job;

        without_cgroup.cgroup = NULL;
        job = calloc(1, sizeof(*job));
        if (!job)
                return -ENOMEM;
        job->begin = snapshot_totals_new(begin);
        if (!job->begin || job_description_make(&without_cgroup, &job->info) < 0) {
                running_job_free(job);
                return -ENOMEM;
        }

        assert(!jobs->last == (jobs->n == 0));
        assert(!jobs->last || !jobs->last->links.next);
        LIST_INSERT_HEAD(bucket_of(jobs->buckets, info->id), job, links.in_bucket);
        job->links.previous = jobs->last;
        *(jobs->last ? &jobs->last->links.next : &jobs->first) = job;
        jobs->last = job;
        jobs->n++;
        *ret = job;
        return 0;
}

Job *jobs_find(const Jobs *jobs, const char *id) {
        Job *job;

        LIST_FOREACH(job, bucket_of(jobs->buckets, id), links.in_bucket)
                if (strcmp(job->info.id, id) == 0)
                        return job;
        return NULL;
}

static void unlink_group(Jobs *jobs, Job *job) {
        if (!job->info.cgroup)
                return;

        LIST_REMOVE(job, links.in_group_bucket);
        assert(jobs->stats.n_with_cgroup > 0);
        jobs->stats.n_with_cgroup--;
}

int jobs_set_group(Jobs *jobs, Job *job, const char *name) {
        JobDescription renamed = {};
        int r;

        if (job->info.cgroup && strcmp(job->info.cgroup, name) == 0)
                return 0;
        if (jobs_find_group(jobs, name))
                return JOBS_TAKEN;

        job_description_share(&job->info, &renamed);
        r = JOB_DESCRIPTION_SET(&renamed, cgroup, name);
        if (r < 0) {
                job_description_deinit(&renamed);
                return r;
        }

        unlink_group(jobs, job);
        job_description_deinit(&job->info);
        job->info = renamed;
        LIST_INSERT_HEAD(bucket_of(jobs->group_buckets, name), job, links.in_group_bucket);
        jobs->stats.n_with_cgroup++;
        return 0;
}

Job *jobs_find_group(const Jobs *jobs, const char *name) {
        Job *job;

        LIST_FOREACH(job, bucket_of(jobs->group_buckets, name), links.in_group_bucket)
                if (strcmp(job->info.cgroup, name) == 0)
                        return job;
        return NULL;
}

Job *jobs_next_around(const Jobs *jobs, uint32_t uid, char *name) {
        bool has_parent = *name != '\0';

        while (has_parent) {
                Job *job = jobs_find_group(jobs, name);

                has_parent = cgroup_tree_name_parent(name);
                if (!has_parent)
                        *name = '\0';
                if (job && (job->group.is_vouched || job->info.uid == uid))
                        return job;
        }
        return NULL;
}

int jobs_rename(Jobs *jobs, Job *job, const char *id) {
        JobDescription renamed = {};
        int r;

        assert(!jobs_find(jobs, id));
        job_description_share(&job->info, &renamed);
        r = JOB_DESCRIPTION_SET(&renamed, id, id);
        if (r < 0) {
                job_description_deinit(&renamed);
                return r;
        }

        LIST_REMOVE(job, links.in_bucket);
        job_description_deinit(&job->info);
        job->info = renamed;
        LIST_INSERT_HEAD(bucket_of(jobs->buckets, id), job, links.in_bucket);
        return 0;
}

void jobs_remove(Jobs *jobs, Job *job) {
        LIST_REMOVE(job, links.in_bucket);
        unlink_group(jobs, job);

        assert(job->links.previous ? job->links.previous->links.next == job : jobs->first == job);
        assert(job->links.next ? job->links.next->links.previous == job : jobs->last == job);
        *(job->links.previous ? &job->links.previous->links.next : &jobs->first) = job->links.next;
        *(job->links.next ? &job->links.next->links.previous : &jobs->last) = job->links.previous;
        assert(jobs->n > 0);
        jobs->n--;
        running_job_free(job);
}

/* --- ended jobs --------------------------------------------------------------------------------------- */

static uint64_t hidden_part_of(uint64_t keep_ns) {
        return keep_ns / (HIDDEN_JOBS_PARTS - 4) + 1;
}

void jobs_add_hidden(HiddenJobs *hidden, uint64_t ended_ns, uint64_t keep_ns) {
        uint64_t number;

        if (hidden->part_ns != hidden_part_of(keep_ns))
                *hidden = (HiddenJobs){ .part_ns = hidden_part_of(keep_ns) };

        number = ended_ns / hidden->part_ns;
        if (hidden->number[number % HIDDEN_JOBS_PARTS] != number)
                hidden->n[number % HIDDEN_JOBS_PARTS] = 0;
        hidden->number[number % HIDDEN_JOBS_PARTS] = number;
        hidden->n[number % HIDDEN_JOBS_PARTS]++;
}

uint64_t jobs_count_hidden(const HiddenJobs *hidden, uint64_t now_ns, uint64_t keep_ns) {
        uint64_t n = 0;

        if (hidden->part_ns != hidden_part_of(keep_ns))
                return 0;
        for (unsigned i = 0; i < HIDDEN_JOBS_PARTS; i++)
                if ((hidden->number[i] + 1) * hidden->part_ns + keep_ns > now_ns)
                        n += hidden->n[i];
        return n;
}

static FinishedJob *finished_new(const Job *job) {
        const JobFinal *final = job->final;
        FinishedJob *finished = calloc(1, sizeof(*finished));

        if (!finished)
                return NULL;

        job_description_share(&job->info, &finished->info);
        finished->state = final->state;
        finished->n_phases = job->n_phases;
        finished->begin_realtime_ms = job->begin_realtime_ms;
        finished->end_realtime_ms = final->realtime_ms;
        finished->result = final->result;
        return finished;
}

void jobs_retire(Jobs *jobs, Job *job, uint64_t now_boottime_ns) {
        FinishedJob *finished;

        assert(job->final);
        finished = finished_new(job);
        user_totals_add(&jobs->totals, &job->info, &job->final->result.usage);
        jobs->stats.n_finished += job->final->state == JOB_FINISHED;
        jobs->stats.n_interrupted += job->final->state == JOB_INTERRUPTED;
        assert(!jobs->finished.last || jobs->finished.last->ended_boottime_ns <= now_boottime_ns);
        if (finished) {
                finished->ended_boottime_ns = now_boottime_ns;
                *(jobs->finished.last ? &jobs->finished.last->next : &jobs->finished.first) = finished;
                jobs->finished.last = finished;
                jobs->finished.n++;
        }

        jobs_remove(jobs, job);
}

void jobs_forget_finished(Jobs *jobs, uint64_t before_boottime_ns, size_t n_max, uint64_t keep_ns) {
        while (jobs->finished.first &&
               (jobs->finished.n > n_max || jobs->finished.first->ended_boottime_ns < before_boottime_ns)) {
                FinishedJob *oldest = jobs->finished.first;

                if (oldest->ended_boottime_ns >= before_boottime_ns)
                        jobs_add_hidden(&jobs->finished.hidden, oldest->ended_boottime_ns, keep_ns);
                jobs->finished.first = oldest->next;
                if (!jobs->finished.first)
                        jobs->finished.last = NULL;
                assert(jobs->finished.n > 0);
                jobs->finished.n--;
                finished_free(oldest);
        }
}

/* id: of the jobs; NULL: of a user, and ended before a time. */
static void forget_finished(Jobs *jobs, const char *id, uint32_t uid, uint64_t before_ms) {
        FinishedJob *previous = NULL, *next;

        for (FinishedJob *finished = jobs->finished.first; finished; finished = next) {
                next = finished->next;
                if (id ? strcmp(finished->info.id, id) != 0
                       : finished->info.uid != uid || finished->end_realtime_ms >= before_ms) {
                        previous = finished;
                        continue;
                }
                *(previous ? &previous->next : &jobs->finished.first) = next;
                if (!next)
                        jobs->finished.last = previous;
                jobs->finished.n--;
                finished_free(finished);
        }
}

void jobs_forget_finished_id(Jobs *jobs, const char *id) {
        forget_finished(jobs, id, 0, 0);
}

void jobs_forget_finished_user(Jobs *jobs, uint32_t uid, uint64_t before_ms) {
        forget_finished(jobs, NULL, uid, before_ms);
}

/* --- publishing ------------------------------------------------------------------------------- */

/* Returns false for jobs whose begin is not stored yet. */
static bool is_published(const Job *job) {
        return job->stage != JOB_BEGINNING;
}

static JobsSize published_size(const Jobs *jobs) {
        JobsSize size = { .n_records = jobs->finished.n, .n_results = jobs->finished.n };

        for (const Job *job = jobs->first; job; job = job->links.next) {
                if (!is_published(job))
                        continue;
                size.n_records++;
                size.n_phases += job->phase != NULL;
                size.n_results += job->final != NULL;
                size.n_peaks += !job->final;
                size.n_heads += !job->final && job->samples.head;
                size.n_usages += !job->final && job->group.usage;
                size.n_steps += job->group.steps ? job->group.steps->list.n : 0;
                size.n_gpus += job->gpus.n;
        }
        return size;
}

/* Running jobs whose timelines are published, which are copies: those of others come with their end. */
#define TIMELINES_MAX 16U

static void publish_running(const Job *job, size_t *n_timelines, JobsSnapshot *snapshot) {
        JobRecord *record = snapshot_jobs_add(snapshot, &job->info, job->final ? NULL : job->begin);

        record->state = JOB_RUNNING;
        record->n_phases = job->n_phases;
        record->begin_realtime_ms = job->begin_realtime_ms;
        record->is_usage_cut = job->group.is_usage_cut;
        if (job->group.steps)
                record->steps = snapshot_jobs_copy_steps(snapshot, &job->group.steps->list);
        record->gpus = snapshot_jobs_copy_gpus(snapshot, &job->gpus);
        if (job->gpus.n > 0 && (*n_timelines)++ < TIMELINES_MAX)
                (void)recording_write(&job->recording, &record->timeline);
        if (job->phase)
                record->phase = snapshot_jobs_copy_phase(snapshot, job->phase);
        if (job->final) { /* the metrics are final; the end request is missing */
                record->result = snapshot_jobs_copy_result(snapshot, &job->final->result);
                return;
        }

        record->samples = snapshot_jobs_copy_span(snapshot, &job->samples);
        record->peaks = snapshot_jobs_copy_peaks(snapshot, &job->peaks);
        if (job->group.usage)
                record->usage = snapshot_jobs_copy_usage(snapshot, job->group.usage);
}

static void publish_finished(const FinishedJob *finished, JobsSnapshot *snapshot) {
        JobRecord *record = snapshot_jobs_add(snapshot, &finished->info, NULL);

        record->state = finished->state;
        record->n_phases = finished->n_phases;
        record->begin_realtime_ms = finished->begin_realtime_ms;
        record->end_realtime_ms = finished->end_realtime_ms;
        record->result = snapshot_jobs_copy_result(snapshot, &finished->result);
}

int jobs_publish(const Jobs *jobs, size_t n_exposed_max, JobsSnapshot *ret) {
        JobsSize size = published_size(jobs);
        size_t n_timelines = 0;
        int r;

        r = snapshot_jobs_begin(ret, &size);
        if (r == 0)
                r = sample_log_copy(&jobs->samples, &ret->samples);
        if (r >= 0)
                r = snapshot_jobs_copy_totals(&ret->users, &jobs->totals.users);
        if (r >= 0)
                r = snapshot_jobs_copy_totals(&ret->labels, &jobs->totals.labels);
        if (r < 0)
                return r;

        for (const Job *job = jobs->first; job; job = job->links.next)
                if (is_published(job))
                        publish_running(job, &n_timelines, ret);
        ret->n_running = ret->used.n_records;
        for (const FinishedJob *finished = jobs->finished.first; finished; finished = finished->next)
                publish_finished(finished, ret);

        assert(memcmp(&ret->used, &size, sizeof(size)) == 0);
        ret->n_exposed_max = n_exposed_max;
        ret->stats = jobs->stats;
        memcpy(ret->totals_label, jobs->totals.label, sizeof(ret->totals_label));
        return 0;
}
