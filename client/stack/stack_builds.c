/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/stack_builds.h"

#include <errno.h>
#include <string.h>

#include "client/facts/build_info.h"
#include "client/facts/object_builder.h"
#include "stack/stack.h"

#define PACKAGE_MEMBERS_MAX 8U
#define BUILD_BYTES_MAX 64U
#define PACKAGE_BYTES (sizeof(Value) + PACKAGE_MEMBERS_MAX * sizeof(Member) + BUILD_BYTES_MAX)

size_t stack_builds_size(const Value *stack) {
        const Value *packages = value_get(stack, "packages");

        return (packages ? packages->n_items : 0) * PACKAGE_BYTES + 2 * sizeof(Value) + stack->n_members * sizeof(Member) + 256;
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

int stack_builds_add(const Value *stack, const Value *const *documents, size_t n, Arena *arena, const Value **ret) {
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
