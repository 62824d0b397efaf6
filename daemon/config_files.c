/* SPDX-License-Identifier: Apache-2.0 */
#include "config_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "util/error_text.h"
#include "util/scoped.h"

uint64_t config_files_begin(const char *path) {
        return hash_bytes(HASH_BEGIN, path, strlen(path) + 1);
}

FILE *config_files_open(const char *path, char ret_reason[static CONFIG_REASON_MAX]) {
        scoped(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        const char *reason = NULL;
        struct stat st;
        FILE *file;
        int e = 0;

        if (fd < 0 || fstat(fd, &st) < 0)
                e = errno;
        else if (S_ISDIR(st.st_mode))
                e = EISDIR;
        else if (!S_ISREG(st.st_mode) && !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))
                reason = "not a regular file";
        else if (st.st_size > CONFIG_BYTES_MAX)
                reason = "larger than 1 MiB";
        if (!reason && e == 0) {
                file = fdopen(fd, "r");
                if (file) {
                        (void)TAKE_FD(fd);
                        return file;
                }
                e = errno;
        }

        (void)snprintf(ret_reason, CONFIG_REASON_MAX, "%s", reason ?: error_text(e));
        errno = e;
        return NULL;
}

bool config_files_are_same(const ConfigFiles *a, const ConfigFiles *b) {
        return a->n == b->n && memcmp(a->hashes, b->hashes, a->n * sizeof(a->hashes[0])) == 0;
}

void config_files_add(ConfigFiles *files, uint64_t hash) {
        if (files->n < CONFIG_FILES_MAX)
                files->hashes[files->n++] = hash;
        else
                files->hashes[CONFIG_FILES_MAX - 1] = hash_bytes(files->hashes[CONFIG_FILES_MAX - 1], &hash,
                                                                 sizeof(hash));
}

static int is_drop_in(const struct dirent *entry) {
        size_t n = strlen(entry->d_name);

        return n > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + n - 5, ".conf") == 0;
}

void config_files_free(char **paths, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(paths[i]);
        free(paths);
}

int config_files_list(const char *path, char ***ret, size_t *n_ret) {
        char directory[PATH_MAX];
        struct dirent **entries = NULL;
        bool has_failed = false;
        char **paths = NULL;
        int n;

        (void)snprintf(directory, sizeof(directory), "%s.d", path);
        n = scandir(directory, &entries, is_drop_in, alphasort);
        if (n > 0)
                paths = calloc((size_t)n, sizeof(*paths));
        for (int i = 0; i < n; i++) {
                if (!paths || asprintf(&paths[i], "%s/%s", directory, entries[i]->d_name) < 0) {
                        has_failed = true;
                        if (paths)
                                paths[i] = NULL;
                }
                free(entries[i]);
        }
        free(entries);
        if (has_failed) {
                config_files_free(paths, paths ? (size_t)n : 0);
                return -ENOMEM;
        }

        *ret = paths;
        *n_ret = n > 0 ? (size_t)n : 0;
        return 0;
}

/* False if the file cannot be read. */
static bool hash_file(const char *path, uint64_t *ret) {
        char reason[CONFIG_REASON_MAX];
        scoped(fclosep) FILE *file = config_files_open(path, reason);
        uint64_t hash = config_files_begin(path);
        char bytes[4096];
        size_t n;

        while (file && (n = fread(bytes, 1, sizeof(bytes), file)) > 0)
                hash = hash_bytes(hash, bytes, n);
        *ret = hash;
        return file && !ferror(file);
}

static bool contains(const ConfigFiles *files, uint64_t hash) {
        for (size_t i = 0; i < files->n; i++)
                if (files->hashes[i] == hash)
                        return true;
        return false;
}

/* Adds a file, and names the first one that was not read as it is. */
static void take_file(const ConfigFiles *files, const char *path, bool is_optional, ConfigFiles *found,
                      char ret[static CONFIG_PATH_MAX]) {
        uint64_t hash;

        if (hash_file(path, &hash))
                config_files_add(found, hash);
        else if (is_optional && errno == ENOENT)
                return;
        else
                config_files_add(found, ~hash);
        if (!ret[0] && found->n < CONFIG_FILES_MAX && !contains(files, found->hashes[found->n - 1]))
                (void)snprintf(ret, CONFIG_PATH_MAX, "%s", path);
}

bool config_files_find_edited(const ConfigFiles *files, const char *path, bool is_optional,
                              char ret[static CONFIG_PATH_MAX]) {
        ConfigFiles found = {};
        char **paths = NULL;
        size_t n = 0;

        ret[0] = '\0';
        take_file(files, path, is_optional, &found, ret);
        if (config_files_list(path, &paths, &n) < 0)
                return false; /* tried again soon */
        for (size_t i = 0; i < n; i++)
                take_file(files, paths[i], false, &found, ret);
        config_files_free(paths, n);

        if (config_files_are_same(&found, files))
                return false;
        if (!ret[0])
                (void)snprintf(ret, CONFIG_PATH_MAX, "%s", path);
        return true;
}
