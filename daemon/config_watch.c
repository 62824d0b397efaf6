/* SPDX-License-Identifier: Apache-2.0 */
#include "config_watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/scoped.h"
#include "util/thread.h"

#define INTERVAL_NS (14 * NS_PER_S)

typedef struct ConfigCheck {
        ConfigWatch of; /* a copy of what is compared; gets the result */
        pthread_t thread;
        atomic_flag is_left; /* by its thread, or by the loop, which does not wait for it: the second one frees it */
} ConfigCheck;

static void leave(ConfigCheck *check) {
        if (atomic_flag_test_and_set(&check->is_left))
                free(check);
}

static void *on_start(void *userdata) {
        ConfigCheck *check = userdata;
        ConfigWatch *of = &check->of;

        pthread_setname_np(pthread_self(), "perfd-config");
        (void)config_files_find_edited(&of->files, of->path, of->is_optional, of->edited);
        leave(check);
        return NULL;
}

static void start(ConfigWatch *watch) {
        ConfigCheck *check = calloc(1, sizeof(*check));

        if (!check)
                return; /* tried again at the next tick */
        check->of = *watch;
        if (thread_start(&check->thread, on_start, check) == 0)
                watch->check = TAKE(check);
        free(check);
}

void config_watch_init(ConfigWatch *watch, const char *path, bool is_optional, const ConfigFiles *files) {
        *watch = (ConfigWatch){ .path = path, .is_optional = is_optional, .files = *files };
        start(watch);
}

void config_watch_deinit(ConfigWatch *watch) {
        if (!watch->check)
                return;
        if (pthread_tryjoin_np(watch->check->thread, NULL) != 0)
                (void)pthread_detach(watch->check->thread);
        leave(TAKE(watch->check));
}

void config_watch_set(ConfigWatch *watch, const ConfigFiles *files) {
        config_watch_deinit(watch); /* it compares with files that were read again meanwhile */
        config_watch_init(watch, watch->path, watch->is_optional, files);
}

const char *config_watch_get(ConfigWatch *watch) {
        if (watch->check && pthread_tryjoin_np(watch->check->thread, NULL) == 0) {
                memcpy(watch->edited, watch->check->of.edited, sizeof(watch->edited));
                watch->due_ns = clock_boottime_ns() + INTERVAL_NS;
                free(TAKE(watch->check));
        }
        if (!watch->check && clock_boottime_ns() >= watch->due_ns)
                start(watch);
        return watch->edited;
}
