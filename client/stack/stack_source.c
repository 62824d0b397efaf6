/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/stack_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/stack/package_database.h"
#include "client/stack/stack_cache.h"
#include "stack/stack.h"
#include "util/array.h"
#include "util/file.h"
#include "util/sha256.h"
#include "util/utf8.h"
#include "value/value_parse.h"

/* --- python packages ------------------------------------------------------------------------------- */

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
        array_sort_texts(lines, n);
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

int stack_source_read_python(int root_fd, const char *prefix, const char *cache, StackBuilder *stack) {
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

/* --- stack source ------------------------------------------------------------------------------------ */

#define JSON_BYTES_MAX (4U << 20)

/* --- pip -------------------------------------------------------------------------------------------- */

/* Finds the prefix of the first python3 in the path: /usr of /usr/bin/python3. */
static bool find_prefix(const StackPlace *place, char ret[static PATH_MAX]) {
        for (const char *p = place->path ?: ""; *p; p += strcspn(p, ":"), p += *p == ':') {
                int n = (int)strcspn(p, ":");
                char program[PATH_MAX];

                if (n < 4 || snprintf(program, sizeof(program), "%.*s/python3", n, p) >= (int)sizeof(program) ||
                    faccessat(place->root_fd, file_below_root(program), X_OK, 0) < 0)
                        continue;
                (void)snprintf(ret, PATH_MAX, "%.*s", n - (strncmp(p + n - 4, "/bin", 4) == 0 ? 4 : 0), p);
                return true;
        }
        return false;
}

/* Finds the virtual environment that contains the program: v of v/bin/python. The program itself is a link to
 * another Python. */
static bool find_prefix_of_program(const StackPlace *place, char ret[static PATH_MAX]) {
        const char *slash = place->program ? strrchr(place->program, '/') : NULL;
        char directory[PATH_MAX], file[PATH_MAX];

        if (!slash ||
            snprintf(directory, sizeof(directory), "%.*s/..", (int)(slash - place->program), place->program) >=
                    PATH_MAX ||
            !realpath(directory, ret))
                return false;
        return snprintf(file, sizeof(file), "%s/pyvenv.cfg", file_below_root(ret)) < PATH_MAX &&
               faccessat(place->root_fd, file, F_OK, 0) == 0;
}

static int read_pip(const StackPlace *place, StackBuilder *stack) {
        const char *given = place->virtual_env ?: place->conda_prefix;
        char prefix[PATH_MAX];
        int r;

        if (find_prefix_of_program(place, prefix) || (!given && find_prefix(place, prefix)))
                given = prefix;
        r = given ? stack_source_read_python(place->root_fd, given, place->cache, stack) : PYTHON_PACKAGES_NONE;
        return r == PYTHON_PACKAGES_NONE ? STACK_SOURCE_NONE : r;
}

/* --- conda ------------------------------------------------------------------------------------------ */

static int add_conda_file(StackBuilder *stack, int dir_fd, const char *name) {
        scoped(arena_deinit) Arena arena = {};
        scoped(freep) char *text = NULL;
        const Value *document;
        ValueError error;
        DraftPackage package = { .kind = "conda" };
        size_t n;
        int r;

        if (file_read_at(dir_fd, name, JSON_BYTES_MAX, &text, &n) < 0)
                return 0;
        r = value_parse_only(text, n, &arena, &document, &error);
        if (r != 0 || !value_get_string(document, "name"))
                return r < 0 ? r : 0;

        package.name = stack_builder_slice(value_get_string(document, "name"));
        package.version = stack_builder_slice(value_get_string(document, "version"));
        package.build = stack_builder_slice(value_get_string(document, "build"));
        package.source = stack_builder_slice(value_get_string(document, "channel"));
        if (value_get_string(document, "sha256"))
                package.hashes[package.n_hashes++] = stack_builder_slice(value_get_string(document, "sha256"));
        stack_builder_add_valid(stack, &package);
        return 0;
}

static int list_conda(void *userdata, StackBuilder *stack) {
        DIR *list = userdata;
        struct dirent *entry;
        int r = 0;

        while (r == 0 && (entry = readdir(list))) {
                const char *end = strrchr(entry->d_name, '.');

                if (end && strcmp(end, ".json") == 0)
                        r = add_conda_file(stack, dirfd(list), entry->d_name);
        }
        return r;
}

static int read_conda(const StackPlace *place, StackBuilder *stack) {
        scoped(stack_cache_stamp_deinit) StackStamp stamp = {};
        StackCacheEntry cached = { .directory = place->cache, .kind = "conda", .stamp = &stamp };
        scoped(closedirp) DIR *list = NULL;
        char path[PATH_MAX], name[STACK_CACHE_NAME_MAX];

        if (!place->conda_prefix ||
            snprintf(path, sizeof(path), "%s/conda-meta", file_below_root(place->conda_prefix)) >= (int)sizeof(path))
                return STACK_SOURCE_NONE;
        list = file_open_list(place->root_fd, path);
        stack_cache_stamp_init(&stamp, place->conda_prefix);
        if (!list || !stack_cache_stamp_add(&stamp, place->root_fd, path))
                return STACK_SOURCE_NONE;
        cached.name = stack_cache_name("conda", place->conda_prefix, name);
        return stack_cache_get(&cached, list_conda, list, stack);
}

/* --- dpkg, rpm, module ------------------------------------------------------------------------------ */

static int read_database(const char *word, const StackPlace *place, StackBuilder *stack) {
        int r = package_database_read(word, place->root_fd, place->cache, stack);

        return r == PACKAGE_DATABASE_NONE ? STACK_SOURCE_NONE : r == PACKAGE_DATABASE_FAILED ? STACK_SOURCE_FAILED : r;
}

static int read_dpkg(const StackPlace *place, StackBuilder *stack) {
        return read_database("dpkg", place, stack);
}

static int read_rpm(const StackPlace *place, StackBuilder *stack) {
        return read_database("rpm", place, stack);
}

/* Takes gcc/12.2.0:openmpi/4.1: names may have slashes, versions not. */
static int read_module(const StackPlace *place, StackBuilder *stack) {
        if (!place->modules)
                return STACK_SOURCE_NONE;
        for (const char *p = place->modules; *p; p += strcspn(p, ":"), p += *p == ':') {
                size_t n = strcspn(p, ":");
                const char *slash = memrchr(p, '/', n);
                DraftPackage package = { .name = { p, slash ? (size_t)(slash - p) : n }, .kind = "module" };

                if (slash)
                        package.version = (Slice){ slash + 1, n - (size_t)(slash - p) - 1 };
                stack_builder_add_valid(stack, &package);
        }
        return 0;
}

/* --- container -------------------------------------------------------------------------------------- */

#define ENVIRONMENT_FILE "run/.containerenv" /* written by podman and buildah */
#define ENVIRONMENT_BYTES_MAX 65536U

/* Returns the quoted value of a line such as image="…". */
static Slice find_quoted(const char *text, const char *key) {
        Slice value = stack_builder_find_header(text, key);

        if (!value.text || value.n < 2 || value.text[0] != '"' || value.text[value.n - 1] != '"')
                return (Slice){};
        return (Slice){ value.text + 1, value.n - 2 };
}

/* Takes the image with its digest from podman's file, otherwise the image file that Apptainer names. */
static int read_container(const StackPlace *place, StackBuilder *stack) {
        scoped(buffer_deinit) Buffer image = {};
        scoped(freep) char *text = NULL;
        Slice name, id;
        int r;

        r = file_read_at(place->root_fd, ENVIRONMENT_FILE, ENVIRONMENT_BYTES_MAX, &text, NULL);
        if (r == -ENOMEM)
                return r;
        name = find_quoted(r < 0 ? NULL : text, "image=");
        id = find_quoted(r < 0 ? NULL : text, "imageid=");
        if (name.n > 0)
                buffer_put(&image, name.text, name.n);
        if (id.n > 0)
                buffer_printf(&image, "@sha256:%.*s", (int)id.n, id.text);
        if (image.n == 0 && place->container)
                buffer_puts(&image, place->container);
        if (buffer_error(&image) < 0)
                return -ENOMEM;
        if (image.n == 0 || image.n > STACK_TEXT_BYTES_MAX || !utf8_is_line(image.text))
                return STACK_SOURCE_NONE;

        stack->base_image = stack_builder_slice(arena_strndup(stack->arena, image.text, image.n));
        return stack->base_image.text ? 0 : -ENOMEM;
}

/* --- the table -------------------------------------------------------------------------------------- */

static const struct {
        const char *word;
        int (*read)(const StackPlace *place, StackBuilder *stack);
} sources[] = { { "pip", read_pip }, { "conda", read_conda }, { "dpkg", read_dpkg }, { "rpm", read_rpm },
              { "module", read_module }, { "container", read_container } };

static size_t find_source(const char *word, size_t n) {
        size_t i = 0;

        while (i < N_ELEMENTS(sources) && (strlen(sources[i].word) != n || memcmp(sources[i].word, word, n) != 0))
                i++;
        return i;
}

bool stack_source_is_list(const char *words) {
        for (;;) {
                size_t n = strcspn(words, ",");

                if (find_source(words, n) == N_ELEMENTS(sources))
                        return false;
                if (!words[n])
                        return true;
                words += n + 1;
        }
}

int stack_source_read(const char *words, const StackPlace *place, StackBuilder *ret, Slice *ret_word) {
        for (;;) {
                size_t n = strcspn(words, ","), i = find_source(words, n);
                int r = i < N_ELEMENTS(sources) ? sources[i].read(place, ret) : STACK_SOURCE_NONE;

                if (r != 0) {
                        *ret_word = (Slice){ words, n };
                        return r;
                }
                if (!words[n])
                        return ret->failed ? -ENOMEM : 0;
                words += n + 1;
        }
}
