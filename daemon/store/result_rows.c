#include "store/result_rows.h"

#include <string.h>

/* NULL: of a run that failed before it printed one. */
static void pack_document(Buffer *buffer, const Value *document) {
        static const Value none = { .type = VALUE_NULL };
        size_t begin = pack_text_begin(buffer);
        Json json;

        json_init(&json, buffer);
        value_write_json(document ?: &none, &json);
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
        pack_u64(buffer, indicator->has_overall_score);
        pack_double(buffer, indicator->overall_score);
        pack_document(buffer, indicator->document);
}

int result_rows_pack(const Submission *items, size_t n_items, const Peer *sender, uint64_t arrived_ms, StoreCookie cookie,
                     RowSet **ret) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_u64(&buffer, sender->uid);
        pack_u64(&buffer, sender->is_admin || sender->uid == 0);
        for (size_t i = 0; i < n_items; i++)
                pack_item(&buffer, &items[i], arrived_ms);

        return rowset_finish(&buffer, ROW_RESULTS, n_items, cookie, ret);
}

/* --- in the writer's ----------------------------------------------------------------------------- */

typedef struct Item {
        const void *id;
        uint64_t time_ms;
        Text name, component, job, version, document;
        bool has_score;
        double score;
} Item;

static Item unpack_item(Unpack *from) {
        Item item;

        item.id = unpack_bytes(from, RESULT_ID_BYTES);
        item.time_ms = unpack_u64(from);
        item.name = unpack_text(from);
        item.component = unpack_text(from);
        item.job = unpack_text(from);
        item.version = unpack_text(from);
        item.has_score = unpack_u64(from);
        item.score = unpack_double(from);
        item.document = unpack_text(from);
        return item;
}

/* *ret_is_new: it was not there before. */
static int apply_item(const Item *item, uint32_t uid, Database *database, Catalog *catalog, bool *ret_is_new) {
        sqlite3_stmt *insert = database_statement(database, STATEMENT_RESULT_INSERT);
        CatalogEntry *entry;
        int r;

        r = catalog_find(catalog, database, item->name, item->component, &entry);
        if (r != 0)
                return r;

        sqlite3_bind_blob(insert, 1, item->id, RESULT_ID_BYTES, SQLITE_STATIC);
        bind_u64(insert, 2, item->time_ms);
        sqlite3_bind_int64(insert, 3, entry->name);
        sqlite3_bind_int64(insert, 4, entry->component);
        bind_u64(insert, 5, uid);
        if (item->has_score)
                sqlite3_bind_double(insert, 6, item->score);
        else
                sqlite3_bind_null(insert, 6);
        bind_text(insert, 7, item->job);
        bind_text(insert, 8, item->version);
        bind_text(insert, 9, item->document);
        r = database_run(database, STATEMENT_RESULT_INSERT);
        if (r != 0)
                return r;

        *ret_is_new = database_changes(database) > 0;
        if (*ret_is_new) {
                entry->n_added++;
                if (entry->latest_ms < item->time_ms)
                        entry->latest_ms = item->time_ms;
        }
        return 0;
}

/* A job that nobody began here belongs to nobody. */
static int find_owner(Database *database, Text job, uint32_t sender, uint32_t *ret_owner) {
        sqlite3_stmt *find = database_statement(database, STATEMENT_JOB_FIND);
        int r;

        *ret_owner = sender;
        bind_text(find, 1, job);
        r = database_step(database, STATEMENT_JOB_FIND);
        if (r != DATABASE_ROW)
                return r;

        *ret_owner = (uint32_t)sqlite3_column_int64(find, 1);
        return database_run(database, STATEMENT_JOB_FIND);
}

/* Before the first row is put: may all of them go to the jobs they name? Neighbours tend to name the same. */
static int judge(RowSet *set, Database *database, StoreOutcome *ret) {
        Unpack from = rowset_unpack(set);
        uint32_t uid = (uint32_t)unpack_u64(&from), owner = uid;
        bool is_admin = unpack_u64(&from);
        Text last = {};

        for (size_t i = 0; i < set->n_rows && !is_admin && owner == uid; i++) {
                Text job = unpack_item(&from).job;
                int r;

                if (!job.text || (last.text && strcmp(job.text, last.text) == 0))
                        continue;
                r = find_owner(database, job, uid, &owner);
                if (r != 0)
                        return r;
                last = job;
        }

        *ret = owner == uid ? STORE_DONE : STORE_DENIED;
        return 0;
}

int result_rows_apply(RowSet *set, Database *database, Catalog *catalog) {
        Unpack from = rowset_unpack(set);
        uint32_t uid = (uint32_t)unpack_u64(&from);
        int r;

        (void)unpack_u64(&from);
        set->n_new = 0;
        r = judge(set, database, &set->outcome);
        if (r != 0 || set->outcome != STORE_DONE)
                return r;

        for (size_t i = 0; i < set->n_rows; i++) {
                Item item = unpack_item(&from);
                bool is_new;

                r = apply_item(&item, uid, database, catalog, &is_new);
                if (r != 0)
                        return r;
                set->n_new += is_new;
        }

        set->outcome = set->n_new > 0 || set->n_rows == 0 ? STORE_DONE : STORE_DUPLICATE;
        return 0;
}
