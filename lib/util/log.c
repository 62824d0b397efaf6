/* SPDX-License-Identifier: Apache-2.0 */
#include "util/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/utf8.h"

/* Messages quote names that others chose: what could be taken for another line, or for a terminal's commands, is escaped. */
static size_t put_safe(char *ret, size_t n_ret, const char *text) {
        size_t n = strlen(text), n_out = 0, i = 0;
        char safe[UTF8_SAFE_MAX];

        while (i < n) {
                i += utf8_make_safe(text + i, n - i, safe);
                if (n_out + strlen(safe) > n_ret)
                        break;
                memcpy(ret + n_out, safe, strlen(safe));
                n_out += strlen(safe);
        }
        return n_out;
}

void log_line(LogLevel level, const char *format, ...) {
        char message[1024], line[1100];
        va_list args;
        size_t n = 0;
        int k;

        /* $JOURNAL_STREAM is set where the service manager reads our stderr. */
        if (getenv("JOURNAL_STREAM"))
                n = (size_t)snprintf(line, sizeof(line), "<%d>", (int)level);
        else if (level >= LOG_LEVEL_DEBUG)
                return;

        va_start(args, format);
        k = vsnprintf(message, sizeof(message), format, args);
        va_end(args);
        if (k < 0)
                return;

        n += put_safe(line + n, sizeof(line) - n - 1, message);
        line[n++] = '\n';
        /* One write, so that lines of several threads do not mix. A log that cannot be written has nobody to be told. */
        if (write(STDERR_FILENO, line, n) < 0)
                return;
}

int log_limit_pass(LogLimit *limit, uint64_t now_ns, uint64_t interval_ns, unsigned burst) {
        if (limit->window_start_ns == 0 || now_ns - limit->window_start_ns >= interval_ns) {
                limit->window_start_ns = now_ns;
                limit->n_passed = 0;
        }

        if (limit->n_passed >= burst) {
                limit->n_held++;
                return 0;
        }

        limit->n_passed++;
        return 1;
}
