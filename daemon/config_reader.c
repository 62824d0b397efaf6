/* SPDX-License-Identifier: Apache-2.0 */
#include "config_reader.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/thread.h"

#define END_NS (2 * NS_PER_S)

int config_reader_read(const Options *options, UserLookup *lookup, Config *ret, ConfigError *ret_error) {
        *ret_error = (ConfigError){};
        return config_load(options->config_path, lookup, ret, ret_error) ?:
               daemon_options_apply(options, ret, ret_error);
}

ConfigReading *config_reader_free(ConfigReading *reading) {
        if (reading)
                models_deinit(&reading->models);
        free(reading);
        return NULL;
}

static void *on_start(void *userdata) {
        ConfigReading *reading = userdata;
        int r = 0;

        pthread_setname_np(pthread_self(), "perfd-names");
        reading->r = config_reader_read(reading->options, &reading->lookup, &reading->config, &reading->error);
        if (reading->r == 0)
                r = models_read_files(&reading->models, reading->config.indicators.directory);
        if (r < 0)
                reading->r = r;
        (void)eventfd_write(reading->fd, 1);
        return NULL;
}

int config_reader_init(ConfigReader *reader) {
        *reader = (ConfigReader){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
        return reader->fd < 0 ? -errno : 0;
}

void config_reader_deinit(ConfigReader *reader) {
        if (reader->reading && !config_reader_wait(reader, END_NS))
                return; /* the thread still uses the descriptor */
        if (reader->reading)
                config_reader_free(config_reader_take(reader));
        if (reader->fd > 0)
                (void)close(reader->fd);
        *reader = (ConfigReader){};
}

int config_reader_start(ConfigReader *reader, const Options *options, bool is_lenient) {
        scoped(freep) ConfigReading *reading = NULL;
        int r;

        if (reader->reading)
                return CONFIG_READER_BUSY;
        reading = calloc(1, sizeof(*reading));
        if (!reading)
                return -ENOMEM;

        reading->options = options;
        reading->fd = reader->fd;
        reading->lookup.is_lenient = is_lenient;
        r = thread_start(&reader->thread, on_start, reading);
        if (r == 0)
                reader->reading = TAKE(reading);
        return r;
}

bool config_reader_wait(const ConfigReader *reader, uint64_t timeout_ns) {
        struct pollfd done = { .fd = reader->fd, .events = POLLIN };
        uint64_t until_ns = clock_boottime_ns() + timeout_ns, now_ns;
        int r;

        do {
                now_ns = clock_boottime_ns();
                r = poll(&done, 1, now_ns < until_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0);
        } while (r < 0 && errno == EINTR);
        return r > 0;
}

ConfigReading *config_reader_take(ConfigReader *reader) {
        eventfd_t unused;

        (void)pthread_join(reader->thread, NULL);
        (void)eventfd_read(reader->fd, &unused);
        return TAKE(reader->reading);
}
