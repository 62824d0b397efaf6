/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Options: perfd's command line, which wins over the configuration file. */

#include "config.h"

typedef struct Options {
        const char *config_path; /* NULL: the default one, if it is there */
        const char *root;
        const char *socket, *http, *state; /* NULL: as configured */
        bool is_volatile, check_config;
        char socket_path[CONFIG_TEXT_MAX], state_path[CONFIG_TEXT_MAX]; /* made absolute */
} Options;

/* 0: go on. OPTIONS_DONE: --help or --version was answered. OPTIONS_USAGE: the complaint is on stderr. */
enum {
        OPTIONS_DONE = 1,
        OPTIONS_USAGE,
};
int options_from_arguments(Options *ret, int argc, char *argv[]);

/* Lays the command line over a configuration. 0 or CONFIG_INVALID. */
int options_apply(const Options *options, Config *config, ConfigError *ret_error);
