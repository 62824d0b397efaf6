#include "util/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void log_line(LogLevel level, const char *format, ...) {
        char line[1024];
        va_list args;
        int n = 0, k;

        /* $JOURNAL_STREAM is set where the service manager reads our stderr. */
        if (getenv("JOURNAL_STREAM"))
                n = snprintf(line, sizeof(line), "<%d>", (int)level);
        else if (level >= LOG_LEVEL_DEBUG)
                return;

        va_start(args, format);
        k = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
        va_end(args);
        if (k < 0)
                return;

        n = (int)strnlen(line, sizeof(line) - 2);
        line[n++] = '\n';
        /* One write, so that lines of several threads do not mix. A log that cannot be written has nobody to be told. */
        if (write(STDERR_FILENO, line, (size_t)n) < 0)
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
