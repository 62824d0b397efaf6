/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/package_database.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "client/stack/rpm_list.h"
#include "client/stack/stack_cache.h"
#include "util/file.h"
#include "util/scoped.h"

#define STATUS_BYTES_MAX (64U << 20)

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

/* Returns false if the first file is missing. A reader may create an empty log. */
static bool make_stamp(const PackageDatabase *database, int root_fd, StackStamp *stamp) {
        for (size_t i = 0; i < FILES_MAX && database->files[i]; i++) {
                char path[2 * DIRECTORY_MAX];
                struct stat st;

                (void)snprintf(path, sizeof(path), "%s/%s", database->directory, database->files[i]);
                if (i > 0 && (fstatat(root_fd, path, &st, 0) < 0 || st.st_size == 0))
                        continue;
                if (!stack_stamp_add(stamp, root_fd, path) && i == 0)
                        return false;
        }
        return true;
}

typedef struct DatabaseListing {
        const PackageDatabase *database;
        int root_fd;
} DatabaseListing;

static int list_packages(void *userdata, StackBuilder *stack) {
        const DatabaseListing *listing = userdata;

        return listing->database->list(listing->database, listing->root_fd, stack);
}

int package_database_read(const char *word, int root_fd, const char *cache, StackBuilder *stack) {
        for (size_t i = 0; i < N_ELEMENTS(databases); i++) {
                scoped(stack_stamp_deinit) StackStamp stamp = {};
                DatabaseListing listing = { &databases[i], root_fd };

                if (strcmp(databases[i].word, word) != 0)
                        continue;
                stack_stamp_init(&stamp, databases[i].directory);
                if (make_stamp(&databases[i], root_fd, &stamp))
                        return stack_cache_get(&(StackCacheEntry){ cache, word, word, &stamp }, list_packages, &listing, stack);
        }
        return PACKAGE_DATABASE_NONE;
}
