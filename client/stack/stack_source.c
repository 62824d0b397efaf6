/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/stack_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/stack/package_database.h"
#include "client/stack/python_packages.h"
#include "client/stack/stack_cache.h"
#include "stack/stack.h"
#include "util/file.h"
#include "util/utf8.h"
#include "value/value_parse.h"

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
        r = given ? python_packages_read(place->root_fd, given, place->cache, stack) : PYTHON_PACKAGES_NONE;
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
