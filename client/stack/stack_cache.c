/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/stack_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/scoped.h"
#include "util/sha256.h"

#define FORM "perfd-packages-2"
#define CACHE_BYTES_MAX (64U << 20)
#define ENVIRONMENTS_MAX 64U /* of one kind */

static const char *const columns[] = { "name", "version", "source", "build", "hash" };

/* --- stamps -------------------------------------------------------------------------------------- */

/* A file that changed less than this before it was read could change again without another time or size. */
#define SETTLED_NS (UINT64_C(2) * NS_PER_S)

void stack_cache_stamp_init(StackStamp *stamp, const char *subject) {
        *stamp = (StackStamp){ .is_settled = true };
        buffer_puts(&stamp->text, subject);
}

void stack_cache_stamp_deinit(StackStamp *stamp) {
        buffer_deinit(&stamp->text);
}

bool stack_cache_stamp_add(StackStamp *stamp, int dir_fd, const char *path) {
        uint64_t changed_ns;
        struct stat st;

        if (fstatat(dir_fd, path, &st, 0) < 0)
                return false;
        changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
        stamp->is_settled &= changed_ns + SETTLED_NS <= clock_realtime_ns();
        buffer_printf(&stamp->text, " %s %ju:%ju %" PRIu64 " %jd", path, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
                      changed_ns, (intmax_t)st.st_size);
        return true;
}

/* --- reading ---------------------------------------------------------------------------------------- */

/* Cuts the text at the character. Returns the rest, or NULL without the character. */
static char *cut(char *text, char at) {
        char *end = strchr(text, at);

        if (!end)
                return NULL;
        *end = '\0';
        return end + 1;
}

static bool take_package(char *line, DraftPackage *package) {
        Slice *const slices[N_ELEMENTS(columns)] = { &package->name, &package->version, &package->source,
                                                     &package->build, &package->hashes[0] };

        for (size_t i = 0; i < N_ELEMENTS(columns); i++) {
                char *next = cut(line, '\t');

                if (!next && i + 1 < N_ELEMENTS(columns))
                        return false;
                *slices[i] = stack_builder_slice(line);
                line = next;
        }
        package->n_hashes = package->hashes[0].n > 0;
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

enum {
        CACHE_MISS = 1,
};

static int read_file(const char *path, const char *stamp, const char *kind, StackBuilder *stack) {
        DraftPackage package = { .kind = kind };
        scoped(freep) char *text = NULL;
        size_t n, first = stack->n;
        char *line, *next;

        if (!is_ours(path) || file_read_at(AT_FDCWD, path, CACHE_BYTES_MAX, &text, &n) < 0 || strlen(text) != n)
                return CACHE_MISS;
        line = cut(text, '\n');
        if (!line || strncmp(text, FORM " ", strlen(FORM " ")) != 0 || strcmp(text + strlen(FORM " "), stamp) != 0 ||
            !is_complete(line))
                return CACHE_MISS;

        for (; (next = cut(line, '\n')) && *next; line = next) {
                if (!take_package(line, &package)) {
                        stack->n = first;
                        return CACHE_MISS;
                }
                stack_builder_add_valid(stack, &package);
        }
        return stack->failed ? -ENOMEM : 0;
}

/* --- writing ---------------------------------------------------------------------------------------- */

/* Returns false if a text has one of the characters that separate columns and lines, or the package has several
 * hashes. */
static bool put_package(const Value *package, Buffer *out) {
        const Value *hashes = value_get(package, "hashes");

        if (hashes && hashes->n_items > 1)
                return false;
        for (size_t i = 0; i < N_ELEMENTS(columns); i++) {
                bool is_hash = hashes && strcmp(columns[i], "hash") == 0;
                const char *text = (is_hash ? hashes->items[0].string : value_get_string(package, columns[i])) ?: "";

                if (strpbrk(text, "\t\n"))
                        return false;
                buffer_puts(out, text);
                buffer_putc(out, i + 1 < N_ELEMENTS(columns) ? '\t' : '\n');
        }
        return true;
}

static void write_file(const char *path, const char *stamp, const StackBuilder *stack, size_t first) {
        scoped(buffer_deinit) Buffer text = {};

        if (stack->failed || stack->n == first)
                return;
        buffer_printf(&text, FORM " %s\n", stamp);
        for (size_t i = first; i < stack->n; i++)
                if (!put_package(&stack->packages[i], &text))
                        return;
        buffer_printf(&text, "%zu\n", stack->n - first);
        if (buffer_error(&text) == 0 && file_make_parents(path, 0700) == 0)
                (void)file_replace(path, text.text, text.n, 0600, false);
}

const char *stack_cache_name(const char *word, const char *prefix, char ret[static STACK_CACHE_NAME_MAX]) {
        uint8_t digest[SHA256_BYTES];

        sha256_of(prefix, strlen(prefix), digest);
        (void)snprintf(ret, STACK_CACHE_NAME_MAX, "%s-%02u", word, digest[0] % ENVIRONMENTS_MAX);
        return ret;
}

int stack_cache_get(const StackCacheEntry *entry, int (*list)(void *userdata, StackBuilder *stack), void *userdata,
                    StackBuilder *stack) {
        const StackStamp *stamp = entry->stamp;
        size_t first = stack->n;
        char path[PATH_MAX];
        bool is_cached;
        int r;

        r = buffer_error(&stamp->text);
        if (r < 0)
                return r;
        is_cached = entry->directory &&
                    snprintf(path, sizeof(path), "%s/%s", entry->directory, entry->name) < (int)sizeof(path) &&
                    !strchr(stamp->text.text, '\n');
        if (is_cached) {
                r = read_file(path, stamp->text.text, entry->kind, stack);
                if (r != CACHE_MISS)
                        return r;
        }
        r = list(userdata, stack);
        if (r == 0 && is_cached && stamp->is_settled)
                write_file(path, stamp->text.text, stack, first);
        return r;
}
