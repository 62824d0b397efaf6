/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Log
 *
 * One line to stderr, with the priority prefix <N> that the journal reads when
 * stderr is the journal, else plain. Only daemon/'s top logs above debug (see
 * conventions); messages say what was tried and what happens next.
 */

#include <stdint.h>

typedef enum LogLevel {
        LOG_LEVEL_ERR = 3,
        LOG_LEVEL_WARNING = 4,
        LOG_LEVEL_NOTICE = 5,
        LOG_LEVEL_INFO = 6,
        LOG_LEVEL_DEBUG = 7,
} LogLevel;

void log_line(LogLevel level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_err(...) log_line(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Lets a message through at most `burst` times each `interval_ns`; counts what it held back. Owned by its user, zeroed. */
typedef struct LogLimit {
        uint64_t window_start_ns;
        unsigned n_passed;
        unsigned n_held;
} LogLimit;
int log_limit_pass(LogLimit *limit, uint64_t now_ns, uint64_t interval_ns, unsigned burst);
