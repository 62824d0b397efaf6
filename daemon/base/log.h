/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Log
 *
 * A message is one line on stderr: with the priority prefix <N> of sd-daemon(3) if $JOURNAL_STREAM is set, else plain
 * and without debug messages. If stderr is a stream without a descriptor (see daemon/journal.c), a message is a
 * single write of a record in journald's native format: "PRIORITY=…\nMESSAGE=…\nNAME=value\n…".
 *
 * Only the upper folders log above debug level. A message says what failed and what happens next.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum LogLevel {
        LOG_LEVEL_ERR = 3,
        LOG_LEVEL_WARNING = 4,
        LOG_LEVEL_NOTICE = 5,
        LOG_LEVEL_INFO = 6,
        LOG_LEVEL_DEBUG = 7,
} LogLevel;

/* First bytes and maximum size of a record. */
#define LOG_RECORD_PREFIX "PRIORITY="
#define LOG_RECORD_MAX 4096

/*
 * A journal field. The name consists of capital letters, digits and '_'. The value is `text`, or `number` if text is
 * NULL.
 */
typedef struct LogField {
        const char *name;
        const char *text;
        int64_t number;
} LogField;

#define LOG_TEXT(field, value) { .name = (field), .text = (value) }
#define LOG_NUMBER(field, value) { .name = (field), .number = (value) }

/* Logs a message with fields, an array that ends with an entry without a name; may be NULL. */
void log_struct(LogLevel level, const LogField *fields, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define log_err(...) log_struct(LOG_LEVEL_ERR, NULL, __VA_ARGS__)
#define log_warning(...) log_struct(LOG_LEVEL_WARNING, NULL, __VA_ARGS__)
#define log_notice(...) log_struct(LOG_LEVEL_NOTICE, NULL, __VA_ARGS__)
#define log_info(...) log_struct(LOG_LEVEL_INFO, NULL, __VA_ARGS__)
#define log_debug(...) log_struct(LOG_LEVEL_DEBUG, NULL, __VA_ARGS__)

/* Rate limit for one kind of message. The owner embeds one for each kind, initially zero. */
#define LOG_LIMIT_INTERVAL_NS (60 * UINT64_C(1000000000))

typedef struct LogLimit {
        uint64_t window_start_ns;
        unsigned n_passed;
        unsigned n_suppressed;
} LogLimit;

/* Returns true if the message may be logged now. Otherwise the message is counted in n_suppressed. */
bool log_limit_pass(LogLimit *limit, uint64_t now_ns, uint64_t interval_ns, unsigned burst);

/*
 * Rate limit for a kind of message that a client can cause: one message per user and LOG_LIMIT_INTERVAL_NS, of at
 * most LOG_USERS_MAX users. The owner embeds one for each kind, initially zero.
 */
#define LOG_USERS_MAX 64U

typedef struct LogUserLimits {
        LogLimit of[LOG_USERS_MAX];
        uint32_t uids[LOG_USERS_MAX];
} LogUserLimits;

/* As log_struct(), with the limit of the user. The first message after suppressed ones ends with their number. */
void log_for_user(LogUserLimits *limits, uint32_t uid, LogLevel level, const LogField *fields, const char *format, ...)
        __attribute__((format(printf, 5, 6)));
