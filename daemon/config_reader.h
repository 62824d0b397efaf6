/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Configuration reader: reads the configuration in a thread
 *
 * A directory service that resolves names of users and groups may not answer for a long time, and the files, also
 * those of indicator models, may be on a slow file system: the event loop must not wait for them. It gets a descriptor
 * that is readable when the reading is done. There is one reading at a time.
 */

#include <pthread.h>

#include "config.h"
#include "daemon_options.h"
#include "indicators/models.h"
#include "util/scoped.h"

typedef struct ConfigReading {
        const Options *options; /* borrowed */
        int fd;                 /* of the reader */
        UserLookup lookup;
        int r; /* 0, or as config_load() */
        Config config;
        ConfigError error;
        Models models; /* of files */
} ConfigReading;

/* Frees a reading that was taken. */
ConfigReading *config_reader_free(ConfigReading *reading);
DEFINE_SCOPED(ConfigReading, config_reader_free);

typedef struct ConfigReader {
        int fd; /* eventfd: readable when the thread is done */
        pthread_t thread;
        ConfigReading *reading; /* of the thread; NULL: none */
} ConfigReader;

/* Reads the configuration now. 0, CONFIG_INVALID with *ret_error, or a negative errno. */
int config_reader_read(const Options *options, UserLookup *lookup, Config *ret, ConfigError *ret_error);

/* 0 or a negative errno. */
int config_reader_init(ConfigReader *reader);
/* Waits for the thread for 2 s. After that, it ends with the process. */
void config_reader_deinit(ConfigReader *reader);

enum {
        CONFIG_READER_BUSY = 1,
};
/* Starts to read. is_lenient: unknown names of users and groups are noted. options: borrowed until the process ends.
 * 0, CONFIG_READER_BUSY, or a negative errno. */
int config_reader_start(ConfigReader *reader, const Options *options, bool is_lenient);
/* Waits until the reading is done. Returns false after the time. */
bool config_reader_wait(const ConfigReader *reader, uint64_t timeout_ns);
/* Returns the reading that is done. The caller frees it. */
ConfigReading *config_reader_take(ConfigReader *reader);
