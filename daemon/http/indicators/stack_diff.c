/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/stack_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/indicators/stack_facts.h"
#include "store/indicators/stack_reader.h"
#include "util/array.h"
#include "util/scoped.h"

#define BUILD_KEY ".build"

/* A value of a stack. */
typedef struct Fact {
        /* owned; build: all that distinguishes packages of one version, "" for other facts */
        char *key, *value, *build;
        size_t stack;              /* index */
} Fact;

typedef struct FactSet {
        Fact *items; /* owned */
        size_t n, n_allocated;
} FactSet;

static void drop_facts_from(FactSet *set, size_t begin) {
        for (size_t i = begin; i < set->n; i++) {
                free(set->items[i].key);
                free(set->items[i].value);
                free(set->items[i].build);
        }
        set->n = begin;
}

static void fact_set_deinit(FactSet *set) {
        drop_facts_from(set, 0);
        free(set->items);
}

static int add_fact(FactSet *set, size_t stack, const char *key, const char *value, const char *build) {
        Fact *fact;

        if (set->n == STACK_DIFF_FACTS_MAX)
                return -E2BIG;
        if (ARRAY_RESERVE(set->items, set->n_allocated, set->n + 1) < 0)
                return -ENOMEM;
        fact = &set->items[set->n++];
        *fact = (Fact){ .key = strdup(key), .value = strdup(value), .build = strdup(build), .stack = stack };
        return fact->key && fact->value && fact->build ? 0 : -ENOMEM;
}

/* --- reading --------------------------------------------------------------------------------------- */

static int add_package(FactSet *set, size_t stack, const PackageRow *row) {
        size_t n_name = strlen(row->name), n_build = strlen(BUILD_KEY);
        bool is_quoted = n_name > n_build && strcmp(row->name + n_name - n_build, BUILD_KEY) == 0;
        scoped(buffer_deinit) Buffer key = {}, build = {};

        buffer_printf(&key, is_quoted ? "package.\"%s\"" : "package.%s", row->name);
        buffer_puts(&build, "");
        stack_facts_put_build(row, &build);
        if (buffer_error(&key) < 0 || buffer_error(&build) < 0)
                return -ENOMEM;
        return add_fact(set, stack, key.text, row->version, build.text);
}

static int read_packages(const Sources *sources, const StackCount *stack, size_t i, FactSet *set) {
        PackageRow row;
        int r;

        r = stack_reader_list_packages(sources->reader, stack->stack);
        while (r == 0 && (r = stack_reader_next_package(sources->reader, &row)) == 0)
                r = add_package(set, i, &row);
        return r == READER_END ? 0 : r;
}

static int read_facts(const Sources *sources, const StackCount *stack, size_t i, FactSet *set) {
        static const char *const keys[] = { "base_image", "os", "python", "package_manager" };
        scoped(stack_facts_freep) StackFacts *facts = NULL;
        int r;

        r = stack_facts_new(&facts, sources->reader);
        if (r == 0)
                /* the query in which the facts are looked up */
                r = stack_reader_list_packages(sources->reader, stack->stack);
        for (size_t k = 0; r == 0 && k < N_ELEMENTS(keys); k++) {
                const char *value = stack_facts_get(facts, stack->stack, keys[k]);

                r = stack_facts_error(facts);
                if (r == 0 && value)
                        r = add_fact(set, i, keys[k], value, "");
        }
        return r;
}

/* --- comparing ------------------------------------------------------------------------------------- */

static int compare_values(const void *a, const void *b) {
        const Fact *x = a, *y = b;

        return strcmp(x->key, y->key) ?: strcmp(x->value, y->value) ?: COMPARE(x->stack, y->stack);
}

/* For facts of one key. */
static int compare_builds(const void *a, const void *b) {
        const Fact *x = a, *y = b;

        return strcmp(x->build, y->build) ?: COMPARE(x->stack, y->stack);
}

static const char *text_of(const Fact *fact, bool is_build) {
        return is_build ? fact->build : fact->value;
}

/* Adds up the stacks that have the value at `begin`: each once, also if several of its packages have the value.
 * Returns the end of the value's facts. */
static size_t count_value(const Fact *facts, size_t begin, size_t n, const StackCount *stacks, bool is_build,
                          StackCount *ret, size_t *ret_n_stacks) {
        size_t i;

        *ret = (StackCount){};
        *ret_n_stacks = 0;
        for (i = begin; i < n && strcmp(text_of(&facts[begin], is_build), text_of(&facts[i], is_build)) == 0; i++) {
                if (i > begin && facts[i].stack == facts[i - 1].stack)
                        continue;
                ret->n += stacks[facts[i].stack].n;
                ret->n_failed += stacks[facts[i].stack].n_failed;
                ++*ret_n_stacks;
        }
        return i;
}

/* True if a value is not that of all stacks. facts: of one key. */
static bool is_different(const Fact *facts, size_t n, const StackCount *stacks, size_t n_stacks, bool is_build) {
        StackCount count;
        size_t n_have;

        for (size_t begin = 0; begin < n;) {
                begin = count_value(facts, begin, n, stacks, is_build, &count, &n_have);
                if (n_have < n_stacks)
                        return true;
        }
        return false;
}

static void put_value(Json *json, const char *value, const StackCount *count) {
        json_object_begin(json);
        json_put_string(json, "value", value);
        json_put_uint(json, "results", count->n);
        json_put_uint(json, "failed", count->n_failed);
        json_object_end(json);
}

static void put_values(Json *json, const Fact *facts, size_t n, const StackCount *stacks, size_t n_stacks,
                       bool is_build) {
        StackCount rest = {};

        for (size_t i = 0; i < n_stacks; i++) {
                bool is_there = false;

                for (size_t k = 0; k < n && !is_there; k++)
                        is_there = facts[k].stack == i;
                rest.n += is_there ? 0 : stacks[i].n;
                rest.n_failed += is_there ? 0 : stacks[i].n_failed;
                rest.stack += !is_there;
        }
        for (size_t begin = 0, end; begin < n; begin = end) {
                StackCount count;
                size_t n_have;

                end = count_value(facts, begin, n, stacks, is_build, &count, &n_have);
                put_value(json, text_of(&facts[begin], is_build), &count);
        }
        if (rest.stack > 0)
                put_value(json, NULL, &rest);
}

static bool is_among(const char *key, const char *const *without, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const char *rest = strncmp(without[i], key, strlen(key)) == 0 ? without[i] + strlen(key) : NULL;

                if (rest && (!*rest || strcmp(rest, BUILD_KEY) == 0))
                        return true;
        }
        return false;
}

static void write_key(Json *json, Fact *facts, size_t n, const StackCount *stacks, size_t n_stacks) {
        bool is_build = !is_different(facts, n, stacks, n_stacks, false);
        scoped(buffer_deinit) Buffer key = {};

        if (is_build) {
                qsort(facts, n, sizeof(*facts), compare_builds);
                if (!is_different(facts, n, stacks, n_stacks, true))
                        return;
        }

        buffer_printf(&key, "%s%s", facts[0].key, is_build ? BUILD_KEY : "");
        json_object_begin(json);
        json_put_string(json, "key", key.text);
        json_put_array_begin(json, "values");
        put_values(json, facts, n, stacks, n_stacks, is_build);
        json_array_end(json);
        json_object_end(json);
}

/* Reads the facts of as many stacks as STACK_DIFF_FACTS_MAX allows, at most *n, and sets *n to their number. */
static int read_stacks(const Sources *sources, const StackCount *stacks, size_t *n, FactSet *set) {
        for (size_t i = 0; i < *n; i++) {
                size_t begin = set->n;
                int r;

                r = read_facts(sources, &stacks[i], i, set);
                if (r == 0)
                        r = read_packages(sources, &stacks[i], i, set);
                if (r == -E2BIG) {
                        drop_facts_from(set, begin);
                        *n = i;
                        return 0;
                }
                if (r != 0)
                        return r;
        }
        return 0;
}

static void write_keys(Json *json, FactSet *set, const StackCount *stacks, size_t n, const char *const *without,
                       size_t n_without) {
        if (set->n > 0)
                qsort(set->items, set->n, sizeof(*set->items), compare_values);
        for (size_t begin = 0, end = 0; begin < set->n; begin = end) {
                for (end = begin + 1; end < set->n && strcmp(set->items[begin].key, set->items[end].key) == 0; end++)
                        ;
                if (!is_among(set->items[begin].key, without, n_without))
                        write_key(json, &set->items[begin], end - begin, stacks, n);
        }
}

int stack_diff_write(const Sources *sources, Response *response, Json *json, const char *key, const StackCount *stacks,
                     size_t n, const char *const *without, size_t n_without, uint64_t *ret_n_excluded) {
        scoped(fact_set_deinit) FactSet set = {};
        size_t n_read = n > 1 ? n : 0;
        int r;

        r = read_stacks(sources, stacks, &n_read, &set);
        if (r != 0)
                return exchange_store_error(response, r);
        if (n_read < n && n > 1 && !ret_n_excluded)
                return exchange_error(response, 413,
                                      "the software stacks have more than %u packages; select fewer results",
                                      STACK_DIFF_FACTS_MAX);

        for (size_t i = n_read; n > 1 && i < n; i++)
                *ret_n_excluded += stacks[i].n + stacks[i].n_failed;
        json_put_array_begin(json, key);
        write_keys(json, &set, stacks, n_read, without, n_without);
        json_array_end(json);
        return 0;
}
