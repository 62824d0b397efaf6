/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/program.h"
#include "client/matrix/results_file.h"
#include "client/matrix/results_publish.h"
#include "client/matrix/test_values.h"
#include "client/matrix/value_cache.h"
#include "util/error_text.h"
#include "util/file.h"
#include "util/scoped.h"

/*
 * Directories and archives of test results from servers, by wget and tar
 *
 * Nothing is written outside of one directory, and no file larger than RESULTS_FETCH_BYTES_MAX.
 */

#define RESULTS_FETCH_BYTES_MAX (UINT64_C(16) << 30) /* of a file, of all files of a URL, and of those of an archive */
#define RESULTS_FETCH_MEMBERS_MAX 100000U /* of an archive */

#define LISTING_BYTES_MAX (64U * 1024U * 1024U)
#define TEST_FILES "settings,settings.*,exit_code,skip,.uuid" /* see test_tree.h */
#define LIST "tar", "--list", "--absolute-names", "--quoting-style=escape"
#define WGET "wget", "--no-verbose", "--timeout=30", "--tries=3"

/* --- programs ------------------------------------------------------------------------------------- */

static void limit_files(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur > RESULTS_FETCH_BYTES_MAX) {
                limit.rlim_cur = RESULTS_FETCH_BYTES_MAX;
                (void)setrlimit(RLIMIT_FSIZE, &limit);
        }
        (void)setenv("LC_ALL", "C.UTF-8", true);
}

/* Runs a program. out: its output; NULL: it is passed on. Returns EXIT_DONE, or EXIT_FAILED after a message. */
static int run(const char *const *command, const char *about, Buffer *out) {
        int status = 0, r;

        r = program_run(&(ProgramRun){ .words = (char *const *)command }, out, &status);
        if (r == -EFBIG)
                message_print("%s: the archive has too many members", about);
        else if (r < 0)
                message_print("%s cannot be run: %s", command[0], error_text(-r));
        else if (WIFSIGNALED(status))
                message_print("%s: %s was ended by signal %d%s", about, command[0], WTERMSIG(status),
                              WTERMSIG(status) == SIGXFSZ ? ": a file is larger than 16 GiB" : "");
        else if (WEXITSTATUS(status) != 0)
                message_print("%s: %s exited with %d", about, command[0], WEXITSTATUS(status));
        else
                return EXIT_DONE;
        return EXIT_FAILED;
}

/* --- directories ---------------------------------------------------------------------------------- */

/* wget compares names only: the last part of a pattern, in which * stands for any name. Returns false if all files are
 * wanted. */
static bool put_names(const Value *important, Buffer *out) {
        buffer_puts(out, TEST_FILES);
        for (size_t i = 0; important && i < important->n_items; i++) {
                const char *pattern = important->items[i].string, *slash = strrchr(pattern, '/');
                const char *name = slash ? slash + 1 : pattern;

                if (!*name || strchr(name, ',') || strcmp(name, "*") == 0)
                        return false;
                buffer_printf(out, ",%s", name);
        }
        return important;
}

/* resume: of the command line; a file that was changed here cannot be continued, and is fetched again. */
static int fetch_names(const char *url, const char *directory, const char *choice, const char *names,
                       const char *resume) {
        char quota[32];

        (void)snprintf(quota, sizeof(quota), "--quota=%" PRIu64, RESULTS_FETCH_BYTES_MAX);
        return run((const char *const[]){ WGET, resume, "--timestamping", "--recursive", "--level=32", "--no-parent",
                                          "--execute", "robots=off", quota, "--directory-prefix", directory, choice,
                                          names, url, NULL },
                   url, NULL);
}

static int fetch_directory(const char *url, const char *directory, const Value *important) {
        scoped(buffer_deinit) Buffer names = {};
        bool is_part = put_names(important, &names);

        if (buffer_error(&names) < 0)
                return command_fail(-ENOMEM);
        return fetch_names(url, directory, is_part ? "--accept" : "--reject",
                           is_part ? names.text : "index.html*," VALUE_CACHE_NAME, "--continue");
}

/* --- archives ------------------------------------------------------------------------------------- */

/* Copies the name of an archive from its URL, and returns the length without the suffix. 0: the URL names none. */
static size_t archive_name(const char *url, char ret[static NAME_MAX + 1]) {
        static const char *const suffixes[] = { ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst" };
        size_t n_path = strcspn(url, "?#"), begin = n_path, n;

        while (begin > 0 && url[begin - 1] != '/')
                begin--;
        n = n_path - begin;
        if (n > NAME_MAX || url[begin] == '.')
                return 0;
        memcpy(ret, url + begin, n);
        ret[n] = '\0';
        for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
                size_t n_suffix = strlen(suffixes[i]);

                if (n > n_suffix && strcmp(ret + n - n_suffix, suffixes[i]) == 0)
                        return n - n_suffix;
        }
        return 0;
}

/* Takes the next line. NULL: there is none. */
static char *take_line(char **text) {
        char *line = *text, *end = line ? strchr(line, '\n') : NULL;

        if (!end)
                return NULL;
        *end = '\0';
        *text = end + 1;
        return line;
}

/*
 * Writes the names of the members that are files and directories within the archive, each ended by NUL. kinds and
 * names: listings of tar; in names, a byte that is not printed is escaped, and stands for a name that is left out.
 */
static int choose_members(const char *archive, Buffer *kinds, Buffer *names, Buffer *ret) {
        char *kind_line, *name, *kind = kinds->text, *next = names->text;
        uint64_t n_bytes = 0, size;
        size_t n = 0, n_out = 0;

        while ((kind_line = take_line(&kind)) && (name = take_line(&next))) {
                bool is_file = kind_line[0] == '-' && sscanf(kind_line, "%*s %*s %" SCNu64, &size) == 1;

                n_bytes += is_file ? size : 0;
                if (++n > RESULTS_FETCH_MEMBERS_MAX || n_bytes > RESULTS_FETCH_BYTES_MAX) {
                        message_print("%s: the archive has more than %u members or 16 GiB", archive,
                                      RESULTS_FETCH_MEMBERS_MAX);
                        return EXIT_FAILED;
                }
                if ((is_file || kind_line[0] == 'd') && !strchr(name, '\\') && results_file_is_inner_path(name))
                        buffer_put(ret, name, strlen(name) + 1);
                else if (n_out++ == 0)
                        message_print("%s: %s is left out: only files and directories within the archive, of names "
                                      "without control characters, are unpacked",
                                      archive, name);
        }
        if (n_out > 1)
                message_print("%s: %zu more members are left out", archive, n_out - 1);
        return buffer_error(ret) < 0 ? command_fail(-ENOMEM) : EXIT_DONE;
}

static int unpack(const char *archive, const char *directory, const char *list) {
        scoped(buffer_deinit) Buffer kinds = { .n_max = LISTING_BYTES_MAX }, names = { .n_max = LISTING_BYTES_MAX };
        scoped(buffer_deinit) Buffer chosen = {};
        int r;

        r = run((const char *const[]){ LIST, "--verbose", "--numeric-owner", "--file", archive, NULL }, archive,
                &kinds);
        if (r == EXIT_DONE)
                r = run((const char *const[]){ LIST, "--file", archive, NULL }, archive, &names);
        if (r == EXIT_DONE)
                r = choose_members(archive, &kinds, &names, &chosen);
        if (r != EXIT_DONE || chosen.n == 0)
                return r;

        r = file_replace(list, chosen.text, chosen.n, 0600, false);
        if (r == 0 && mkdir(directory, 0777) < 0 && errno != EEXIST)
                r = -errno;
        if (r < 0)
                r = command_fail(r);
        else
                r = run((const char *const[]){ "tar", "--extract", "--file", archive, "--directory", directory,
                                               "--no-same-owner", "--no-same-permissions", "--no-recursion", "--null",
                                               "--verbatim-files-from", "--files-from", list, NULL },
                        archive, NULL);
        (void)unlink(list);
        return r;
}

static int fetch_archive(const char *url, const char *directory, const char *name, size_t n_name) {
        char archive[PATH_MAX], to[PATH_MAX], list[PATH_MAX];
        int r;

        if (snprintf(archive, sizeof(archive), "%s/%s", directory, name) >= (int)sizeof(archive) ||
            snprintf(to, sizeof(to), "%s/%.*s", directory, (int)n_name, name) >= (int)sizeof(to) ||
            snprintf(list, sizeof(list), "%s/.%s.members", directory, name) >= (int)sizeof(list))
                return command_fail(-ENAMETOOLONG);
        r = run((const char *const[]){ WGET, "--continue", "--output-document", archive, url, NULL }, url, NULL);
        return r == EXIT_DONE ? unpack(archive, to, list) : r;
}

/* --- caches --------------------------------------------------------------------------------------- */

/* Splits off the server of a URL, and appends the directory within `directory` to which wget writes it. */
static size_t split_url(const char *url, Buffer *ret_prefix) {
        const char *host = strstr(url, "://") + 3, *path = host + strcspn(host, "/?#");
        const char *login = memrchr(host, '@', (size_t)(path - host)), *end = path + strcspn(path, "?#");

        while (end > path && end[-1] != '/')
                end--;
        host = login ? login + 1 : host;
        buffer_printf(ret_prefix, "%.*s%s", (int)(end - host), host, end == path ? "/" : "");
        return (size_t)(path - url);
}

/* Whether the cache of a test is here since a time, before which it was written by this user's own commands. */
static bool is_new(const TestTree *tree, const TestRecord *record, const struct timespec *since) {
        char path[PATH_MAX];
        struct stat st;

        return snprintf(path, sizeof(path), "%s/%s/" VALUE_CACHE_NAME, tree->root, record->path) < (int)sizeof(path) &&
               lstat(path, &st) == 0 && (st.st_ctim.tv_sec > since->tv_sec ||
                                         (st.st_ctim.tv_sec == since->tv_sec && st.st_ctim.tv_nsec >= since->tv_nsec));
}

/* Fetches what the declaration needs of a test. server: the beginning of its URL, of n bytes. */
static int fetch_test(const char *server, size_t n, const char *path, const TestTree *tree, const Value *important) {
        scoped(buffer_deinit) Buffer url = {};

        buffer_put(&url, server, n);
        for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
                scoped(freep) char *name = strndup(slash + 1, strcspn(slash + 1, "/"));

                buffer_putc(&url, '/');
                buffer_put_encoded(&url, name ?: "");
        }
        buffer_putc(&url, '/');
        return buffer_error(&url) < 0 ? command_fail(-ENOMEM) : fetch_directory(url.text, tree->root, important);
}

/* Takes the caches fetched below a prefix for those of the tests. url: to fetch the rest from; NULL: it is here. */
static int adopt(const char *url, size_t n_server, const char *prefix, const char *directory, const ResultsFile *file,
                 const struct timespec *since) {
        scoped(test_tree_deinit) TestTree tree = {};
        size_t n_found = 0, n = strlen(prefix) - 1;
        int r, status = EXIT_DONE;

        r = test_tree_read(&tree, directory);
        for (size_t i = 0; i < tree.n && r == 0; i++) {
                TestRecord *record = &tree.records[i];
                bool has_cache = false;

                if (record->left_out || strncmp(record->path, prefix, n) != 0 ||
                    (record->path[n] && record->path[n] != '/'))
                        continue;
                n_found++;
                r = test_values_adopt(file, &tree, record, is_new(&tree, record, since), &has_cache);
                if (r == 0 && !has_cache && url &&
                    fetch_test(url, n_server, record->path, &tree, file->important) != EXIT_DONE)
                        status = EXIT_FAILED;
        }
        if (r < 0)
                return command_fail(r);
        return n_found == 0 && url ? fetch_directory(url, directory, file->important) : status;
}

static int fetch_caches(const char *url, const char *directory, const ResultsFile *file, const struct timespec *since) {
        scoped(buffer_deinit) Buffer prefix = {};
        size_t n_server = split_url(url, &prefix);
        int r = fetch_names(url, directory, "--accept", TEST_FILES "," VALUE_CACHE_NAME, "--timestamping"), adopted;

        adopted = adopt(url, n_server, prefix.text, directory, file, since);
        return r == EXIT_DONE ? adopted : r;
}

/*
 * Fetches a URL (http or https) into a directory, which exists: what is below it, or an archive, which is unpacked into
 * a directory of its name. prefers_cache: of a test with a cache for the declaration, no other files but those that
 * make a test. What is there already is not fetched again. Returns EXIT_DONE; EXIT_USAGE for something that is no URL,
 * or EXIT_FAILED, after a message.
 */
static int results_fetch(const char *url, const char *directory, const ResultsFile *file, bool prefers_cache) {
        char name[NAME_MAX + 1], prefix[NAME_MAX + 1];
        struct timespec since;
        size_t n_name;
        int r;

        if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
                message_print("%s: expected a URL that begins with http:// or https://", url);
                return EXIT_USAGE;
        }
        limit_files();
        n_name = archive_name(url, name);
        (void)clock_gettime(CLOCK_REALTIME_COARSE, &since); /* the clock of files */
        if (n_name == 0)
                return prefers_cache ? fetch_caches(url, directory, file, &since)
                                     : fetch_directory(url, directory, file->important);
        r = fetch_archive(url, directory, name, n_name);
        (void)snprintf(prefix, sizeof(prefix), "%.*s/", (int)n_name, name);
        return r == EXIT_DONE && prefers_cache ? adopt(NULL, 0, prefix, directory, file, &since) : r;
}

/* --- the command ---------------------------------------------------------------------------------- */

typedef struct ResultsFetchOptions {
        const char *config, *url_file, *save; /* NULL: not given */
        bool prefer_cache;
} ResultsFetchOptions;

/* The first failure is the status of all. */
static int fetch(const char *url, const char *directory, const ResultsFile *declared, bool prefers_cache, int status) {
        int r = results_fetch(url, directory, declared, prefers_cache);

        return status == EXIT_DONE ? r : status;
}

static int fetch_lines(const char *file, const char *directory, const ResultsFile *declared, bool prefers_cache,
                       int status) {
        scoped(buffer_deinit) Buffer text = {};
        char *rest = NULL;
        int r;

        r = input_read(file, &text);
        if (r != EXIT_DONE || !text.text)
                return r;
        for (char *line = strtok_r(text.text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
                line += strspn(line, " \t");
                line[strcspn(line, " \t")] = '\0';
                if (*line && *line != '#')
                        status = fetch(line, directory, declared, prefers_cache, status);
        }
        return status;
}

static int results_fetch_run(const CommandLine *line) {
        const ResultsFetchOptions *options = line->options;
        const char *save = options->save ?: "results";
        scoped(results_file_deinit) ResultsFile file = {};
        scoped(freep) char *directory = NULL;
        TestTree tree = {};
        int r = EXIT_DONE;

        if (line->n_arguments == 0 && !options->url_file)
                return command_refuse("results fetch", "expected a URL, or --url-file");
        if (mkdir(save, 0777) == 0 || errno == EEXIST)
                directory = realpath(save, NULL);
        if (!directory) {
                message_print("cannot write into %s: %s", save, error_text(errno));
                return EXIT_FAILED;
        }
        tree.root = directory;
        if (options->config || access(RESULTS_FILE_NAME, F_OK) == 0)
                r = results_file_open(&file, options->config, &tree, NULL, 0);
        else if (options->prefer_cache)
                r = command_refuse("results fetch", "--prefer-cache needs a declaration, with which caches were made");
        if (r != EXIT_DONE)
                return r;

        (void)umask(umask(0) | S_IWGRP | S_IWOTH); /* others cannot change a cache */
        for (int i = 0; i < line->n_arguments; i++)
                r = fetch(line->arguments[i], directory, &file, options->prefer_cache, r);
        if (options->url_file)
                r = fetch_lines(options->url_file, directory, &file, options->prefer_cache, r);
        results_publish_note(&tree);
        return r;
}

const Command cmd_results_fetch = {
        .name = "results fetch",
        .arguments = "[URL…]",
        .summary = "Fetch directories of test results from servers",
        .help = "Fetches what is below each URL, or an archive, by wget and tar. Of a directory, only the files that "
                "make a test and the important files of the declaration are fetched, if it names any. What is there "
                "already is not fetched again, and nothing is written outside of the directory.",
        .examples = { "perfctl results fetch --save out https://ci.example.org/artifacts/4711/",
                      "perfctl results fetch --url-file urls.txt" },
        COMMAND_OPTION_ROWS(ResultsFetchOptions,
                { "config", 0, "FILE", "Declaration of the values, instead of results.yaml in the current directory",
                  OPTION_TEXT(ResultsFetchOptions, config), .value = OPTION_VALUE_FILE },
                { "url-file", 0, "FILE", "Fetch also the URLs in the lines of a file; - is standard input",
                  OPTION_TEXT(ResultsFetchOptions, url_file), .value = OPTION_VALUE_FILE },
                { "save", 0, "DIRECTORY", "Write into this directory, instead of results in the current one",
                  OPTION_TEXT(ResultsFetchOptions, save), .value = OPTION_VALUE_DIRECTORY },
                { "prefer-cache", 0, NULL, "Fetch the cache of a test instead of its files, if it fits to the declaration",
                  OPTION_FLAG(ResultsFetchOptions, prefer_cache) }),
        .n_arguments_max = COMMAND_MANY,
        .run = results_fetch_run,
};
