/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/python_packages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/stack/stack_cache.h"
#include "stack/stack.h"
#include "util/array.h"
#include "util/file.h"
#include "util/sha256.h"
#include "value/value_parse.h"

#define HEAD_BYTES 8192U /* of METADATA: names and versions come first, before a description */
#define RECORD_BYTES_MAX (64U << 20)
#define DIRECTORIES_MAX 16U /* of packages, below one prefix */

/* --- files of a distribution ------------------------------------------------------------------------ */

/* Reads the beginning of a file. Returns false if there is none. */
static bool read_head(int dir_fd, const char *name, char ret[static HEAD_BYTES + 1]) {
        scoped(closep) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t n = fd < 0 ? -1 : read(fd, ret, HEAD_BYTES);

        ret[n < 0 ? 0 : n] = '\0';
        return n > 0;
}

/* Takes the URL that a distribution was installed from, in the form of PEP 610, if it was not an index. */
static const char *find_direct_url(int dir_fd, Arena *arena) {
        scoped(freep) char *text = NULL;
        const Value *document;
        ValueReader reader;
        ValueError error;
        size_t n;

        if (file_read_at(dir_fd, "direct_url.json", HEAD_BYTES, &text, &n) < 0)
                return NULL;
        value_parse_begin(&reader, text, n);
        return value_parse_next(&reader, arena, &document, &error) == 0 ? value_get_string(document, "url") : NULL;
}

/* Returns true for PATH,HASH,SIZE of a file that came with the wheel. */
static bool is_of_wheel(const char *line) {
        const char *size = strrchr(line, ','), *hash = size ? memrchr(line, ',', (size_t)(size - line)) : NULL;

        return hash && size - hash > 1 && line[0] != '/' && strncmp(line, "../", 3) != 0 &&
               !strstr(line, ".dist-info/");
}

static int compare_lines(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int hash_lines(const char *const *lines, size_t n, Buffer *out) {
        scoped(buffer_deinit) Buffer text = {};
        char digest[SHA256_TEXT_MAX];

        for (size_t i = 0; i < n; i++)
                buffer_printf(&text, "%s\n", lines[i]);
        if (buffer_error(&text) < 0)
                return -ENOMEM;
        sha256_text(text.text, text.n, digest);
        buffer_printf(out, "files-sha256:%s", digest);
        return buffer_error(out);
}

/* Writes the hash of the files of a distribution; nothing if it has no RECORD with hashes. 0 or -ENOMEM. */
static int put_hash(int dir_fd, Buffer *out) {
        scoped(freep) char *text = NULL;
        scoped(freep) const char **lines = NULL;
        size_t n = 0, n_allocated = 0;

        if (file_read_at(dir_fd, "RECORD", RECORD_BYTES_MAX, &text, NULL) < 0)
                return 0;
        for (char *line = text, *end; *line; line = end) {
                size_t n_line = strcspn(line, "\r\n");

                end = line + n_line + strspn(line + n_line, "\r\n");
                line[n_line] = '\0';
                if (!is_of_wheel(line))
                        continue;
                if (ARRAY_RESERVE(lines, n_allocated, n + 1) < 0)
                        return -ENOMEM;
                lines[n++] = line;
        }
        if (n == 0)
                return 0;
        qsort(lines, n, sizeof(*lines), compare_lines);
        return hash_lines(lines, n, out);
}

static int add_distribution(StackBuilder *stack, int dir_fd, const char *name) {
        scoped(closep) int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char metadata[HEAD_BYTES + 1], wheel[HEAD_BYTES + 1];
        DraftPackage package = { .kind = STACK_KIND_PYTHON };
        scoped(buffer_deinit) Buffer hash = {};
        int r;

        if (fd < 0 || !read_head(fd, "METADATA", metadata))
                return 0;
        package.name = stack_builder_find_header(metadata, "Name: ");
        package.version = stack_builder_find_header(metadata, "Version: ");
        package.source = stack_builder_slice(find_direct_url(fd, stack->arena));
        if (read_head(fd, "WHEEL", wheel))
                package.build = stack_builder_find_header(wheel, "Tag: ");
        r = put_hash(fd, &hash);
        if (r < 0)
                return r;
        package.hashes[0] = (Slice){ hash.text, hash.n };
        package.n_hashes = hash.n > 0;
        stack_builder_add_valid(stack, &package);
        return 0;
}

/* --- directories ------------------------------------------------------------------------------------ */

/* Directories of packages below a prefix. */
typedef struct PythonDirectories {
        int root_fd;
        char paths[DIRECTORIES_MAX][PATH_MAX]; /* below the root */
        size_t n;
} PythonDirectories;

/* Adds PREFIX/lib/NAME/site-packages and dist-packages if they are there. */
static void add_directories(PythonDirectories *directories, const char *prefix, const char *name, StackStamp *stamp) {
        static const char *const words[] = { "site-packages", "dist-packages" };

        for (size_t i = 0; i < N_ELEMENTS(words) && directories->n < DIRECTORIES_MAX; i++) {
                char *path = directories->paths[directories->n];
                int n = snprintf(path, PATH_MAX, "%s/lib/%s/%s", file_below_root(prefix), name, words[i]);

                directories->n += n < PATH_MAX && stack_cache_stamp_add(stamp, directories->root_fd, path);
        }
}

/* The order of a listing of a directory is not that of the names. */
static void find_directories(PythonDirectories *directories, const char *prefix, StackStamp *stamp,
                             StackBuilder *stack) {
        scoped(closedirp) DIR *list = NULL;
        struct dirent *entry;
        char path[PATH_MAX];

        if (snprintf(path, sizeof(path), "%s/lib", file_below_root(prefix)) >= (int)sizeof(path))
                return;
        list = file_open_list(directories->root_fd, path);
        while (list && (entry = readdir(list))) {
                const char *version = entry->d_name + strlen("python");
                size_t n = directories->n;

                if (strncmp(entry->d_name, "python3", strlen("python3")) != 0)
                        continue;
                add_directories(directories, prefix, entry->d_name, stamp);
                if (directories->n > n && !stack->python.text && version[1] == '.')
                        stack->python = stack_builder_slice(arena_strndup(stack->arena, version, strlen(version)));
        }
}

static int list_packages(void *userdata, StackBuilder *stack) {
        const PythonDirectories *directories = userdata;
        int r = 0;

        for (size_t i = 0; i < directories->n && r == 0; i++) {
                scoped(closep) int fd = openat(directories->root_fd, directories->paths[i],
                                               O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                scoped(closedirp) DIR *list = fd < 0 ? NULL : file_open_list(fd, ".");
                struct dirent *entry;

                while (r == 0 && list && (entry = readdir(list))) {
                        const char *end = strrchr(entry->d_name, '.');

                        if (end && strcmp(end, ".dist-info") == 0)
                                r = add_distribution(stack, fd, entry->d_name);
                }
        }
        return r;
}

int python_packages_read(int root_fd, const char *prefix, const char *cache, StackBuilder *stack) {
        scoped(freep) PythonDirectories *directories = calloc(1, sizeof(*directories));
        scoped(stack_cache_stamp_deinit) StackStamp stamp = {};
        StackCacheEntry entry = { .directory = cache, .kind = STACK_KIND_PYTHON, .stamp = &stamp };
        char name[STACK_CACHE_NAME_MAX];

        if (!directories)
                return -ENOMEM;
        directories->root_fd = root_fd;
        stack_cache_stamp_init(&stamp, prefix);
        find_directories(directories, prefix, &stamp, stack);
        if (directories->n == 0)
                return PYTHON_PACKAGES_NONE;
        entry.name = stack_cache_name("pip", prefix, name);
        return stack_cache_get(&entry, list_packages, directories, stack);
}
