/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/message.h"

#include "client/cli/screen.h"
#include "util/file.h"

void message_print(const char *format, ...) {
        scoped(buffer_deinit) Buffer text = {}, line = {};
        Screen screen = { .out = &line };
        va_list args;

        va_start(args, format);
        buffer_vprintf(&text, format, args);
        va_end(args);

        buffer_puts(&line, "perfctl: ");
        (void)screen_text(&screen, text.text ? text.text : format);
        buffer_putc(&line, '\n');

        /* A single write() keeps the lines of several ranks on one terminal apart. */
        if (buffer_error(&line) == 0)
                (void)file_write_all(STDERR_FILENO, line.text, line.n);
}
