/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/stack_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/facts/object_builder.h"
#include "stack/stack.h"
#include "util/array.h"
#include "util/utf8.h"

Slice stack_builder_slice(const char *text) {
        return (Slice){ text, text ? strlen(text) : 0 };
}

Slice stack_builder_find_header(const char *text, const char *key) {
        size_t n = strlen(key);

        for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
                if (strncmp(line, key, n) == 0)
                        return (Slice){ line + n, strcspn(line + n, "\r\n") };
        return (Slice){};
}

void stack_builder_deinit(StackBuilder *stack) {
        free(stack->packages);
        free(stack->lines);
        *stack = (StackBuilder){};
}

static void put_slice(ObjectBuilder *object, const char *key, Slice slice) {
        if (slice.text && slice.n > 0)
                object_builder_put_text_n(object, key, slice.text, slice.n);
}

/* Returns false if out of memory. */
static bool put_hashes(ObjectBuilder *object, const DraftPackage *package) {
        Value *list = arena_alloc(object->arena, sizeof(*list)), *items = NULL;

        if (package->n_hashes == 0)
                return true;
        items = arena_alloc(object->arena, package->n_hashes * sizeof(*items));
        if (!list || !items)
                return false;
        for (size_t i = 0; i < package->n_hashes; i++) {
                items[i] = (Value){ .type = VALUE_STRING,
                                    .string = arena_strndup(object->arena, package->hashes[i].text,
                                                            package->hashes[i].n) };
                if (!items[i].string)
                        return false;
        }
        *list = (Value){ .type = VALUE_LIST, .items = items, .n_items = package->n_hashes };
        object_builder_put(object, "hashes", list);
        return true;
}

void stack_builder_add(StackBuilder *stack, const DraftPackage *package) {
        ObjectBuilder object;

        if (package->name.n == 0 || stack->failed)
                return;
        stack->failed = ARRAY_RESERVE(stack->packages, stack->n_packages_allocated, stack->n + 1) < 0 ||
                        ARRAY_RESERVE(stack->lines, stack->n_lines_allocated, stack->n + 1) < 0;
        if (stack->failed)
                return;

        object_builder_init(&object, stack->arena, 6);
        put_slice(&object, "name", package->name);
        object_builder_put_text(&object, "kind", package->kind);
        put_slice(&object, "version", package->version);
        put_slice(&object, "source", package->source);
        put_slice(&object, "build", package->build);
        stack->failed = !put_hashes(&object, package) || object_builder_end(&object, &stack->packages[stack->n]) < 0;
        stack->lines[stack->n++] = package->line;
}

static bool is_valid(Slice slice) {
        return !slice.text || utf8_is_valid(slice.text, slice.n);
}

void stack_builder_add_valid(StackBuilder *stack, const DraftPackage *package) {
        if (stack->n < STACK_PACKAGES_MAX && is_valid(package->name) && is_valid(package->version) &&
            is_valid(package->source) && is_valid(package->build))
                stack_builder_add(stack, package);
}

int stack_builder_end(const StackBuilder *stack, const Value **ret) {
        Value *document = arena_alloc(stack->arena, sizeof(*document)),
              *list = arena_alloc(stack->arena, sizeof(*list));
        Value *items = arena_alloc(stack->arena, (stack->n + 1) * sizeof(*items));
        ObjectBuilder object, python;

        if (stack->failed || !document || !list || !items)
                return -ENOMEM;
        if (stack->n > 0)
                memcpy(items, stack->packages, stack->n * sizeof(*items));
        *list = (Value){ .type = VALUE_LIST, .items = items, .n_items = stack->n };

        object_builder_init(&object, stack->arena, 4);
        object_builder_init(&python, stack->arena, 1);
        put_slice(&object, "base_image", stack->base_image);
        put_slice(&python, "version", stack->python);
        object_builder_put_object(&object, "python", &python);
        put_slice(&object, "package_manager", stack->package_manager);
        object_builder_put(&object, "packages", list);
        if (object_builder_end(&object, document) < 0)
                return -ENOMEM;
        *ret = document;
        return 0;
}
