/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/utf8.h"

#define MESSAGE_MAX 1024

/* Text of limited length, truncated if it does not fit. */
typedef struct LogText {
        char text[LOG_RECORD_MAX];
        size_t n;
} LogText;

/*
 * Escapes control characters and line breaks: messages contain names chosen by others, which must not forge log lines
 * or control a terminal.
 */
static void put_safe(LogText *out, const char *text) {
        size_t n = strlen(text), i = 0;
        char safe[UTF8_SAFE_MAX];

        while (i < n) {
                i += utf8_make_safe(text + i, n - i, safe);
                if (out->n + strlen(safe) >= sizeof(out->text) - 1)
                        return;
                memcpy(out->text + out->n, safe, strlen(safe));
                out->n += strlen(safe);
        }
}

static void put_end(LogText *out) {
        assert(out->n < sizeof(out->text));
        out->text[out->n++] = '\n';
}

static void put_field(LogText *out, const LogField *field) {
        char number[24];

        assert(strspn(field->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(field->name));
        if (out->n + strlen(field->name) + 2 >= sizeof(out->text))
                return;

        (void)snprintf(number, sizeof(number), "%lld", (long long)field->number);
        put_safe(out, field->name);
        put_safe(out, "=");
        put_safe(out, field->text ? field->text : number);
        put_end(out);
}

static void write_record(LogLevel level, const LogField *fields, const char *message) {
        LogText out = {};

        put_field(&out, &(LogField){ .name = "PRIORITY", .number = (int64_t)level });
        assert(strncmp(out.text, LOG_RECORD_PREFIX, strlen(LOG_RECORD_PREFIX)) == 0);
        put_field(&out, &(LogField){ .name = "MESSAGE", .text = message });
        for (; fields && fields->name; fields++)
                put_field(&out, fields);

        /* an unbuffered stream passes a record to its writer in one call */
        (void)fwrite(out.text, 1, out.n, stderr);
}

static void write_line(LogLevel level, const char *message) {
        LogText out = {};
        char prefix[8];

        /* $JOURNAL_STREAM is set if the service manager reads stderr */
        if (getenv("JOURNAL_STREAM")) {
                (void)snprintf(prefix, sizeof(prefix), "<%d>", (int)level);
                put_safe(&out, prefix);
        } else if (level >= LOG_LEVEL_DEBUG)
                return;

        put_safe(&out, message);
        put_end(&out);
        /* a single write() keeps lines of several threads apart; a failure cannot be reported anywhere */
        if (write(STDERR_FILENO, out.text, out.n) < 0)
                return;
}

static void write_message(LogLevel level, const LogField *fields, const char *message) {
        assert(level >= LOG_LEVEL_ERR && level <= LOG_LEVEL_DEBUG);
        if (fileno(stderr) < 0)
                write_record(level, fields, message);
        else
                write_line(level, message);
}

void log_struct(LogLevel level, const LogField *fields, const char *format, ...) {
        char message[MESSAGE_MAX];
        va_list args;
        int k;

        va_start(args, format);
        k = vsnprintf(message, sizeof(message), format, args);
        va_end(args);
        if (k >= 0)
                write_message(level, fields, message);
}

bool log_limit_pass(LogLimit *limit, uint64_t now_ns, uint64_t interval_ns, unsigned burst) {
        if (limit->window_start_ns == 0 || now_ns - limit->window_start_ns >= interval_ns) {
                limit->window_start_ns = now_ns;
                limit->n_passed = 0;
        }

        assert(limit->n_passed <= burst);
        if (limit->n_passed == burst) {
                limit->n_suppressed++;
                return false;
        }

        limit->n_passed++;
        return true;
}

/* Returns the limit of the user, or else the one that has been quiet for longest; NULL if each of them had a message
 * in this interval. */
static LogLimit *find_limit(LogUserLimits *limits, uint32_t uid, uint64_t now_ns) {
        size_t oldest = 0;

        for (size_t i = 0; i < LOG_USERS_MAX; i++) {
                if (limits->of[i].window_start_ns > 0 && limits->uids[i] == uid)
                        return &limits->of[i];
                if (limits->of[i].window_start_ns < limits->of[oldest].window_start_ns)
                        oldest = i;
        }
        if (limits->of[oldest].window_start_ns > 0 &&
            now_ns - limits->of[oldest].window_start_ns < LOG_LIMIT_INTERVAL_NS)
                return NULL;

        limits->uids[oldest] = uid;
        limits->of[oldest] = (LogLimit){};
        return &limits->of[oldest];
}

void log_for_user(LogUserLimits *limits, uint32_t uid, LogLevel level, const LogField *fields, const char *format,
                  ...) {
        char message[MESSAGE_MAX], suppressed[64] = "";
        uint64_t now_ns = clock_boottime_ns();
        LogLimit *limit = find_limit(limits, uid, now_ns);
        va_list args;
        int k;

        if (!limit || !log_limit_pass(limit, now_ns, LOG_LIMIT_INTERVAL_NS, 1))
                return;

        if (limit->n_suppressed > 0)
                (void)snprintf(suppressed, sizeof(suppressed), " (%u similar messages of this user suppressed)",
                               limit->n_suppressed);
        limit->n_suppressed = 0;

        va_start(args, format);
        k = vsnprintf(message, sizeof(message) - sizeof(suppressed), format, args);
        va_end(args);
        if (k >= 0)
                write_message(level, fields, strcat(message, suppressed));
}
