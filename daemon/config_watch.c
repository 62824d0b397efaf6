/* SPDX-License-Identifier: Apache-2.0 */
#include "config_watch.h"

#include <string.h>

#include "util/clock.h"
#include "util/lock.h"
#include "util/thread.h"

#define INTERVAL_NS (14 * NS_PER_S)
#define END_NS (2 * NS_PER_S)

static void *on_start(void *userdata) {
        ConfigWatch *watch = userdata;

        pthread_setname_np(pthread_self(), "perfd-config");
        pthread_mutex_lock(&watch->mutex);
        while (!watch->is_stopping) {
                const ConfigFiles files = watch->files;
                unsigned n_loads = watch->n_loads;
                char edited[CONFIG_PATH_MAX];

                pthread_mutex_unlock(&watch->mutex);
                (void)config_files_find_edited(&files, watch->path, watch->is_optional, edited);
                pthread_mutex_lock(&watch->mutex);
                if (watch->n_loads != n_loads)
                        continue; /* compared with files that were read again meanwhile */
                memcpy(watch->edited, edited, sizeof(edited));
                watch->due_ns = clock_boottime_ns() + INTERVAL_NS;
                while (!watch->is_stopping && watch->n_loads == n_loads && watch->due_ns > 0)
                        (void)pthread_cond_wait(&watch->changed, &watch->mutex);
        }
        watch->has_ended = true;
        (void)pthread_cond_signal(&watch->changed);
        pthread_mutex_unlock(&watch->mutex);
        return NULL;
}

int config_watch_init(ConfigWatch *watch, const char *path, bool is_optional, const ConfigFiles *files) {
        int r;

        *watch = (ConfigWatch){ .path = path, .is_optional = is_optional, .files = *files };
        (void)pthread_mutex_init(&watch->mutex, NULL);
        lock_init_condition(&watch->changed);
        r = thread_start(&watch->thread, on_start, watch);
        watch->is_running = r == 0;
        return r;
}

void config_watch_deinit(ConfigWatch *watch) {
        const struct timespec until = clock_monotonic_after(END_NS);
        bool has_ended;
        int r = 0;

        if (!watch->is_running)
                return;

        pthread_mutex_lock(&watch->mutex);
        watch->is_stopping = true;
        (void)pthread_cond_signal(&watch->changed);
        while (!watch->has_ended && r == 0)
                r = pthread_cond_timedwait(&watch->changed, &watch->mutex, &until);
        has_ended = watch->has_ended;
        pthread_mutex_unlock(&watch->mutex);
        /* A read of a file system that does not answer ends with the process only. */
        if (!has_ended)
                return;
        (void)pthread_join(watch->thread, NULL);
        (void)pthread_cond_destroy(&watch->changed);
        (void)pthread_mutex_destroy(&watch->mutex);
        *watch = (ConfigWatch){};
}

void config_watch_set(ConfigWatch *watch, const ConfigFiles *files) {
        LOCKED(&watch->mutex);
        watch->files = *files;
        watch->n_loads++;
        watch->edited[0] = '\0';
        (void)pthread_cond_signal(&watch->changed);
}

void config_watch_get(ConfigWatch *watch, char ret[static CONFIG_PATH_MAX]) {
        LOCKED(&watch->mutex);
        memcpy(ret, watch->edited, CONFIG_PATH_MAX);
        if (watch->due_ns == 0 || clock_boottime_ns() < watch->due_ns)
                return;
        watch->due_ns = 0;
        (void)pthread_cond_signal(&watch->changed);
}
