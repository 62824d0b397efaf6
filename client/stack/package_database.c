/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/package_database.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "client/stack/rpm_list.h"
#include "client/stack/stack_cache.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/scoped.h"

#define STATUS_BYTES_MAX (64U << 20)

/* A file that changed less than this before it was read could change again without another time or size. */
#define SETTLED_NS (UINT64_C(2) * NS_PER_S)

#define DIRECTORY_MAX 64U
#define FILES_MAX 2U

typedef struct PackageDatabase {
        const char *word;
        const char *directory; /* below the root */
        const char *files[FILES_MAX]; /* the database, and its log of changes; NULL: none */
        int (*list)(const struct PackageDatabase *database, int root_fd, StackBuilder *stack);
} PackageDatabase;

/* --- dpkg ------------------------------------------------------------------------------------------- */

/* Reads the paragraphs of dpkg's status file. */
static int list_dpkg(const PackageDatabase *database, int root_fd, StackBuilder *stack) {
        DraftPackage package = { .kind = "dpkg" };
        scoped(freep) char *text = NULL;
        char path[2 * DIRECTORY_MAX];
        int r;

        (void)snprintf(path, sizeof(path), "%s/%s", database->directory, database->files[0]);
        r = file_read_at(root_fd, path, STATUS_BYTES_MAX, &text, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : PACKAGE_DATABASE_NONE;
        for (char *paragraph = text, *end; paragraph && *paragraph; paragraph = end) {
                Slice status;

                end = strstr(paragraph, "\n\n");
                if (end) {
                        *end = '\0';
                        end += 2;
                }
                status = stack_builder_find_header(paragraph, "Status: ");
                package.name = stack_builder_find_header(paragraph, "Package: ");
                package.version = stack_builder_find_header(paragraph, "Version: ");
                package.build = stack_builder_find_header(paragraph, "Architecture: ");
                if (package.name.text && status.n > 10 && memcmp(status.text + status.n - 10, " installed", 10) == 0)
                        stack_builder_add_valid(stack, &package);
        }
        return 0;
}

/* --- rpm -------------------------------------------------------------------------------------------- */

/* Finds the directory by its path from the root of this process: rpm runs with this root. */
static int list_rpm(const PackageDatabase *database, int root_fd, StackBuilder *stack) {
        char link[64], root[PATH_MAX], path[PATH_MAX + DIRECTORY_MAX];
        ssize_t n;
        int r;

        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", root_fd);
        n = readlink(link, root, sizeof(root) - 1);
        if (n < 0)
                return -errno;
        root[n] = '\0';
        (void)snprintf(path, sizeof(path), "%s/%s", n == 1 ? "" : root, database->directory);
        r = rpm_list_read(path, stack);
        return r == RPM_LIST_FAILED ? PACKAGE_DATABASE_FAILED : r;
}

/* --- the table -------------------------------------------------------------------------------------- */

static const PackageDatabase databases[] = { /* the first that exists is read */
        { "dpkg", "var/lib/dpkg", { "status" }, list_dpkg },
        { "rpm", "usr/lib/sysimage/rpm", { "rpmdb.sqlite", "rpmdb.sqlite-wal" }, list_rpm },
        { "rpm", "usr/lib/sysimage/rpm", { "Packages.db" }, list_rpm },
        { "rpm", "var/lib/rpm", { "rpmdb.sqlite", "rpmdb.sqlite-wal" }, list_rpm },
        { "rpm", "var/lib/rpm", { "Packages.db" }, list_rpm },
        { "rpm", "var/lib/rpm", { "Packages" }, list_rpm },
};

/* The state of a database: identity, time of the last change and size of its files. */
typedef struct Stamp {
        Buffer text; /* owned */
        bool is_settled;
} Stamp;

static void stamp_deinit(Stamp *stamp) {
        buffer_deinit(&stamp->text);
}

/* Returns false if the first file is missing. */
static bool make_stamp(const PackageDatabase *database, int root_fd, Stamp *ret) {
        uint64_t now_ns = clock_realtime_ns();

        ret->is_settled = true;
        buffer_clear(&ret->text);
        buffer_puts(&ret->text, database->directory);
        for (size_t i = 0; i < FILES_MAX && database->files[i]; i++) {
                char path[2 * DIRECTORY_MAX];
                uint64_t changed_ns;
                struct stat st;
                bool is_there;

                (void)snprintf(path, sizeof(path), "%s/%s", database->directory, database->files[i]);
                is_there = fstatat(root_fd, path, &st, 0) == 0;
                if (!is_there && i == 0)
                        return false;
                if (!is_there || (i > 0 && st.st_size == 0)) /* a reader may create an empty log */
                        continue;
                changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
                ret->is_settled &= changed_ns + SETTLED_NS <= now_ns;
                buffer_printf(&ret->text, " %s %ju:%ju %" PRIu64 " %jd", database->files[i], (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
                              changed_ns, (intmax_t)st.st_size);
        }
        return true;
}

static int read_database(const PackageDatabase *database, const Stamp *stamp, int root_fd, const char *cache, StackBuilder *stack) {
        char path[PATH_MAX];
        size_t first = stack->n;
        bool is_cached;
        int r;

        is_cached = cache && snprintf(path, sizeof(path), "%s/%s", cache, database->word) < (int)sizeof(path);
        if (is_cached) {
                r = stack_cache_read(path, stamp->text.text, database->word, stack);
                if (r != STACK_CACHE_MISS)
                        return r;
        }
        r = database->list(database, root_fd, stack);
        if (r == 0 && is_cached && stamp->is_settled)
                stack_cache_write(path, stamp->text.text, stack, first);
        return r;
}

int package_database_read(const char *word, int root_fd, const char *cache, StackBuilder *stack) {
        scoped(stamp_deinit) Stamp stamp = {};

        for (size_t i = 0; i < N_ELEMENTS(databases); i++) {
                if (strcmp(databases[i].word, word) != 0 || !make_stamp(&databases[i], root_fd, &stamp))
                        continue;
                if (buffer_error(&stamp.text) < 0)
                        return -ENOMEM;
                return read_database(&databases[i], &stamp, root_fd, cache, stack);
        }
        return PACKAGE_DATABASE_NONE;
}
