/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/specification_rows.h"

#include <assert.h>

#include "store/table/table_salvage.h"
#include "util/sha256.h"

#define SIZE_OF(row) "length(CAST(" row ".document AS BLOB))"

static const TableSalvage salvage = { .is_first = true, .values = (const SalvagedValue[]){ { "n_results", "0" }, {} } };

const StoreTable specification_rows_table = {
        .name = "specification",
        .schema =
                "CREATE TABLE specification ("
                " id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, uid INTEGER NOT NULL, n_results INTEGER NOT NULL,"
                " document TEXT NOT NULL) STRICT;"
                "CREATE TRIGGER specification_added AFTER INSERT ON specification BEGIN"
                " INSERT INTO holder (uid, n_bytes) VALUES (new.uid, " SIZE_OF("new") ")"
                " ON CONFLICT DO UPDATE SET n_bytes = n_bytes + excluded.n_bytes; END;"
                "CREATE TRIGGER specification_unused AFTER UPDATE OF n_results ON specification WHEN new.n_results <= 0 BEGIN"
                " DELETE FROM specification WHERE id = new.id; END;"
                "CREATE TRIGGER specification_removed AFTER DELETE ON specification BEGIN"
                " UPDATE holder SET n_bytes = n_bytes - " SIZE_OF("old") " WHERE uid = old.uid; END;",
        .checks = { "SELECT max(id) FROM specification" },
        .salvage = &salvage,
};

/* --- packed specifications ----------------------------------------------------------------------- */

size_t specification_rows_number(const SpecificationList *list, const Value *document) {
        size_t n = document ? list->n : 0;

        while (n > 0 && list->items[n - 1] != document)
                n--;
        return n;
}

void specification_rows_add(SpecificationList *list, const Value *document) {
        if (!document || specification_rows_number(list, document) > 0)
                return;

        assert(list->n < SUBMIT_SPECIFICATIONS_MAX);
        list->items[list->n++] = document;
}

void specification_rows_pack(const SpecificationList *list, Buffer *out) {
        pack_fields(out, FIELDS(field_u64(list->n)));
        for (size_t i = 0; i < list->n; i++) {
                size_t begin = pack_text_begin(out);

                value_write_json(list->items[i], &(Json){ .out = out });
                pack_text_end(out, begin);
        }
}

void specification_rows_unpack(Unpack *from, SpecificationSet *ret) {
        *ret = (SpecificationSet){ .n = (size_t)pack_read(from).integer };
        assert(ret->n <= SUBMIT_SPECIFICATIONS_MAX);
        pack_read_fields(from, ret->documents, ret->n);
}

/* --- rows ---------------------------------------------------------------------------------------- */

STATEMENT find = { "SELECT id FROM specification WHERE digest = ?1", 1 };
STATEMENT insert = { "INSERT INTO specification (digest, uid, n_results, document) VALUES (?1, ?2, 0, ?3) RETURNING id", 1 };
STATEMENT count = { "UPDATE specification SET n_results = n_results + 1 WHERE id = ?1", 0 };
STATEMENT drop = { "DELETE FROM specification WHERE id = ?1 AND n_results = 0", 0 };

static int put(Database *database, Field document, uint32_t uid, int64_t *ret) {
        uint8_t digest[SHA256_BYTES];
        int r;

        sha256_of(document.text, (size_t)document.n, digest);
        r = database_get(database, &find, FIELDS(field_blob(digest, sizeof(digest))), ret);
        if (r == 0 && *ret == 0)
                r = database_get(database, &insert, FIELDS(field_blob(digest, sizeof(digest)), field_u64(uid), document), ret);
        return r;
}

int specification_rows_find(Database *database, SpecificationSet *set, size_t number, uint32_t uid, int64_t *ret) {
        int r = 0;

        assert(number <= set->n);
        if (number > 0 && set->ids[number - 1] == 0)
                r = put(database, set->documents[number - 1], uid, &set->ids[number - 1]);
        if (r == 0)
                *ret = number > 0 ? set->ids[number - 1] : 0;
        return r;
}

int specification_rows_count(Database *database, int64_t specification) {
        return specification != 0 ? database_run(database, &count, FIELDS(field_i64(specification))) : 0;
}

int specification_rows_drop_unused(Database *database, const SpecificationSet *set) {
        int r = 0;

        for (size_t i = 0; i < set->n && r == 0; i++)
                if (set->ids[i] != 0)
                        r = database_run(database, &drop, FIELDS(field_i64(set->ids[i])));
        return r;
}
