/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "util/error_text.h"
#include "util/file.h"
#include "util/utf8.h"

int output_print_to(int fd, const Buffer *out) {
        int r;

        r = buffer_error(out);
        if (r == 0)
                r = file_write_all(fd, out->text, out->n);
        if (r == 0)
                return EXIT_DONE;

        message_print("cannot write to standard %s: %s", fd == STDERR_FILENO ? "error" : "output", error_text(-r));
        return EXIT_FAILED;
}

int output_print(const Buffer *out) {
        return output_print_to(STDOUT_FILENO, out);
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

int output_print_lines(const Buffer *out) {
        scoped(buffer_deinit) Buffer safe = {};

        if (isatty(STDOUT_FILENO) != 1 || buffer_error(out) != 0)
                return output_print(out);

        put_safe_lines(&safe, out->text, out->n);
        return output_print(&safe);
}

/* Writes to a device, a pipe or what a link leads to. */
static int write_through(const char *path, const Buffer *out) {
        scoped(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

        return fd < 0 ? -errno : file_write_all(fd, out->text, out->n);
}

int output_write_file(const char *path, const Buffer *out) {
        int r = buffer_error(out);
        struct stat st;

        if (r == 0)
                r = lstat(path, &st) == 0 && !S_ISREG(st.st_mode)
                            ? write_through(path, out)
                            : file_replace(path, out->text ?: "", out->n, 0666, false);
        if (r == 0)
                return EXIT_DONE;

        message_print("cannot write %s: %s", path, error_text(-r));
        return EXIT_FAILED;
}
