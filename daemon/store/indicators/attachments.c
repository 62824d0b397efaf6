/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/attachments.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "store/catalog/indexing.h"
#include "util/sha256.h"

/* --- tables -------------------------------------------------------------------------------------- */

static const TableSalvage counted_salvage = { .is_first = true,
                                              .values = (const SalvagedValue[]){ { "n_results", "0" }, {} } };
static const TableSalvage package_salvage = { .is_first = true };

/* Results of others may refer to these rows. */
STATEMENT stack_erase[] = { ERASURE_DISOWN("stack", "n_bytes"), {} };

const StoreTable attachments_stack_table = {
        .name = "stack",
        .schema =
                "CREATE TABLE stack ("
                " id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, uid INTEGER NOT NULL, n_results INTEGER NOT"
                " NULL,"
                " n_packages INTEGER NOT NULL, n_bytes INTEGER NOT NULL, facts TEXT NOT NULL);"
                "CREATE TRIGGER stack_added AFTER INSERT ON stack BEGIN"
                " INSERT INTO holder (uid, n_bytes) VALUES (new.uid, new.n_bytes)"
                " ON CONFLICT (uid) DO UPDATE SET n_bytes = n_bytes + excluded.n_bytes; END;"
                "CREATE TRIGGER stack_unused AFTER UPDATE OF n_results ON stack WHEN new.n_results <= 0 BEGIN"
                " DELETE FROM stack WHERE id = new.id; END;"
                "CREATE TRIGGER stack_removed AFTER DELETE ON stack BEGIN"
                " DELETE FROM stack_package WHERE stack = old.id;"
                " UPDATE holder SET n_bytes = n_bytes - old.n_bytes WHERE uid = old.uid; END;",
        .checks = { "SELECT max(id) FROM stack" },
        .salvage = &counted_salvage,
        .erasure = &(const TableErasure){ .last = stack_erase },
};

/* Unknown texts are empty. digest: the first eight bytes of the SHA-256 of all texts. */
const StoreTable attachments_package_table = {
        .name = "package",
        .schema =
                "CREATE TABLE package ("
                " id INTEGER PRIMARY KEY, digest INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, version"
                " TEXT NOT NULL,"
                " source TEXT NOT NULL, hash TEXT NOT NULL, build TEXT NOT NULL);"
                "CREATE UNIQUE INDEX package_by_name ON package (name, digest);",
        .checks = { "SELECT max(id) FROM package" },
        .salvage = &package_salvage,
        .erasure = &table_erasure_follows,
};

const StoreTable attachments_list_table = {
        .name = "stack_package",
        .schema =
                "CREATE TABLE stack_package ("
                " stack INTEGER NOT NULL, package INTEGER NOT NULL, PRIMARY KEY (stack, package)) WITHOUT"
                " ROWID;",
        .checks = { "SELECT max(stack) FROM stack_package" },
        .salvage = &package_salvage,
        .erasure = &table_erasure_follows,
};

#define SIZE_OF_SPECIFICATION(row) "length(CAST(" row ".document AS BLOB))"

STATEMENT specification_erase[] = { ERASURE_DISOWN("specification", SIZE_OF_SPECIFICATION("specification")), {} };

const StoreTable attachments_specification_table = {
        .name = "specification",
        .schema =
                "CREATE TABLE specification ("
                " id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, uid INTEGER NOT NULL, n_results INTEGER NOT"
                " NULL,"
                " document TEXT NOT NULL);"
                "CREATE TRIGGER specification_added AFTER INSERT ON specification BEGIN"
                " INSERT INTO holder (uid, n_bytes) VALUES (new.uid, " SIZE_OF_SPECIFICATION("new") ")"
                " ON CONFLICT (uid) DO UPDATE SET n_bytes = n_bytes + excluded.n_bytes; END;"
                "CREATE TRIGGER specification_unused AFTER UPDATE OF n_results ON specification WHEN new.n_results <="
                " 0 BEGIN"
                " DELETE FROM specification WHERE id = new.id; END;"
                "CREATE TRIGGER specification_removed AFTER DELETE ON specification BEGIN"
                " UPDATE holder SET n_bytes = n_bytes - " SIZE_OF_SPECIFICATION("old") " WHERE uid = old.uid; END;",
        .checks = { "SELECT max(id) FROM specification" },
        .salvage = &counted_salvage,
        .erasure = &(const TableErasure){ .last = specification_erase },
};

/* --- packed attachments -------------------------------------------------------------------------- */

enum { STACK_DIGEST, STACK_BYTES, STACK_PACKAGES, STACK_FACTS, STACK_LIST, N_STACK_FIELDS };
enum { PACKAGE_NAME, PACKAGE_KIND, PACKAGE_VERSION, PACKAGE_SOURCE, PACKAGE_HASH, PACKAGE_BUILD, N_PACKAGE_FIELDS };

static Field text_or_empty(const char *text) {
        return field_string(text ?: "");
}

static void pack_packages(const Stack *stack, Buffer *out) {
        for (size_t i = 0; i < stack->n_packages; i++) {
                const StackPackage *package = &stack->packages[i];

                pack_fields(out, FIELDS(text_or_empty(package->name), text_or_empty(package->kind),
                                        text_or_empty(package->version), text_or_empty(package->source),
                                        text_or_empty(package->hash), text_or_empty(package->build)));
        }
}

/* The packages are one field, so that the writer skips those of a stack that it has. */
static void pack_stack(const SubmissionStack *item, Buffer *out) {
        const Stack *stack = &item->stack;

        pack_fields(out, FIELDS(field_blob(item->digest, sizeof(item->digest)), field_u64(item->n_bytes),
                                field_u64(stack->n_packages)));
        PACK_TEXT(out, out->failed |= stack_put_facts(stack, out) < 0);
        PACK_TEXT(out, pack_packages(stack, out));
}

size_t attachments_number(const AttachmentList *list, Attached kind, const void *attachment) {
        size_t n = attachment ? list->of[kind].n : 0;

        while (n > 0 && list->of[kind].items[n - 1] != attachment)
                n--;
        return n;
}

void attachments_add(AttachmentList *list, const Submission *item) {
        const void *const attached[N_ATTACHED] = { item->stack, item->specification };

        for (Attached kind = 0; kind < N_ATTACHED; kind++)
                if (attached[kind] && attachments_number(list, kind, attached[kind]) == 0) {
                        assert(list->of[kind].n < ATTACHMENTS_MAX);
                        list->of[kind].items[list->of[kind].n++] = attached[kind];
                }
}

_Static_assert(SUBMIT_STACKS_MAX <= ATTACHMENTS_MAX && SUBMIT_SPECIFICATIONS_MAX <= ATTACHMENTS_MAX,
               "the list has room for all");

void attachments_pack(const AttachmentList *list, Buffer *out) {
        for (Attached kind = 0; kind < N_ATTACHED; kind++)
                pack_fields(out, FIELDS(field_u64(list->of[kind].n)));
        for (size_t i = 0; i < list->of[ATTACHED_STACK].n; i++)
                pack_stack(list->of[ATTACHED_STACK].items[i], out);
        for (size_t i = 0; i < list->of[ATTACHED_SPECIFICATION].n; i++)
                PACK_TEXT(out, value_write_json(list->of[ATTACHED_SPECIFICATION].items[i], &(Json){ .out = out }));
}

static const size_t n_fields[N_ATTACHED] = { [ATTACHED_STACK] = N_STACK_FIELDS, [ATTACHED_SPECIFICATION] = 1 };

void attachments_unpack(Unpack *from, AttachmentSet *ret) {
        *ret = (AttachmentSet){};
        for (Attached kind = 0; kind < N_ATTACHED; kind++)
                ret->of[kind].n = (size_t)pack_read(from).integer;
        for (Attached kind = 0; kind < N_ATTACHED; kind++)
                for (size_t i = 0; i < ret->of[kind].n; i++) {
                        Field fields[N_STACK_FIELDS];

                        assert(i < ATTACHMENTS_MAX);
                        ret->of[kind].begins[i] = *from;
                        pack_read_fields(from, fields, n_fields[kind]);
                }
}

/* --- rows ---------------------------------------------------------------------------------------- */

STATEMENT package_find = SQL("SELECT id FROM package WHERE name = ?1 AND digest = ?2", 1);
STATEMENT package_insert = SQL(
        "INSERT INTO package (digest, name, kind, version, source, hash, build) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        0);
STATEMENT list_insert = SQL("INSERT OR IGNORE INTO stack_package VALUES (?1, ?2)", 0);

static int64_t digest_of(const Field *fields, Buffer *room) {
        uint8_t digest[SHA256_BYTES];
        int64_t v;

        buffer_clear(room);
        for (size_t i = 0; i < N_PACKAGE_FIELDS; i++)
                buffer_put(room, fields[i].text, (size_t)fields[i].n + 1); /* with the NUL */
        sha256_of(room->text, room->n, digest);
        memcpy(&v, digest, sizeof(v));
        return v;
}

static int put_package(Database *database, int64_t stack, const Field *fields, Buffer *room) {
        Field digest = field_i64(digest_of(fields, room));
        int64_t id = 0;
        int r;

        if (buffer_error(room) < 0)
                return -ENOMEM;
        r = database_get(database, &package_find, FIELDS(fields[PACKAGE_NAME], digest), &id);
        if (r == 0 && id == 0)
                r = database_insert(database, &package_insert,
                                    FIELDS(digest, fields[PACKAGE_NAME], fields[PACKAGE_KIND], fields[PACKAGE_VERSION],
                                           fields[PACKAGE_SOURCE], fields[PACKAGE_HASH], fields[PACKAGE_BUILD]), &id);
        return r == 0 ? database_run(database, &list_insert, FIELDS(field_i64(stack), field_i64(id))) : r;
}

STATEMENT stack_find = SQL("SELECT id FROM stack WHERE digest = ?1", 1);
STATEMENT stack_insert = SQL(
        "INSERT INTO stack (digest, uid, n_results, n_packages, n_bytes, facts) VALUES (?1, ?2, 0, ?3, ?4, ?5)", 0);

static int put_stack(Database *database, Unpack from, uint32_t uid, int64_t *ret) {
        Field fields[N_STACK_FIELDS], package[N_PACKAGE_FIELDS];
        scoped(buffer_deinit) Buffer room = {};
        Unpack packages;
        int64_t id = 0;
        int r;

        pack_read_fields(&from, fields, N_STACK_FIELDS);
        r = database_get(database, &stack_find, FIELDS(fields[STACK_DIGEST]), &id);
        if (r != 0 || id != 0) {
                *ret = id;
                return r;
        }

        r = database_insert(database, &stack_insert,
                            FIELDS(fields[STACK_DIGEST], field_u64(uid), fields[STACK_PACKAGES], fields[STACK_BYTES],
                                   fields[STACK_FACTS]), &id);
        packages = (Unpack){ fields[STACK_LIST].text, fields[STACK_LIST].text + fields[STACK_LIST].n };
        for (int64_t i = 0; r == 0 && i < fields[STACK_PACKAGES].integer; i++) {
                pack_read_fields(&packages, package, N_PACKAGE_FIELDS);
                r = put_package(database, id, package, &room);
        }
        *ret = id;
        return r;
}

STATEMENT specification_find = SQL("SELECT id FROM specification WHERE digest = ?1", 1);
STATEMENT specification_insert = SQL(
        "INSERT INTO specification (digest, uid, n_results, document) VALUES (?1, ?2, 0, ?3)", 0);

static int put_specification(Database *database, Unpack from, uint32_t uid, int64_t *ret) {
        Field document = pack_read(&from);
        uint8_t digest[SHA256_BYTES];
        int r;

        sha256_of(document.text, (size_t)document.n, digest);
        r = database_get(database, &specification_find, FIELDS(field_blob(digest, sizeof(digest))), ret);
        if (r == 0 && *ret == 0)
                r = database_insert(database, &specification_insert,
                                    FIELDS(field_blob(digest, sizeof(digest)), field_u64(uid), document), ret);
        return r;
}

int attachments_find(Database *database, AttachmentSet *set, const size_t numbers[static N_ATTACHED], uint32_t uid,
                     int64_t ret_ids[static N_ATTACHED]) {
        int r = 0;

        for (Attached kind = 0; r == 0 && kind < N_ATTACHED; kind++) {
                size_t i = numbers[kind];
                int64_t *ids = set->of[kind].ids;

                ret_ids[kind] = 0;
                if (i-- == 0)
                        continue;
                assert(i < set->of[kind].n);
                if (ids[i] == 0)
                        r = (kind == ATTACHED_STACK ? put_stack : put_specification)(database, set->of[kind].begins[i],
                                                                                     uid, &ids[i]);
                ret_ids[kind] = ids[i];
        }
        return r;
}

STATEMENT count_result[N_ATTACHED] = {
        SQL("UPDATE stack SET n_results = n_results + 1 WHERE id = ?1", 0),
        SQL("UPDATE specification SET n_results = n_results + 1 WHERE id = ?1", 0),
};

int attachments_count(Database *database, const int64_t ids[static N_ATTACHED]) {
        int r = 0;

        for (Attached kind = 0; r == 0 && kind < N_ATTACHED; kind++)
                if (ids[kind] != 0)
                        r = database_run(database, &count_result[kind], FIELDS(field_i64(ids[kind])));
        return r;
}

STATEMENT drop_unused[N_ATTACHED] = {
        SQL("DELETE FROM stack WHERE id = ?1 AND n_results = 0", 0),
        SQL("DELETE FROM specification WHERE id = ?1 AND n_results = 0", 0),
};

int attachments_drop_unused(Database *database, const AttachmentSet *set) {
        int r = 0;

        for (Attached kind = 0; kind < N_ATTACHED; kind++)
                for (size_t i = 0; r == 0 && i < set->of[kind].n; i++)
                        if (set->of[kind].ids[i] != 0)
                                r = database_run(database, &drop_unused[kind], FIELDS(field_i64(set->of[kind].ids[i])));
        return r;
}

/* --- results that were stored without an attachment --------------------------------------------------- */

enum { STORED_ROW, STORED_ATTACHED, STORED_SERIES, N_STORED_COLUMNS };
#define STORED(column, series) \
        SQL("SELECT row, ifnull(" column ", 0), " series " FROM result WHERE id = ?1 AND uid = ?2", N_STORED_COLUMNS)
/* A specification does not distinguish series. */
STATEMENT stored_find[N_ATTACHED] = {
        [ATTACHED_STACK] = STORED("stack", "ifnull(series, 0)"),
        [ATTACHED_SPECIFICATION] = STORED("specification", "0"),
};
STATEMENT stored_attach[N_ATTACHED] = {
        [ATTACHED_STACK] = SQL("UPDATE result SET stack = ?2 WHERE row = ?1", 0),
        [ATTACHED_SPECIFICATION] = SQL("UPDATE result SET specification = ?2 WHERE row = ?1", 0),
};

int attachments_complete(Database *database, Catalog *catalog, const Duplicate *sent, Attached kind, int64_t id,
                         int64_t *n_new_max, DuplicateOutcome *ret) {
        int64_t stored[N_STORED_COLUMNS] = {};
        int r;

        *ret = DUPLICATE_UNCHANGED;
        r = database_get_row(database, &stored_find[kind], FIELDS(sent->id, field_u64(sent->uid)), stored,
                             N_STORED_COLUMNS);
        if (r != 0 || stored[STORED_ROW] == 0 || stored[STORED_ATTACHED] == id)
                return r;

        *ret = stored[STORED_ATTACHED] != 0 ? DUPLICATE_DIFFERS : DUPLICATE_COMPLETED;
        if (*ret == DUPLICATE_DIFFERS)
                return 0;
        r = database_run(database, &stored_attach[kind], FIELDS(field_i64(stored[STORED_ROW]), field_i64(id)));
        if (r != 0 || stored[STORED_SERIES] == 0)
                return r;
        r = indexing_index_row(database, catalog, stored[STORED_ROW], n_new_max);
        catalog_forget_series(catalog); /* the former series may have lost its last point */
        return r;
}
