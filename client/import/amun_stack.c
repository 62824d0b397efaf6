/* SPDX-License-Identifier: Apache-2.0 */
#include "client/import/amun_stack.h"

#include <errno.h>
#include <string.h>

#include "client/facts/build_info.h"
#include "client/facts/object_builder.h"
#include "stack/stack.h"

static const Value *get(const AmunPlace *place, const char *key) {
        return value_get(place->part, key) ?: value_get(place->document, key);
}

static void put_version(ObjectBuilder *stack, const char *key, const char *name, const char *version) {
        ObjectBuilder object;

        object_builder_init(&object, stack->arena, 2);
        object_builder_put_text(&object, "name", name);
        object_builder_put_text(&object, "version", version);
        object_builder_put_object(stack, key, &object);
}

/* Returns the URL of the index with this name; without a name, of the only index. NULL: unknown. */
static const char *find_source(const Value *sources, const char *index) {
        if (!sources || sources->type != VALUE_LIST)
                return NULL;
        if (!index)
                return sources->n_items == 1 ? value_get_string(&sources->items[0], "url") : NULL;

        for (size_t i = 0; i < sources->n_items; i++) {
                const char *name = value_get_string(&sources->items[i], "name");

                if (name && strcmp(name, index) == 0)
                        return value_get_string(&sources->items[i], "url");
        }
        return index;
}

/* A lock file has exact versions: ==1.18.5. */
static const char *exact_version(const char *version) {
        return version && strncmp(version, "==", 2) == 0 ? version + strspn(version, "=") : version;
}

/* printed: by the script, with its build information. */
static int put_locked(const Member *member, const Value *sources, const Value *printed, Arena *arena, Value *ret) {
        scoped(buffer_deinit) Buffer build = {};
        const Value *locked = &member->value;
        ObjectBuilder package;

        object_builder_init(&package, arena, 6);
        object_builder_put_text(&package, "name", member->key);
        object_builder_put_text(&package, "kind", STACK_KIND_PYTHON);
        object_builder_put_text(&package, "version", exact_version(value_get_string(locked, "version")));
        object_builder_put_text(&package, "source", find_source(sources, value_get_string(locked, "index")));
        object_builder_put(&package, "hashes", value_get(locked, "hashes"));
        build_info_put(printed, member->key, &build);
        if (buffer_error(&build) < 0)
                return -ENOMEM;
        object_builder_put_text(&package, "build", build.n > 0 ? build.text : NULL);
        return object_builder_end(&package, ret);
}

static int put_native(const char *name, Arena *arena, Value *ret) {
        ObjectBuilder package;

        object_builder_init(&package, arena, 2);
        object_builder_put_text(&package, "name", name);
        object_builder_put_text(&package, "kind", "native");
        return object_builder_end(&package, ret);
}

static int list_packages(const AmunPlace *place, const Value *printed, Arena *arena, Value *ret) {
        const Value *lock = value_get(value_get(place->specification, "python"), "requirements_locked");
        const Value *locked = value_get(lock, "default"), *native = value_get(place->specification, "packages");
        const Value *sources = value_get(value_get(lock, "_meta"), "sources");
        size_t n_locked = locked && locked->type == VALUE_OBJECT ? locked->n_members : 0;
        size_t n_native = native && native->type == VALUE_LIST ? native->n_items : 0, n = 0;
        Value *items = arena_alloc(arena, (n_locked + n_native + 1) * sizeof(*items));
        int r = items ? 0 : -ENOMEM;

        for (size_t i = 0; i < n_locked && r == 0; i++)
                r = put_locked(&locked->members[i], sources, printed, arena, &items[n++]);
        for (size_t i = 0; i < n_native && r == 0; i++)
                if (native->items[i].type == VALUE_STRING)
                        r = put_native(native->items[i].string, arena, &items[n++]);
        if (r == 0)
                *ret = (Value){ .type = VALUE_LIST, .items = items, .n_items = n };
        return r;
}

int amun_stack_make(const AmunPlace *place, Arena *arena, Submission *ret) {
        const Value *runtime = get(place, "runtime_environment"), *os = value_get(runtime, "operating_system");
        SubmissionStack *stack = arena_alloc(arena, sizeof(*stack));
        Value *document = arena_alloc(arena, sizeof(*document)), *packages = arena_alloc(arena, sizeof(*packages));
        ObjectBuilder object;
        int r;

        if (!stack || !document || !packages)
                return -ENOMEM;
        r = list_packages(place, ret->indicator.document, arena, packages);
        if (r < 0)
                return r;

        object_builder_init(&object, arena, 5);
        object_builder_put_text(&object, "base_image", value_get_string(place->specification, "base"));
        object_builder_put_text(&object, "package_manager", value_get_string(place->specification, "package_manager"));
        put_version(&object, "os", value_get_string(os, "name"), value_get_string(os, "version"));
        put_version(&object, "python", NULL, value_get_string(runtime, "python_version"));
        if (packages->n_items > 0)
                object_builder_put(&object, "packages", packages);
        r = object_builder_end(&object, document);
        if (r < 0)
                return r;

        stack->document = document;
        ret->stack = document->n_members > 0 ? stack : NULL;
        return 0;
}
