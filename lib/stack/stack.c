/* SPDX-License-Identifier: Apache-2.0 */
#include "stack/stack.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/utf8.h"

#define PATH_MAX_BYTES 64
#define KEYS_PER_PACKAGE 8U

/* --- texts ----------------------------------------------------------------------------------------- */

/* Takes a text. An empty text and null are unknown. path: of the object, "" for the document. */
static int take_text(const Value *object, const char *path, const char *key, const char **ret, Complaint *complaint) {
        const Value *value = value_get_given(object, key);
        char place[PATH_MAX_BYTES * 2];
        size_t n;

        *ret = NULL;
        if (!value)
                return 0;

        (void)snprintf(place, sizeof(place), "%s%s%s", path, *path ? "." : "", key);
        if (value->type != VALUE_STRING)
                return indicator_complain(complaint, place, "is %s, must be a string", value_type_text(value));
        n = strlen(value->string);
        if (n > STACK_TEXT_BYTES_MAX)
                return indicator_complain(complaint, place, "has %zu bytes, may have up to %u", n,
                                          STACK_TEXT_BYTES_MAX);
        if (!utf8_is_line(value->string))
                return indicator_complain(complaint, place, "must be UTF-8 without control characters");

        *ret = n > 0 ? value->string : NULL;
        return 0;
}

static int check_object(const Value *value, const char *path, const char *const *keys, Complaint *complaint) {
        if (value->type != VALUE_OBJECT)
                return indicator_complain(complaint, path, "is %s, must be an object", value_type_text(value));

        for (size_t i = 0; i < value->n_members; i++) {
                const char *const *key = keys;

                while (*key && strcmp(*key, value->members[i].key) != 0)
                        key++;
                if (!*key)
                        return indicator_complain(complaint, path, "has the unknown member '%.100s': remove it",
                                                  value->members[i].key);
        }
        return 0;
}

static int take_version(const Value *document, const char *key, StackVersion *ret, Complaint *complaint) {
        static const char *const keys[] = { "name", "version", NULL };
        const Value *value = value_get_given(document, key);

        if (!value)
                return 0;

        return check_object(value, key, keys, complaint) ?: take_text(value, key, "name", &ret->name, complaint) ?:
               take_text(value, key, "version", &ret->version, complaint);
}

/* --- packages -------------------------------------------------------------------------------------- */

static bool is_separator(char c) {
        return c == '-' || c == '_' || c == '.';
}

void stack_put_name(const char *name, const char *kind, Buffer *out) {
        if (strcmp(kind, STACK_KIND_PYTHON) != 0) {
                buffer_puts(out, name);
                return;
        }

        for (const char *p = name; *p; p++) {
                if (is_separator(*p) && is_separator(p[1]))
                        continue;
                buffer_putc(out, is_separator(*p) ? '-' : *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p);
        }
}

/* Unknown texts come first. */
static int compare_texts(const char *a, const char *b) {
        return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

int stack_compare_packages(const StackPackage *a, const StackPackage *b) {
        return strcmp(a->kind, b->kind) ?: strcmp(a->name, b->name) ?: compare_texts(a->version, b->version) ?:
               compare_texts(a->source, b->source) ?: compare_texts(a->hash, b->hash) ?:
               compare_texts(a->build, b->build);
}

static int compare(const void *a, const void *b) {
        return stack_compare_packages(a, b);
}

/* Writes the one hash of a list, or the digest of the sorted list: a lock file names the hash of each wheel of a
 * version. */
static int put_hashes(const Value *list, Buffer *out) {
        scoped(freep) const char **hashes = calloc(list->n_items + 1, sizeof(*hashes));
        scoped(buffer_deinit) Buffer text = {};
        char digest[SHA256_TEXT_MAX];

        if (!hashes)
                return -ENOMEM;
        for (size_t i = 0; i < list->n_items; i++)
                hashes[i] = list->items[i].string;
        array_sort_texts(hashes, list->n_items);
        for (size_t i = 0; i < list->n_items; i++) {
                buffer_puts(&text, hashes[i]);
                buffer_putc(&text, '\n');
        }
        if (list->n_items == 1) {
                buffer_puts(out, hashes[0]);
        } else {
                sha256_text(text.text, text.n, digest);
                buffer_printf(out, "sha256s:%s", digest);
        }
        return buffer_error(&text) < 0 || buffer_error(out) < 0 ? -ENOMEM : 0;
}

static int take_hashes(Arena *arena, const Value *from, const char *path, const char **ret, Complaint *complaint) {
        const Value *list = value_get_given(from, "hashes");
        scoped(buffer_deinit) Buffer text = {};
        int r;

        if (!list || (list->type == VALUE_LIST && list->n_items == 0))
                return 0;
        if (list->type != VALUE_LIST || *ret)
                return indicator_complain(complaint, path, "must have either a string 'hash' or a list 'hashes'");
        for (size_t i = 0; i < list->n_items; i++)
                if (list->items[i].type != VALUE_STRING || strlen(list->items[i].string) > STACK_TEXT_BYTES_MAX ||
                    !utf8_is_line(list->items[i].string))
                        return indicator_complain(complaint, path,
                                                  "has an item in 'hashes' that is not a line of up to %u bytes",
                                                  STACK_TEXT_BYTES_MAX);

        r = put_hashes(list, &text);
        if (r < 0)
                return r;
        *ret = arena_strndup(arena, text.text, text.n);
        return *ret ? 0 : -ENOMEM;
}

static int take_name(Arena *arena, StackPackage *package, const char *path, Complaint *complaint) {
        scoped(buffer_deinit) Buffer name = {};

        if (!package->name)
                return indicator_complain(complaint, path, "has no name: add \"name\"");
        if (!package->kind)
                package->kind = STACK_KIND_PYTHON;

        stack_put_name(package->name, package->kind, &name);
        if (buffer_error(&name) < 0)
                return -ENOMEM;
        if (strcmp(name.text, package->name) == 0)
                return 0;
        package->name = arena_strndup(arena, name.text, name.n);
        return package->name ? 0 : -ENOMEM;
}

static int take_package(Arena *arena, const Value *from, size_t i, StackPackage *ret, Complaint *complaint) {
        static const char *const keys[] = { "name", "version", "kind", "source", "hash", "hashes", "build", NULL };
        const struct {
                const char *key, **ret;
        } texts[] = { { "name", &ret->name },     { "kind", &ret->kind }, { "version", &ret->version },
                      { "source", &ret->source }, { "hash", &ret->hash }, { "build", &ret->build } };
        char path[PATH_MAX_BYTES];
        int r;

        (void)snprintf(path, sizeof(path), "packages[%zu]", i);
        r = check_object(from, path, keys, complaint);
        for (size_t k = 0; r == 0 && k < N_ELEMENTS(texts); k++)
                r = take_text(from, path, texts[k].key, texts[k].ret, complaint);
        if (r == 0)
                r = take_hashes(arena, from, path, &ret->hash, complaint);
        return r == 0 ? take_name(arena, ret, path, complaint) : r;
}

/* True if an environment of the kind has at most one version of a package. */
static bool has_one_version(const char *kind) {
        return strcmp(kind, STACK_KIND_PYTHON) == 0 || strcmp(kind, "conda") == 0;
}

/* Drops repetitions. */
static int put_in_order(Stack *stack, Complaint *complaint) {
        StackPackage *last = NULL;
        size_t n = 0;

        qsort(stack->packages, stack->n_packages, sizeof(*stack->packages), compare);
        for (size_t i = 0; i < stack->n_packages; i++) {
                StackPackage package = stack->packages[i];

                if (last && stack_compare_packages(last, &package) == 0)
                        continue;
                if (last && has_one_version(package.kind) && strcmp(last->kind, package.kind) == 0 &&
                    strcmp(last->name, package.name) == 0)
                        return indicator_complain(complaint, "packages",
                                                  "has '%.100s' (%.20s) twice, with versions %.40s and %.40s, or "
                                                  "other builds: name the one that is installed, as the output of "
                                                  "pip freeze does",
                                                  package.name, package.kind, last->version ?: "unknown",
                                                  package.version ?: "unknown");
                last = &stack->packages[n];
                stack->packages[n++] = package;
        }
        stack->n_packages = n;
        return 0;
}

static int take_packages(const Value *document, Arena *arena, Stack *stack, Complaint *complaint) {
        const Value *list = value_get_given(document, "packages");
        int r;

        if (!list)
                return 0;
        if (list->type != VALUE_LIST)
                return indicator_complain(complaint, "packages", "is %s, must be a list", value_type_text(list));
        if (list->n_items > STACK_PACKAGES_MAX)
                return indicator_complain(complaint, "packages", "has %zu packages, may have up to %u", list->n_items,
                                          STACK_PACKAGES_MAX);

        stack->packages = arena_alloc(arena, (list->n_items + 1) * sizeof(*stack->packages));
        if (!stack->packages)
                return -ENOMEM;
        for (size_t i = 0; i < list->n_items; i++) {
                r = take_package(arena, &list->items[i], i, &stack->packages[i], complaint);
                if (r != 0)
                        return r;
        }
        stack->n_packages = list->n_items;
        return put_in_order(stack, complaint);
}

/* --- the document ---------------------------------------------------------------------------------- */

static int take_build(const Value *document, const Value **ret, Complaint *complaint) {
        const Value *build = value_get_given(document, "build");

        if (!build)
                return 0;
        if (build->type != VALUE_OBJECT)
                return indicator_complain(complaint, "build", "is %s, must be an object", value_type_text(build));

        *ret = build->n_members > 0 ? build : NULL;
        return 0;
}

static int take_document(const Value *document, Arena *arena, Stack *stack, Complaint *complaint) {
        static const char *const keys[] = {
                "base_image", "build", "os", "package_manager", "packages", "python", NULL
        };
        int r;

        if (indicator_check_object(document,
                                   (DocumentLimits){ STRING_MAX_BYTES, KEYS_PER_PACKAGE * STACK_PACKAGES_MAX },
                                   complaint) != 0)
                return STACK_INVALID;
        r = check_object(document, "", keys, complaint);
        if (r == 0)
                r = take_text(document, "", "base_image", &stack->base_image, complaint);
        if (r == 0)
                r = take_text(document, "", "package_manager", &stack->package_manager, complaint);
        if (r == 0)
                r = take_version(document, "os", &stack->os, complaint);
        if (r == 0)
                r = take_version(document, "python", &stack->python, complaint);
        if (r == 0)
                r = take_build(document, &stack->build, complaint);
        return r == 0 ? take_packages(document, arena, stack, complaint) : r;
}

int stack_from_value(const Value *document, Arena *arena, Stack *ret, Complaint *ret_complaint) {
        Stack stack = {};
        int r;

        r = take_document(document, arena, &stack, ret_complaint);
        if (r == 0)
                *ret = stack;
        return r;
}

/* --- the canonical form ---------------------------------------------------------------------------- */

static void put_text(Json *json, const char *key, const char *text) {
        if (text)
                json_put_string(json, key, text);
}

static void put_version(Json *json, const char *key, const StackVersion *version) {
        if (!version->name && !version->version)
                return;

        json_put_object_begin(json, key);
        put_text(json, "name", version->name);
        put_text(json, "version", version->version);
        json_object_end(json);
}

/* Writes one package as JSON; unknown texts are left out. */
static void put_package(const StackPackage *package, Json *json) {
        json_object_begin(json);
        put_text(json, "build", package->build);
        put_text(json, "hash", package->hash);
        put_text(json, "kind", package->kind);
        put_text(json, "name", package->name);
        put_text(json, "source", package->source);
        put_text(json, "version", package->version);
        json_object_end(json);
}

static int compare_members(const void *a, const void *b) {
        const Member *const *x = a, *const *y = b;

        return strcmp((*x)->key, (*y)->key);
}

static int put_sorted(const Value *value, Json *json);

static int put_sorted_object(const Value *object, Json *json) {
        scoped(freep) const Member **members = calloc(object->n_members + 1, sizeof(*members));
        int r = 0;

        if (!members)
                return -ENOMEM;

        for (size_t i = 0; i < object->n_members; i++)
                members[i] = &object->members[i];
        qsort(members, object->n_members, sizeof(*members), compare_members);
        json_object_begin(json);
        for (size_t i = 0; i < object->n_members && r == 0; i++) {
                json_key(json, members[i]->key);
                r = put_sorted(&members[i]->value, json);
        }
        json_object_end(json);
        return r;
}

/* Writes a value with the members of each object sorted by key. 0 or -ENOMEM. */
static int put_sorted(const Value *value, Json *json) {
        int r = 0;

        if (value->type == VALUE_OBJECT)
                return put_sorted_object(value, json);
        if (value->type != VALUE_LIST) {
                value_write_json(value, json);
                return 0;
        }

        json_array_begin(json);
        for (size_t i = 0; i < value->n_items && r == 0; i++)
                r = put_sorted(&value->items[i], json);
        json_array_end(json);
        return r;
}

static int put_form(const Stack *stack, bool has_packages, Buffer *out) {
        Json json = { .out = out };
        int r = 0;

        json_object_begin(&json);
        put_text(&json, "base_image", stack->base_image);
        if (stack->build) {
                json_key(&json, "build");
                r = put_sorted(stack->build, &json);
        }
        put_version(&json, "os", &stack->os);
        put_text(&json, "package_manager", stack->package_manager);
        if (has_packages) {
                json_put_array_begin(&json, "packages");
                for (size_t i = 0; i < stack->n_packages; i++)
                        put_package(&stack->packages[i], &json);
                json_array_end(&json);
        }
        put_version(&json, "python", &stack->python);
        json_object_end(&json);
        return r != 0 ? r : buffer_error(out);
}

int stack_put_canonical(const Stack *stack, Buffer *out) {
        return put_form(stack, true, out);
}

int stack_put_facts(const Stack *stack, Buffer *out) {
        return put_form(stack, false, out);
}

void stack_digest(const Buffer *canonical, uint8_t ret[static STACK_DIGEST_BYTES]) {
        assert(canonical->text);
        sha256_of(canonical->text, canonical->n, ret);
}
