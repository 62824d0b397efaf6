/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/stack_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/file.h"
#include "util/scoped.h"

#define FORM "perfd-packages-1"
#define CACHE_BYTES_MAX (64U << 20)

static const char *const columns[] = { "name", "version", "source", "build" };

/* --- reading ---------------------------------------------------------------------------------------- */

/* Cuts the text at the character. Returns what follows, or NULL without the character. */
static char *cut(char *text, char at) {
        char *end = strchr(text, at);

        if (!end)
                return NULL;
        *end = '\0';
        return end + 1;
}

static bool take_package(char *line, DraftPackage *package) {
        Slice *const slices[N_ELEMENTS(columns)] = { &package->name, &package->version, &package->source, &package->build };

        for (size_t i = 0; i < N_ELEMENTS(columns); i++) {
                char *next = cut(line, '\t');

                if (!next && i + 1 < N_ELEMENTS(columns))
                        return false;
                *slices[i] = stack_builder_slice(line);
                line = next;
        }
        return !line && package->name.n > 0;
}

/* Returns true if the lines are n packages and their number. The packages are in the text until then. */
static bool is_complete(const char *lines) {
        size_t n = 0;
        char end[32];

        for (const char *line = lines; (line = strchr(line, '\n')); line++)
                n++;
        (void)snprintf(end, sizeof(end), "\n%zu\n", n > 0 ? n - 1 : 0);
        return n > 1 && strlen(lines) >= strlen(end) && strcmp(lines + strlen(lines) - strlen(end), end) == 0;
}

static bool is_ours(const char *path) {
        struct stat st;

        return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

int stack_cache_read(const char *path, const char *stamp, const char *kind, StackBuilder *stack) {
        DraftPackage package = { .kind = kind };
        scoped(freep) char *text = NULL;
        size_t n, first = stack->n;
        char *line, *next;

        if (!is_ours(path) || file_read_at(AT_FDCWD, path, CACHE_BYTES_MAX, &text, &n) < 0 || strlen(text) != n)
                return STACK_CACHE_MISS;
        line = cut(text, '\n');
        if (!line || strncmp(text, FORM " ", strlen(FORM " ")) != 0 || strcmp(text + strlen(FORM " "), stamp) != 0 || !is_complete(line))
                return STACK_CACHE_MISS;

        for (; (next = cut(line, '\n')) && *next; line = next) {
                if (!take_package(line, &package)) {
                        stack->n = first;
                        return STACK_CACHE_MISS;
                }
                stack_builder_add_valid(stack, &package);
        }
        return stack->failed ? -ENOMEM : 0;
}

/* --- writing ---------------------------------------------------------------------------------------- */

/* Returns false if a text has one of the characters that separate columns and lines. */
static bool put_package(const Value *package, Buffer *out) {
        for (size_t i = 0; i < N_ELEMENTS(columns); i++) {
                const char *text = value_get_string(package, columns[i]) ?: "";

                if (strpbrk(text, "\t\n"))
                        return false;
                buffer_puts(out, text);
                buffer_putc(out, i + 1 < N_ELEMENTS(columns) ? '\t' : '\n');
        }
        return true;
}

static int make_directory_of(const char *path) {
        char directory[PATH_MAX];
        const char *slash = strrchr(path, '/');

        if (!slash || slash == path || (size_t)(slash - path) >= sizeof(directory))
                return -EINVAL;
        memcpy(directory, path, (size_t)(slash - path));
        directory[slash - path] = '\0';
        return file_make_dirs(directory, 0700);
}

void stack_cache_write(const char *path, const char *stamp, const StackBuilder *stack, size_t first) {
        scoped(buffer_deinit) Buffer text = {};

        if (stack->failed || stack->n == first)
                return;
        buffer_printf(&text, FORM " %s\n", stamp);
        for (size_t i = first; i < stack->n; i++)
                if (!put_package(&stack->packages[i], &text))
                        return;
        buffer_printf(&text, "%zu\n", stack->n - first);
        if (buffer_error(&text) == 0 && make_directory_of(path) == 0)
                (void)file_replace(path, text.text, text.n, 0600, false);
}
