/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STAGE_SUMS_H
#define STAGE_SUMS_H

/*
 * Sums over an interval of a stage of a data pipeline, and their submission with libperfd: a file to copy into a
 * program
 *
 * The functions that count are called when a put, a get or a task has ended, with its duration in seconds, and with
 * the lock held. An interval that perfd cannot take now is submitted again by the next call, and later operations
 * add up in one further interval: memory is constant, and no count is lost.
 */

#include <perfd.h>

#include <pthread.h>
#include <time.h>

typedef struct StageSums {
        pthread_mutex_t *lock;       /* protects the members down to n_queued */
        /* of the interval; time without an item in the queue; when it became empty */
        double begin_s, empty_s, empty_since_s;
        double task_s, put_s, get_s; /* sums of durations; task_s without failed tasks */
        uint64_t n_tasks, n_failures, n_puts, n_gets;
        unsigned n_queued;           /* items in the queue now */
        int has_ended;               /* `ended` waits for perfd */
        PerfdInterval ended;
        PerfdTaskStats tasks;        /* of `ended` */
        PerfdQueueStats queue;
} StageSums;

static inline double stage_sums_now_s(clockid_t clock) {
        struct timespec time;

        clock_gettime(clock, &time);
        return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static inline void stage_sums_init(StageSums *sums, pthread_mutex_t *lock, const char *stage, uint32_t buffer_size) {
        double now_s = stage_sums_now_s(CLOCK_MONOTONIC);

        *sums = (StageSums){ .lock = lock, .begin_s = now_s, .empty_since_s = now_s, .ended.stage = stage };
        sums->queue.buffer_size = buffer_size;
        sums->ended.tasks = &sums->tasks;
        sums->ended.queue = &sums->queue;
}

static inline void stage_sums_add_task(StageSums *sums, double seconds, int failed) {
        sums->n_tasks++;
        sums->n_failures += failed != 0;
        sums->task_s += failed ? 0 : seconds;
}

static inline void stage_sums_add_put(StageSums *sums, double seconds) {
        if (sums->n_queued++ == 0)
                sums->empty_s += stage_sums_now_s(CLOCK_MONOTONIC) - sums->empty_since_s;
        sums->n_puts++;
        sums->put_s += seconds;
}

static inline void stage_sums_add_get(StageSums *sums, double seconds) {
        if (--sums->n_queued == 0)
                sums->empty_since_s = stage_sums_now_s(CLOCK_MONOTONIC);
        sums->n_gets++;
        sums->get_s += seconds;
}

/* Ends the interval, and begins the next. An empty period that lasts counts in both. The caller holds the lock. */
static inline void stage_sums_end_interval(StageSums *sums) {
        double now_s = stage_sums_now_s(CLOCK_MONOTONIC), elapsed_s = now_s - sums->begin_s;
        uint64_t now_ms = (uint64_t)(stage_sums_now_s(CLOCK_REALTIME) * 1000),
                 n_successes = sums->n_tasks - sums->n_failures;
        double empty_s = sums->empty_s + (sums->n_queued == 0 ? now_s - sums->empty_since_s : 0);

        sums->tasks = (PerfdTaskStats){ .elapsed = elapsed_s,
                                        .num_tasks = sums->n_tasks,
                                        .num_failures = sums->n_failures,
                                        .ave_time = n_successes ? sums->task_s / (double)n_successes : 0 };
        sums->queue = (PerfdQueueStats){ .elapsed = elapsed_s,
                                         .num_items = sums->n_gets,
                                         .buffer_size = sums->queue.buffer_size,
                                         .ave_put_time = sums->n_puts ? sums->put_s / (double)sums->n_puts : 0,
                                         .ave_get_time = sums->n_gets ? sums->get_s / (double)sums->n_gets : 0,
                                         .occupancy_rate = empty_s < elapsed_s ? 1 - empty_s / elapsed_s : 0 };
        /* each interval has its own */
        sums->ended.end_ms = now_ms > sums->ended.end_ms ? now_ms : sums->ended.end_ms + 1;
        sums->has_ended = 1;

        sums->begin_s = sums->empty_since_s = now_s;
        sums->empty_s = sums->task_s = sums->put_s = sums->get_s = 0;
        sums->n_tasks = sums->n_failures = sums->n_puts = sums->n_gets = 0;
}

/*
 * Submits what was counted, from one thread, which does not hold the lock. job, producer: as of
 * perfd_submit_intervals(). Returns as perfd_submit_intervals(); what perfd refuses for good is not submitted again.
 */
static inline int stage_sums_submit(StageSums *sums, PerfdClient *client, const char *job, const char *producer) {
        int r = 0;

        for (int is_new = !sums->has_ended; r == 0 && is_new <= 1; is_new++) {
                if (is_new) {
                        pthread_mutex_lock(sums->lock);
                        stage_sums_end_interval(sums);
                        pthread_mutex_unlock(sums->lock);
                }
                r = perfd_submit_intervals(client, job, producer, &sums->ended, 1);
                sums->has_ended = r < 0 || r == PERFD_UNAVAILABLE || r == PERFD_QUOTA;
                r = r == PERFD_DUPLICATE ? 0 : r;
        }
        return r;
}

#endif
