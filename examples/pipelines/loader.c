/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records a data pipeline with libperfd: two threads decode images into a queue, from which the training loop takes them.
 *
 * Usage: perfctl run -- loader; then perfctl pipeline show. LOADER_ITEMS is the number of images. Prints what was recorded as JSON.
 */

#include <perfd.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_WORKERS 2
#define N_PLACES  4
#define STAGE     "0:0:decode[2]"

/* Numbers that the program knows itself. */
typedef struct Totals {
        unsigned n_tasks, n_failures, n_gets;
        double task_s, get_s;
} Totals;

typedef struct Loader {
        PerfdPipeline *pipeline;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        unsigned n_left, n_queued, n_working; /* images to decode, in the queue, and workers */
        Totals totals;
} Loader;

static double now_s(void) {
        struct timespec time;

        clock_gettime(CLOCK_MONOTONIC, &time);
        return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Returns false for an image that cannot be decoded. */
static int decode(unsigned image) {
        volatile double sum = 0;

        for (unsigned i = 1; i < 200000; i++)
                sum += 1.0 / (i + image);
        return image % 10 != 0;
}

/* Puts an image into the queue. What is recorded may be sent in the same call: never hold a lock. */
static void put(Loader *loader) {
        double begin_s = now_s();

        pthread_mutex_lock(&loader->lock);
        while (loader->n_queued == N_PLACES)
                pthread_cond_wait(&loader->changed, &loader->lock);
        loader->n_queued++;
        pthread_cond_broadcast(&loader->changed);
        pthread_mutex_unlock(&loader->lock);
        perfd_pipeline_put(loader->pipeline, STAGE, now_s() - begin_s);
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
                perfd_pipeline_task(loader->pipeline, STAGE, seconds, !is_decoded);
                if (is_decoded)
                        put(loader);

                pthread_mutex_lock(&loader->lock);
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
        while (loader->n_queued == 0 && loader->n_working > 0)
                pthread_cond_wait(&loader->changed, &loader->lock);
        is_taken = loader->n_queued > 0;
        if (is_taken)
                loader->n_queued--;
        pthread_cond_broadcast(&loader->changed);
        pthread_mutex_unlock(&loader->lock);
        if (!is_taken)
                return 0;

        seconds = now_s() - begin_s;
        perfd_pipeline_get(loader->pipeline, STAGE, seconds);
        loader->totals.n_gets++;
        loader->totals.get_s += seconds;
        return 1;
}

static void train(Loader *loader) {
        pthread_t workers[N_WORKERS];

        for (int i = 0; i < N_WORKERS; i++)
                if (pthread_create(&workers[i], NULL, run_worker, loader) != 0)
                        abort();
        while (get(loader))
                ;
        for (int i = 0; i < N_WORKERS; i++)
                pthread_join(workers[i], NULL);
}

int main(void) {
        const char *items = getenv("LOADER_ITEMS");
        Loader loader = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .n_working = N_WORKERS };
        PerfdClient *client;
        int r;

        loader.n_left = items ? (unsigned)strtoul(items, NULL, 10) : 2000;
        if (perfd_client_open(&client, NULL, 1000) < 0 || perfd_pipeline_open(&loader.pipeline, client, NULL, 0.1) != 0)
                return EXIT_FAILURE;
        perfd_pipeline_level(loader.pipeline, STAGE, 0, N_PLACES);
        train(&loader);

        r = perfd_pipeline_close(loader.pipeline);
        if (r != 0) /* the training is not less worth without its statistics */
                fprintf(stderr, "No statistics: %s\n", perfd_client_error(client));
        perfd_client_close(client);
        printf("{\"num_tasks\": %u, \"num_failures\": %u, \"success_s\": %.9f, \"num_items\": %u, \"get_wait_s\": %.9f}\n",
               loader.totals.n_tasks, loader.totals.n_failures, loader.totals.task_s, loader.totals.n_gets, loader.totals.get_s);
        return EXIT_SUCCESS;
}
