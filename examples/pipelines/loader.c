/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports a data pipeline with libperfd: two threads decode images into a queue, from which the training loop takes
 * them, and one more submits the statistics, so that no other waits for perfd.
 *
 * Usage: perfctl run -- loader; then perfctl pipeline show. LOADER_ITEMS is the number of images. Prints what was
 * counted as JSON.
 */

#include <perfd.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stage_sums.h"

#define N_WORKERS 2
#define N_PLACES  4
#define STAGE     "0:0:decode[2]"
#define PRODUCER  "loader 1"
#define INTERVAL_NS 100000000

/* Numbers that the program knows itself. */
typedef struct Totals {
        unsigned n_tasks, n_failures, n_gets;
        double task_s, get_s;
} Totals;

typedef struct Loader {
        PerfdClient *client;
        pthread_mutex_t lock; /* of all members below but `status` */
        pthread_cond_t changed, done;
        unsigned n_left, n_working; /* images to decode, and workers */
        int is_done;
        int status;                 /* of the last submission */
        StageSums sums;
        Totals totals;
} Loader;

static double now_s(void) {
        return stage_sums_now_s(CLOCK_MONOTONIC);
}

/* Returns false for an image that cannot be decoded. */
static int decode(unsigned image) {
        volatile double sum = 0;

        for (unsigned i = 1; i < 200000; i++)
                sum += 1.0 / (i + image);
        return sum > 0 && image % 10 != 0;
}

/* Puts an image into the queue. The caller holds the lock. */
static void put(Loader *loader) {
        double begin_s = now_s();

        while (loader->sums.n_queued == N_PLACES)
                pthread_cond_wait(&loader->changed, &loader->lock);
        stage_sums_add_put(&loader->sums, now_s() - begin_s);
        pthread_cond_broadcast(&loader->changed);
}

static void *run_worker(void *argument) {
        Loader *loader = argument;

        pthread_mutex_lock(&loader->lock);
        while (loader->n_left > 0) {
                unsigned image = loader->n_left--;
                double begin_s, seconds;
                int is_decoded;

                pthread_mutex_unlock(&loader->lock);
                begin_s = now_s();
                is_decoded = decode(image);
                seconds = now_s() - begin_s;

                pthread_mutex_lock(&loader->lock);
                stage_sums_add_task(&loader->sums, seconds, !is_decoded);
                if (is_decoded)
                        put(loader);
                loader->totals.n_tasks++;
                loader->totals.n_failures += !is_decoded;
                loader->totals.task_s += is_decoded ? seconds : 0;
        }
        loader->n_working--;
        pthread_cond_broadcast(&loader->changed);
        pthread_mutex_unlock(&loader->lock);
        return NULL;
}

/* Takes an image. Returns 0 after the last. */
static int get(Loader *loader) {
        double begin_s = now_s(), seconds;
        int is_taken;

        pthread_mutex_lock(&loader->lock);
        while (loader->sums.n_queued == 0 && loader->n_working > 0)
                pthread_cond_wait(&loader->changed, &loader->lock);
        seconds = now_s() - begin_s;
        is_taken = loader->sums.n_queued > 0;
        if (is_taken) {
                stage_sums_add_get(&loader->sums, seconds);
                loader->totals.n_gets++;
                loader->totals.get_s += seconds;
        }
        pthread_cond_broadcast(&loader->changed);
        pthread_mutex_unlock(&loader->lock);
        return is_taken;
}

/* Submits the statistics of each interval, and in the end the rest. */
static void *run_reporter(void *argument) {
        Loader *loader = argument;
        struct timespec next;
        int is_last;

        do {
                clock_gettime(CLOCK_REALTIME, &next);
                next.tv_nsec += INTERVAL_NS;
                next.tv_sec += next.tv_nsec / 1000000000;
                next.tv_nsec %= 1000000000;
                pthread_mutex_lock(&loader->lock);
                while (!loader->is_done && pthread_cond_timedwait(&loader->done, &loader->lock, &next) == 0)
                        ;
                is_last = loader->is_done;
                pthread_mutex_unlock(&loader->lock);
                loader->status = stage_sums_submit(&loader->sums, loader->client, NULL, PRODUCER);
        } while (!is_last);
        return NULL;
}

static void train(Loader *loader) {
        pthread_t workers[N_WORKERS], reporter;

        if (pthread_create(&reporter, NULL, run_reporter, loader) != 0)
                abort();
        for (int i = 0; i < N_WORKERS; i++)
                if (pthread_create(&workers[i], NULL, run_worker, loader) != 0)
                        abort();
        while (get(loader))
                ;
        for (int i = 0; i < N_WORKERS; i++)
                pthread_join(workers[i], NULL);
        pthread_mutex_lock(&loader->lock);
        loader->is_done = 1;
        pthread_cond_signal(&loader->done);
        pthread_mutex_unlock(&loader->lock);
        pthread_join(reporter, NULL);
}

int main(void) {
        const char *items = getenv("LOADER_ITEMS");
        Loader loader = { .lock = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER,
                          .done = PTHREAD_COND_INITIALIZER,
                          .n_working = N_WORKERS };

        loader.n_left = items ? (unsigned)strtoul(items, NULL, 10) : 2000;
        if (perfd_client_open(&loader.client, NULL, 1000) < 0)
                return EXIT_FAILURE;
        stage_sums_init(&loader.sums, &loader.lock, STAGE, N_PLACES);
        train(&loader);
        if (loader.status != 0) /* the training is not less worth without its statistics */
                fprintf(stderr, "No statistics: %s\n", perfd_client_error(loader.client));
        perfd_client_close(loader.client);
        printf("{\"num_tasks\": %u, \"num_failures\": %u, \"success_s\": %.9f, \"num_items\": %u, \"get_wait_s\": "
               "%.9f}\n",
               loader.totals.n_tasks, loader.totals.n_failures, loader.totals.task_s, loader.totals.n_gets,
               loader.totals.get_s);
        return EXIT_SUCCESS;
}
