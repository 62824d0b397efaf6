/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Options: perfd's command line, which overrides the configuration file. */

#include "config.h"

/* Exit codes as in LSB and perfd(8). */
enum {
        EXIT_USAGE = 2,
        EXIT_PERMISSION = 4,
        EXIT_NOT_CONFIGURED = 6,
};

typedef struct Options {
        const char *config_path; /* NULL: the default file, if it exists */
        const char *root;
        const char *socket, *http, *state; /* NULL: as in the configuration */
        const char *db;      /* database command to run instead of the daemon; NULL: none */
        char **db_files;     /* arguments of `db`; NULL-terminated */
        bool is_volatile, check_config;
        char socket_path[CONFIG_TEXT_MAX], state_path[CONFIG_TEXT_MAX]; /* absolute paths */
} Options;

/* 0: continue. OPTIONS_DONE: --help or --version was printed. OPTIONS_USAGE: an error was printed on stderr. */
enum {
        OPTIONS_DONE = 1,
        OPTIONS_USAGE,
};
int daemon_options_parse(Options *ret, int argc, char *argv[]);

/* Overrides settings of a configuration with those of the command line. Returns 0 or CONFIG_INVALID. */
int daemon_options_apply(const Options *options, Config *config, ConfigError *ret_error);
