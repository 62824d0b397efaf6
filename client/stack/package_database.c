/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/package_database.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cli/message.h"
#include "client/cli/program.h"
#include "client/stack/stack_cache.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/error_text.h"
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

/* The database has several forms, of which the program rpm of the system reads its own: the list is the output of
 * `rpm -qa`. */

#define PROGRAM "rpm"
#define FORMAT "%{NAME}\t%{EVR}\t%{VENDOR}\t%{ARCH}\n"
#define NOT_THERE "(none)" /* written by rpm for a tag that a package lacks */
#define KEYS "gpg-pubkey"  /* key that signs packages, listed as a package */
#define TIMEOUT_NS (30 * NS_PER_S) /* a query waits as long as another rpm holds the lock of an old database */
#define OUTPUT_BYTES_MAX (64U << 20)
#define REASON_BYTES_MAX 200
#define WORD(text) (char[]){ text } /* posix_spawn() takes words that may be changed */

/* Runs rpm without the macros of the user, which may name another database. ret_reason: the first line of its messages.
 * As program_run(). */
static int run_rpm(const char *directory, Buffer *out, int *ret_status, char ret_reason[static REASON_BYTES_MAX]) {
        scoped(buffer_deinit) Buffer path = {};
        char *words[] = { WORD(PROGRAM), WORD("--dbpath"),      (char *)directory,
                          WORD("-qa"),   WORD("--queryformat"), WORD(FORMAT),
                          NULL };
        char *environment[] = { WORD("LC_ALL=C"), WORD("HOME=/"), NULL, NULL };
        scoped(closep) int error_fd = memfd_create(PROGRAM, MFD_CLOEXEC);
        ssize_t n;
        int r;

        buffer_printf(&path, "PATH=%s", getenv("PATH") ?: "/usr/bin:/bin");
        environment[2] = path.text;
        if (buffer_error(&path) < 0 || error_fd < 0)
                return buffer_error(&path) < 0 ? -ENOMEM : -errno;
        r = program_run(&(ProgramRun){ .words = words, .environment = environment, .has_error_fd = true,
                                       .error_fd = error_fd, .timeout_ns = TIMEOUT_NS },
                        out, ret_status);
        n = pread(error_fd, ret_reason, REASON_BYTES_MAX - 1, 0);
        ret_reason[n > 0 ? n : 0] = '\0';
        ret_reason[strcspn(ret_reason, "\n")] = '\0';
        return r;
}

/* --- its output ------------------------------------------------------------------------------------- */

static Slice take_column(const char **at, char stop) {
        size_t n = strcspn(*at, "\t\n");
        Slice slice = { *at, n };

        *at += n + ((*at)[n] == stop);
        return n == strlen(NOT_THERE) && memcmp(slice.text, NOT_THERE, n) == 0 ? (Slice){} : slice;
}

static void add_packages(const char *text, StackBuilder *stack) {
        DraftPackage package = { .kind = PROGRAM };

        for (const char *at = text; *at;) {
                const char *begin = at;

                package.name = take_column(&at, '\t');
                package.version = take_column(&at, '\t');
                package.source = take_column(&at, '\t');
                package.build = take_column(&at, '\n');
                if (package.name.n != strlen(KEYS) || memcmp(package.name.text, KEYS, strlen(KEYS)) != 0)
                        stack_builder_add_valid(stack, &package);
                if (at == begin)
                        return;
        }
}

/* Adds the packages of the database in a directory, given by its absolute path. 0, PACKAGE_DATABASE_FAILED or a
 * negative errno. */
static int read_rpm(const char *directory, StackBuilder *stack) {
        scoped(buffer_deinit) Buffer out = { .n_max = OUTPUT_BYTES_MAX };
        char reason[REASON_BYTES_MAX] = "";
        int status = 0, r;

        r = run_rpm(directory, &out, &status, reason);
        if (r == -ENOMEM)
                return r;
        if (r == -ETIME)
                message_print("--stack rpm: rpm did not list %s within %u seconds", directory,
                              (unsigned)(TIMEOUT_NS / NS_PER_S));
        else if (r == -ENOENT)
                message_print("--stack rpm: %s has a database of packages, but rpm, which reads the database, is not "
                              "installed",
                              directory);
        else if (r < 0)
                message_print("--stack rpm: cannot run rpm to list %s: %s", directory, error_text(-r));
        else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                message_print("--stack rpm: rpm cannot list %s%s%s", directory, reason[0] ? ": " : "", reason);
        else {
                add_packages(out.text ?: "", stack);
                return stack->failed ? -ENOMEM : 0;
        }
        return PACKAGE_DATABASE_FAILED;
}

/* Finds the directory by its path from the root of this process: rpm runs with this root. */
static int list_rpm(const PackageDatabase *database, int root_fd, StackBuilder *stack) {
        char link[64], root[PATH_MAX], path[PATH_MAX + DIRECTORY_MAX];
        ssize_t n;

        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", root_fd);
        n = readlink(link, root, sizeof(root) - 1);
        if (n < 0)
                return -errno;
        root[n] = '\0';
        (void)snprintf(path, sizeof(path), "%s/%s", n == 1 ? "" : root, database->directory);
        return read_rpm(path, stack);
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
                if (!stack_cache_stamp_add(stamp, root_fd, path) && i == 0)
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
                scoped(stack_cache_stamp_deinit) StackStamp stamp = {};
                DatabaseListing listing = { &databases[i], root_fd };

                if (strcmp(databases[i].word, word) != 0)
                        continue;
                stack_cache_stamp_init(&stamp, databases[i].directory);
                if (make_stamp(&databases[i], root_fd, &stamp))
                        return stack_cache_get(&(StackCacheEntry){ cache, word, word, &stamp }, list_packages, &listing,
                                               stack);
        }
        return PACKAGE_DATABASE_NONE;
}
