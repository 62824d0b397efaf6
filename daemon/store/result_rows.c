#include "store/result_rows.h"

#include <string.h>

static void pack_document(Buffer *buffer, const Value *document) {
        size_t begin = pack_text_begin(buffer);
        Json json;

        json_init(&json, buffer);
        value_write_json(document, &json);
        pack_text_end(buffer, begin);
}

static void pack_item(Buffer *buffer, const Submission *item, uint64_t arrived_ms) {
        const Indicator *indicator = &item->indicator;

        pack_bytes(buffer, item->id, sizeof(item->id));
        pack_u64(buffer, item->time_ms ? item->time_ms : arrived_ms);
        pack_text(buffer, indicator->name);
        pack_text(buffer, indicator->component ? indicator->component : "");
        pack_text(buffer, item->job && item->job[0] ? item->job : NULL);
        pack_text(buffer, indicator->version);
        pack_u64(buffer, indicator->overall_score != NULL);
        pack_double(buffer, indicator->overall_score ? *indicator->overall_score : 0);
        pack_document(buffer, indicator->document);
}

int result_rows_pack(const Submission *items, size_t n_items, uint32_t uid, uint64_t arrived_ms, StoreCookie cookie,
                     RowSet **ret) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_u64(&buffer, uid);
        for (size_t i = 0; i < n_items; i++)
                pack_item(&buffer, &items[i], arrived_ms);

        return rowset_finish(&buffer, ROW_RESULTS, n_items, cookie, ret);
}

/* *ret_is_new: it was not there before. */
static int apply_item(Unpack *from, uint32_t uid, Database *database, Catalog *catalog, bool *ret_is_new) {
        sqlite3_stmt *insert = database_statement(database, STATEMENT_RESULT_INSERT);
        const void *id = unpack_bytes(from, RESULT_ID_BYTES);
        uint64_t time_ms = unpack_u64(from);
        Text name = unpack_text(from), component = unpack_text(from);
        Text job = unpack_text(from), version = unpack_text(from);
        bool has_score = unpack_u64(from);
        double score = unpack_double(from);
        Text document = unpack_text(from);
        CatalogEntry *entry;
        int r;

        r = catalog_find(catalog, database, name, component, &entry);
        if (r != 0)
                return r;

        sqlite3_bind_blob(insert, 1, id, RESULT_ID_BYTES, SQLITE_STATIC);
        bind_u64(insert, 2, time_ms);
        sqlite3_bind_int64(insert, 3, entry->name);
        sqlite3_bind_int64(insert, 4, entry->component);
        bind_u64(insert, 5, uid);
        if (has_score)
                sqlite3_bind_double(insert, 6, score);
        else
                sqlite3_bind_null(insert, 6);
        bind_text(insert, 7, job);
        bind_text(insert, 8, version);
        bind_text(insert, 9, document);
        r = database_run(database, STATEMENT_RESULT_INSERT);
        if (r != 0)
                return r;

        *ret_is_new = database_changes(database) > 0;
        if (*ret_is_new) {
                entry->n_added++;
                if (entry->latest_ms < time_ms)
                        entry->latest_ms = time_ms;
        }
        return 0;
}

int result_rows_apply(RowSet *set, Database *database, Catalog *catalog) {
        Unpack from = rowset_unpack(set);
        uint32_t uid = (uint32_t)unpack_u64(&from);

        set->n_new = 0;
        for (size_t i = 0; i < set->n_rows; i++) {
                bool is_new;
                int r;

                r = apply_item(&from, uid, database, catalog, &is_new);
                if (r != 0)
                        return r;
                set->n_new += is_new;
        }

        set->outcome = set->n_new > 0 || set->n_rows == 0 ? STORE_DONE : STORE_DUPLICATE;
        return 0;
}
