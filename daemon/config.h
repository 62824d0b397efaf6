/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Configuration
 *
 * Reads perfd.conf and its drop-ins with inih into the configurations of the subsystems. The table in config.c
 * contains each setting with its type, default and limits; perfd.conf(5) has a paragraph for each row. A file with an
 * error is rejected as a whole.
 */

#include <stddef.h>

#include "config_files.h"
#include "http/http.h"
#include "indicators/models.h"
#include "ingest/ingest.h"
#include "jobs/table/jobs.h"
#include "node/node.h"
#include "sample/detection/finder_rules.h"
#include "shares/shares.h"
#include "sockets.h"
#include "user_database.h"
#include "util/buffer.h"

#define CONFIG_DEFAULT_PATH "/etc/perfd/perfd.conf"
#define CONFIG_TEXT_MAX 256

typedef struct Config {
        NodeConfig node;
        SocketsConfig sockets;
        HttpConfig http;
        StoreConfig store;
        IngestConfig ingest;
        JobsConfig jobs;
        SharesConfig shares;
        PatternsConfig patterns;
        IndicatorsConfig indicators;
        ConfigFiles files; /* that were read */
} Config;

/* Position of an error and the expected value. Line 0: the file as a whole. */
typedef struct ConfigError {
        char file[CONFIG_TEXT_MAX];
        unsigned line;
        char text[400];
} ConfigError;

void config_defaults(Config *ret);

/*
 * Reads `path` (NULL: CONFIG_DEFAULT_PATH, which may be absent), then PATH.d/ *.conf in lexical order; later files
 * override earlier ones. lookup: of users and groups, or NULL. Returns 0, CONFIG_INVALID with *ret_error, or a negative
 * errno. *ret is written on success only.
 */
enum {
        CONFIG_INVALID = 1,
};
int config_load(const char *path, UserLookup *lookup, Config *ret, ConfigError *ret_error);

/*
 * Sets one setting from the command line, with the syntax of the file. Returns 0, or CONFIG_INVALID with
 * ret_error->text.
 */
int config_set(Config *config, const char *section, const char *key, const char *text, ConfigError *ret_error);

/*
 * Returns the directory of the store. That of a volatile store without a configured directory is next to the socket,
 * on a memory file system such as /run.
 */
void config_store_directory(const Config *config, char ret[static CONFIG_TEXT_MAX]);

/*
 * Copies the settings that may change at runtime from `fresh` to `config`. Writes the names of the other settings
 * that differ to `ret_restart` ("http.threads, …"), except those of the Unix sockets if these were passed: a restart
 * does not change these.
 */
void config_apply(Config *config, const Config *fresh, bool are_sockets_passed, Buffer *ret_restart);
/*
 * Writes the names of the settings of the Unix sockets that were changed from their defaults to `ret` ("socket.path,
 * …"), unless the sockets have these values: the settings have no effect. bound: as in Sockets.
 */
void config_list_ignored(const Config *config, const SocketsConfig *bound, Buffer *ret);

/* Returns the number of patterns for a Finder, in the order of the settings. The texts are borrowed. */
#define CONFIG_PATTERNS_MAX 7
size_t config_patterns(const PatternsConfig *config, FinderPattern ret[static CONFIG_PATTERNS_MAX]);
