/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/stack_facts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "stack/stack.h"
#include "store/read/read_connection.h"

#define N_SLOTS 4096U
#define PACKAGE_KEY "package."
#define BUILD_KEY ".build"

typedef struct FactSlot {
        int64_t stack; /* 0: free */
        char *key, *value; /* owned; value NULL: unknown */
} FactSlot;

struct StackFacts {
        ReadConnection *connection; /* borrowed */
        int error;
        FactSlot slots[N_SLOTS];
};

int stack_facts_new(StackFacts **ret, Reader *reader) {
        StackFacts *facts = calloc(1, sizeof(*facts));

        if (!facts)
                return -ENOMEM;

        facts->connection = reader_connection(reader);
        *ret = facts;
        return 0;
}

static void release_slot(FactSlot *slot) {
        free(slot->key);
        free(slot->value);
        *slot = (FactSlot){};
}

StackFacts *stack_facts_free(StackFacts *facts) {
        for (size_t i = 0; facts && i < N_SLOTS; i++)
                release_slot(&facts->slots[i]);
        free(facts);
        return NULL;
}

int stack_facts_error(const StackFacts *facts) {
        return facts->error;
}

/* --- keys ---------------------------------------------------------------------------------------- */

static const char *const facts_keys[] = { "stack", "base_image", "os", "python", "package_manager" };

static bool is_package_key(const char *key) {
        return strncmp(key, PACKAGE_KEY, strlen(PACKAGE_KEY)) == 0 && key[strlen(PACKAGE_KEY)];
}

bool stack_facts_has_key(const char *key) {
        for (size_t i = 0; i < N_ELEMENTS(facts_keys); i++)
                if (strcmp(key, facts_keys[i]) == 0)
                        return true;
        return is_package_key(key);
}

/* Writes the name of the package in the key. True: the key asks for the build. */
static bool read_package_key(const char *key, Buffer *out) {
        const char *name = key + strlen(PACKAGE_KEY);
        const char *quote = *name == '"' ? strchr(name + 1, '"') : NULL;
        size_t n = strlen(name), n_build = strlen(BUILD_KEY);
        bool is_build;

        if (quote) {
                buffer_put(out, name + 1, (size_t)(quote - name) - 1);
                return strcmp(quote + 1, BUILD_KEY) == 0;
        }
        is_build = n > n_build && strcmp(name + n - n_build, BUILD_KEY) == 0;
        buffer_put(out, name, is_build ? n - n_build : n);
        return is_build;
}

bool stack_facts_read_package(const char *key, Buffer *out) {
        if (!is_package_key(key))
                return false;

        buffer_puts(out, "");
        (void)read_package_key(key, out);
        return true;
}

/* --- look-up ------------------------------------------------------------------------------------- */

enum { PACKAGE_VERSION, PACKAGE_SOURCE, PACKAGE_HASH, PACKAGE_BUILD, N_PACKAGE_COLUMNS };

STATEMENT package_of_stack = SQL(
        "SELECT p.version, p.source, p.hash, p.build FROM package AS p INDEXED BY package_by_name CROSS JOIN"
        " stack_package AS s"
        " ON s.stack = ?1 AND s.package = p.id WHERE p.name IN (?2, ?3) ORDER BY p.kind, p.version", N_PACKAGE_COLUMNS);
STATEMENT facts_of_stack = SQL("SELECT facts, lower(substr(hex(digest), 1, 16)) FROM stack WHERE id = ?1", 2);

#define HASH_DIGITS 12

static void put_word(const char *word, size_t n, size_t begin, Buffer *out) {
        if (n > 0 && out->n > begin)
                buffer_putc(out, ' ');
        buffer_put(out, word, n);
}

void stack_facts_put_build(const PackageRow *package, Buffer *out) {
        const char *colon = strchr(package->hash, ':');
        size_t begin = out->n, n_hash = strlen(package->hash);

        if (colon && strlen(colon + 1) > HASH_DIGITS)
                n_hash = (size_t)(colon - package->hash) + 1 + HASH_DIGITS;
        put_word(package->version, strlen(package->version), begin, out);
        put_word(package->source, strlen(package->source), begin, out);
        put_word(package->hash, n_hash, begin, out);
        put_word(package->build, strlen(package->build), begin, out);
}

static void put_build(const Prepared *row, Buffer *out) {
        const PackageRow package = {
                .version = column_text(row, PACKAGE_VERSION) ?: "", .source = column_text(row, PACKAGE_SOURCE) ?: "",
                .hash = column_text(row, PACKAGE_HASH) ?: "", .build = column_text(row, PACKAGE_BUILD) ?: "",
        };

        stack_facts_put_build(&package, out);
}

static int find_package(StackFacts *facts, int64_t stack, const char *key, Buffer *out, bool *ret_is_there) {
        scoped(buffer_deinit) Buffer name = {}, folded = {};
        bool is_build = read_package_key(key, &name);
        Prepared *rows;
        int r;

        stack_put_name(name.text ? name.text : "", STACK_KIND_PYTHON, &folded);
        if (buffer_error(&name) < 0 || buffer_error(&folded) < 0)
                return -ENOMEM;
        r = read_connection_prepare(facts->connection, &package_of_stack,
                                    FIELDS(field_i64(stack), field_buffer(&name), field_buffer(&folded)), &rows);
        while (r == 0 && (r = read_connection_step_inside(facts->connection, rows)) == 0) {
                if (*ret_is_there)
                        buffer_puts(out, ", ");
                *ret_is_there = true;
                if (is_build)
                        put_build(rows, out);
                else
                        buffer_puts(out, column_text(rows, PACKAGE_VERSION) ?: "");
        }
        return r == READER_END ? 0 : r;
}

/* A system is "rhel 8.2"; an interpreter its version. */
static void put_fact(JsonText fact, const char *key, Buffer *out) {
        JsonText name = json_text_find(fact, "name"), version = json_text_find(fact, "version");

        if (json_text_kind(fact) == JSON_KIND_STRING) {
                json_text_decode(fact, out);
                return;
        }
        if (name.text && (strcmp(key, "os") == 0 || !version.text))
                json_text_decode(name, out);
        if (version.text && out->n > 0)
                buffer_putc(out, ' ');
        if (version.text)
                json_text_decode(version, out);
}

static int find_fact(StackFacts *facts, int64_t stack, const char *key, Buffer *out, bool *ret_is_there) {
        Prepared *row;
        int r;

        r = read_connection_prepare(facts->connection, &facts_of_stack, FIELDS(field_i64(stack)), &row);
        if (r == 0)
                r = read_connection_step_inside(facts->connection, row);
        if (r != 0)
                return r == READER_END ? 0 : r;

        if (strcmp(key, "stack") == 0)
                buffer_puts(out, column_text(row, 1) ?: "");
        else
                put_fact(json_text_find(column_json(row, 0), key), key, out);
        *ret_is_there = out->n > 0;
        sqlite3_reset(row->handle);
        return 0;
}

static int find_value(StackFacts *facts, int64_t stack, const char *key, char **ret) {
        bool is_package = strncmp(key, PACKAGE_KEY, strlen(PACKAGE_KEY)) == 0, is_there = false;
        scoped(buffer_deinit) Buffer value = {};
        int r;

        buffer_puts(&value, "");
        r = is_package ? find_package(facts, stack, key, &value, &is_there)
                       : find_fact(facts, stack, key, &value, &is_there);
        if (r == 0)
                r = buffer_error(&value);
        if (r == 0 && is_there)
                *ret = buffer_take(&value);
        return r == 0 && is_there && !*ret ? -ENOMEM : r;
}

const char *stack_facts_get(StackFacts *facts, int64_t stack, const char *key) {
        FactSlot *slot;

        assert(stack_facts_has_key(key));
        if (stack == 0 || facts->error != 0) /* the error has ended the query */
                return NULL;
        slot = &facts->slots[hash_text(hash_bytes(HASH_BEGIN, &stack, sizeof(stack)), key) % N_SLOTS];
        if (slot->stack == stack && strcmp(slot->key, key) == 0)
                return slot->value;

        release_slot(slot);
        slot->key = strdup(key);
        if (slot->key) {
                int r = find_value(facts, stack, key, &slot->value);

                if (r != 0 && facts->error == 0)
                        facts->error = r;
                slot->stack = r == 0 ? stack : 0;
        } else if (facts->error == 0)
                facts->error = -ENOMEM;
        return slot->value;
}
