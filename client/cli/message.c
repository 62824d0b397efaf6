/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/message.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/screen.h"
#include "util/file.h"
#include "util/utf8.h"

void say(const char *format, ...) {
        scoped(buffer_deinit) Buffer text = {}, line = {};
        Screen screen = { .out = &line };
        va_list args;

        va_start(args, format);
        buffer_vprintf(&text, format, args);
        va_end(args);

        buffer_puts(&line, "perfctl: ");
        (void)screen_text(&screen, text.text ? text.text : format);
        buffer_putc(&line, '\n');

        /* In one piece, so that ranks that share a terminal do not mix their lines. */
        if (buffer_error(&line) == 0)
                (void)file_write_all(STDERR_FILENO, line.text, line.n);
}

int print_out(const Buffer *out) {
        int r;

        r = buffer_error(out);
        if (r == 0)
                r = file_write_all(STDOUT_FILENO, out->text, out->n);
        if (r == 0)
                return EXIT_DONE;

        say("Cannot write to standard output: %s", strerrordesc_np(-r));
        return EXIT_FAILED;
}

static void put_safe_lines(Buffer *out, const char *text, size_t n) {
        char safe[UTF8_SAFE_MAX];

        for (size_t i = 0; i < n;) {
                if (text[i] == '\n' || text[i] == '\t' || (text[i] == '\r' && i + 1 < n && text[i + 1] == '\n')) {
                        buffer_putc(out, text[i++]);
                        continue;
                }
                i += utf8_make_safe(text + i, n - i, safe);
                buffer_puts(out, safe);
        }
}

int print_lines_out(const Buffer *out) {
        scoped(buffer_deinit) Buffer safe = {};

        if (isatty(STDOUT_FILENO) != 1 || buffer_error(out) != 0)
                return print_out(out);

        put_safe_lines(&safe, out->text, out->n);
        return print_out(&safe);
}
