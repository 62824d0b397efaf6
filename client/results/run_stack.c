/* SPDX-License-Identifier: Apache-2.0 */
#include "client/results/run_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/facts/build_info.h"
#include "client/facts/object_builder.h"
#include "client/stack/lock_file.h"
#include "client/stack/stack_source.h"
#include "stack/stack.h"
#include "util/error_text.h"
#include "util/file.h"
#include "util/scoped.h"

#define ARENA_BYTES (256U << 20) /* untouched pages take no memory */

void run_stack_deinit(RunStack *stack) {
        arena_deinit(&stack->arena);
        *stack = (RunStack){};
}

/* Finds the directory for copies of lists of packages. A home may be shared by many nodes, each with its packages. */
static const char *find_cache(char ret[static PATH_MAX]) {
        char host[HOST_NAME_MAX + 1] = "localhost", below[sizeof(host) + 16];

        (void)gethostname(host, sizeof(host) - 1);
        (void)snprintf(below, sizeof(below), "perfd/packages/%s", host);
        return file_find_env("XDG_CACHE_HOME", ".cache", below, ret) == 0 ? ret : NULL;
}

static int read_sources(const char *words, const char *program, RunStack *ret) {
        scoped(closep) int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char cache[PATH_MAX];
        const StackPlace place = { .root_fd = root_fd,
                                   .program = program,
                                   .virtual_env = getenv("VIRTUAL_ENV"),
                                   .conda_prefix = getenv("CONDA_PREFIX"),
                                   .path = getenv("PATH"),
                                   .modules = getenv("LOADEDMODULES"),
                                   .container = getenv("APPTAINER_CONTAINER") ?: getenv("SINGULARITY_CONTAINER"),
                                   .cache = find_cache(cache) };
        scoped(stack_builder_deinit) StackBuilder stack = { .arena = &ret->arena };
        Slice word;
        int r;

        if (root_fd < 0)
                return -errno;
        r = arena_init(&ret->arena, ARENA_BYTES);
        if (r == 0)
                r = stack_source_read(words, &place, &stack, &word);
        if (r == STACK_SOURCE_NONE) {
                message_print("--stack %.*s: the environment of the command has no such packages", (int)word.n,
                              word.text);
                return EXIT_USAGE;
        }
        if (r == STACK_SOURCE_FAILED)
                return EXIT_USAGE;
        return r == 0 ? stack_builder_end(&stack, &ret->stack.document) : r;
}

int run_stack_read(const char *words, const char *program, RunStack *ret) {
        const char *given = words ?: getenv("PERFD_STACK");
        int r;

        *ret = (RunStack){};
        if (!given || !given[0])
                return EXIT_DONE;
        r = stack_source_is_list(given) ? read_sources(given, program, ret)
                                        : lock_file_read(given, &ret->arena, &ret->stack.document);
        if (r < 0)
                message_print("--stack %s: %s", given, error_text(-r));
        ret->is_known = r == 0;
        return r == 0 || !words ? EXIT_DONE : EXIT_USAGE;
}

/* --- builds -------------------------------------------------------------------------------------- */

#define PACKAGE_MEMBERS_MAX 8U
#define BUILD_BYTES_MAX 64U
#define PACKAGE_BYTES (sizeof(Value) + PACKAGE_MEMBERS_MAX * sizeof(Member) + BUILD_BYTES_MAX)

size_t run_stack_builds_size(const Value *stack) {
        const Value *packages = value_get(stack, "packages");

        return (packages ? packages->n_items : 0) * PACKAGE_BYTES + 2 * sizeof(Value) +
               stack->n_members * sizeof(Member) + 256;
}

static bool has_build_info(const Value *document) {
        for (size_t i = 0; document->type == VALUE_OBJECT && i < document->n_members; i++)
                if (build_info_is_key(document->members[i].key) && document->members[i].value.type != VALUE_NULL)
                        return true;
        return false;
}

/* Copies an object. key: a member that is added or replaced. */
static int copy_with(const Value *from, const char *key, const Value *value, Arena *arena, Value *ret) {
        ObjectBuilder object;

        object_builder_init(&object, arena, from->n_members + 1);
        for (size_t i = 0; i < from->n_members; i++)
                if (strcmp(from->members[i].key, key) != 0)
                        object_builder_put(&object, from->members[i].key, &from->members[i].value);
        object_builder_put(&object, key, value);
        return object_builder_end(&object, ret);
}

static int copy_package(const Value *package, const Value *printed, Arena *arena, Value *ret) {
        const char *name = value_get_string(package, "name");
        scoped(buffer_deinit) Buffer build = {};
        Value text = { .type = VALUE_STRING };

        if (name && strcmp(value_get_string(package, "kind") ?: STACK_KIND_PYTHON, STACK_KIND_PYTHON) == 0)
                build_info_put(printed, name, &build);
        if (buffer_error(&build) < 0)
                return -ENOMEM;
        *ret = *package;
        if (build.n == 0)
                return 0;
        text.string = arena_strndup(arena, build.text, build.n);
        return text.string ? copy_with(package, "build", &text, arena, ret) : -ENOMEM;
}

int run_stack_add_builds(const Value *stack, const Value *const *documents, size_t n, Arena *arena, const Value **ret) {
        const Value *packages = value_get(stack, "packages");
        Value list, *items, *copy;
        size_t from = 0;
        int r = 0;

        *ret = stack;
        while (from < n && !has_build_info(documents[from]))
                from++;
        if (from == n || !packages || packages->type != VALUE_LIST || packages->n_items == 0)
                return 0;

        items = arena_alloc(arena, packages->n_items * sizeof(*items));
        copy = arena_alloc(arena, sizeof(*copy));
        if (!items || !copy)
                return -ENOMEM;
        for (size_t i = 0; i < packages->n_items && r == 0; i++)
                r = copy_package(&packages->items[i], documents[from], arena, &items[i]);
        list = (Value){ .type = VALUE_LIST, .items = items, .n_items = packages->n_items };
        if (r == 0)
                r = copy_with(stack, "packages", &list, arena, copy);
        if (r == 0)
                *ret = copy;
        return r;
}
