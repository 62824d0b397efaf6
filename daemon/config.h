/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Configuration
 *
 * perfd.conf and its drop-ins, read with inih into one plain struct. One table (config.c) holds every
 * setting with its type, default and limits; perfd.conf(5) has a paragraph for each of its lines. A file is
 * taken whole or not at all.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/finder.h"
#include "util/buffer.h"

#define CONFIG_DEFAULT_PATH "/etc/perfd/perfd.conf"
#define CONFIG_TEXT_MAX 256
#define CONFIG_NO_GROUP UINT64_MAX

typedef struct Config {
        uint64_t interval_ns, filesystems_interval_ns;
        char socket_path[CONFIG_TEXT_MAX];
        uint64_t socket_mode;
        uint64_t admin_gid; /* CONFIG_NO_GROUP: only root acts for others */
        char http_listen[CONFIG_TEXT_MAX]; /* ADDRESS:PORT, or "off" */
        char http_socket[CONFIG_TEXT_MAX]; /* "": http.sock beside socket_path */
        uint64_t http_threads, http_connections, http_connections_per_ip;
        uint64_t http_timeout_ns, http_query_timeout_ns;
        char store_directory[CONFIG_TEXT_MAX];
        uint64_t store_volatile; /* 0 or 1 */
        uint64_t store_max_size, store_keep_samples_ns, store_keep_jobs_ns, store_keep_results_ns;
        uint64_t store_queue_rows, store_queue_size;
        uint64_t frame_size, connections, connections_per_uid, in_flight, jobs, jobs_per_uid, string_size;
        uint64_t checkpoint_interval_ns, timeline_points, linger_ns, phases;
        uint64_t metrics_jobs, metrics_finished_ns;
        char indicators_directory[CONFIG_TEXT_MAX]; /* "": none */
        uint64_t indicators_policy; /* a ModelPolicy */
        char patterns_slurm[CONFIG_TEXT_MAX], patterns_slurm_sluid[CONFIG_TEXT_MAX], patterns_slurm_v1[CONFIG_TEXT_MAX];
        char patterns_kubernetes[CONFIG_TEXT_MAX];
        char patterns_scope[CONFIG_TEXT_MAX], patterns_service[CONFIG_TEXT_MAX], patterns_other[CONFIG_TEXT_MAX];
} Config;

/* Where the trouble is and what was expected. line 0: the file as a whole. */
typedef struct ConfigError {
        char file[CONFIG_TEXT_MAX];
        unsigned line;
        char text[400];
} ConfigError;

void config_defaults(Config *ret);

/*
 * Reads `path` (NULL: CONFIG_DEFAULT_PATH, which may be absent) and then PATH.d/ *.conf in lexical order,
 * later files winning. 0, CONFIG_INVALID with *ret_error, or a negative errno. *ret is written on success only.
 */
enum {
        CONFIG_INVALID = 1,
};
int config_load(const char *path, Config *ret, ConfigError *ret_error);

/* Sets one setting as a line of the file would; for the command line. 0 or CONFIG_INVALID with ret_error->text. */
int config_set(Config *config, const char *section, const char *key, const char *text, ConfigError *ret_error);

/* A volatile store that was given no directory lies beside the socket, in memory like /run. Call once all settings are in. */
void config_place_volatile_store(Config *config);

/* Copies what may change while running from `fresh` into `config`; names in `ret_restart` ("http.listen, …") what differs and may not. */
void config_apply(Config *config, const Config *fresh, Buffer *ret_restart);

/* What a Finder looks for, in the order of the settings. The texts are the configuration's own. Returns how many there are. */
#define CONFIG_PATTERNS_MAX 7
size_t config_patterns(const Config *config, FinderPattern ret[static CONFIG_PATTERNS_MAX]);
