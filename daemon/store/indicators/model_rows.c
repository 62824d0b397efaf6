/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/model_rows.h"

#include "store/database.h"
#include "store/indicators/catalog.h"
#include "store/indicators/shape.h"

/* --- in the writer's thread -------------------------------------------------------------------- */


typedef struct Sender {
        uint64_t uid, by_admin, time_ms;
} Sender;

static int put_model(Unpack *from, const Sender *sender, bool is_declared, Database *database, Text *ret_name) {
        sqlite3_stmt *put = database_statement(database, STATEMENT_MODEL_PUT);
        Text name = unpack_text(from), component = unpack_text(from), shape = unpack_text(from);
        Text results = unpack_text(from), document = unpack_text(from);
        int64_t number;
        int r;

        r = database_number(database, STATEMENT_LAYOUT_FIND, STATEMENT_LAYOUT_INSERT, shape, &number);
        if (r != 0)
                return r;

        bind_text(put, 1, name);
        bind_text(put, 2, component);
        sqlite3_bind_int64(put, 3, is_declared);
        bind_u64(put, 4, sender->uid);
        bind_u64(put, 5, sender->by_admin);
        bind_u64(put, 6, sender->time_ms);
        sqlite3_bind_int64(put, 7, number);
        bind_text(put, 8, results);
        bind_text(put, 9, document);
        *ret_name = name;
        return database_run(database, STATEMENT_MODEL_PUT);
}

/*
 * Results that are there already are looked up in their documents from here on, and indexed from the next row downwards. name:
 * of one model alone, or NULL.
 */
static int apply_models(Database *database, const Text *name) {
        Statement which = name ? STATEMENT_MODEL_APPLY : STATEMENT_MODELS_APPLY;
        int64_t next = 1;
        int r;

        r = database_get(database, STATEMENT_ROW_NEXT, &next);
        if (r != 0)
                return r;

        sqlite3_bind_int64(database_statement(database, which), 1, next);
        if (name)
                bind_text(database_statement(database, which), 2, *name);
        return database_run(database, which);
}

/* Shapes of models that were replaced, once no result is indexed by them either: anybody may replace a model as often as he likes. */
static int drop_shapes(Database *database) {
        int64_t are_many = 0;
        int r;

        r = database_get(database, STATEMENT_LAYOUTS_ARE_MANY, &are_many);
        return r == 0 && are_many ? database_run(database, STATEMENT_LAYOUTS_TIDY) : r;
}

static int remove_model(RowSet *set, Database *database) {
        sqlite3_stmt *remove = database_statement(database, STATEMENT_MODEL_REMOVE);
        Unpack from = rowset_unpack(set);
        Text name = unpack_text(&from);
        int r;

        bind_text(remove, 1, name);
        bind_text(remove, 2, unpack_text(&from));
        r = database_run(database, STATEMENT_MODEL_REMOVE);
        return r != 0 ? r : apply_models(database, &name);
}

static int put_models(RowSet *set, Database *database, bool is_declared) {
        Unpack from = rowset_unpack(set);
        Text name = {};
        Sender sender;
        int r = 0;

        sender.uid = unpack_u64(&from);
        sender.by_admin = unpack_u64(&from);
        sender.time_ms = unpack_u64(&from);

        if (is_declared)
                r = database_run(database, STATEMENT_MODELS_FORGET);
        for (size_t i = 0; r == 0 && i < set->n_rows; i++)
                r = put_model(&from, &sender, is_declared, database, &name);
        return r != 0 ? r : apply_models(database, is_declared ? NULL : &name);
}

/* Writes the counts of this transaction first: the catalog's entries are not valid afterwards. */
static int begin_change(RowSet *set, Database *database, Catalog *catalog) {
        int r = catalog_flush(catalog, database);

        catalog_forget(catalog);
        catalog_note_unindexed(catalog);
        set->outcome = STORE_DONE;
        return r;
}

static int apply_put(RowSet *set, Database *database, Catalog *catalog, bool is_declared) {
        int r;

        r = begin_change(set, database, catalog);
        if (r == 0)
                r = put_models(set, database, is_declared);
        return r != 0 ? r : drop_shapes(database);
}

static int apply_model(RowSet *set, Database *database, void *catalog) {
        return apply_put(set, database, catalog, false);
}

static int apply_declared(RowSet *set, Database *database, void *catalog) {
        return apply_put(set, database, catalog, true);
}

static int apply_removal(RowSet *set, Database *database, void *catalog) {
        int r;

        r = begin_change(set, database, catalog);
        if (r == 0)
                r = remove_model(set, database);
        return r != 0 ? r : drop_shapes(database);
}

static const RowKind model_kind = { "model", apply_model };
static const RowKind removal_kind = { "model removal", apply_removal };
static const RowKind declared_kind = { "declared models", apply_declared };

/* --- in the caller's thread -------------------------------------------------------------------- */

/* {"rate":{"unit":"GFLOP/s","direction":"higher"},…}: what answers say of results, in one form whatever declared it. */
static void pack_results(Buffer *buffer, const IndicatorModel *model) {
        size_t begin = pack_text_begin(buffer);
        Json json;

        json_init(&json, buffer);
        json_object_begin(&json);
        for (size_t i = 0; i < model->n_properties; i++) {
                const Property *property = &model->properties[i];

                if (!property->is_result)
                        continue;
                json_key(&json, property->name);
                json_object_begin(&json);
                json_put_string(&json, "unit", property->unit);
                json_put_string(&json, "direction", direction_text(property->direction));
                json_object_end(&json);
        }
        json_object_end(&json);
        pack_text_end(buffer, begin);
}

static void pack_model(Buffer *buffer, const IndicatorModel *model) {
        size_t begin;
        Json json;

        pack_text(buffer, model->name);
        pack_text(buffer, model->component);
        begin = pack_text_begin(buffer);
        shape_write(model, buffer);
        pack_text_end(buffer, begin);
        pack_results(buffer, model);

        begin = pack_text_begin(buffer);
        json_init(&json, buffer);
        value_write_json(model->document, &json);
        pack_text_end(buffer, begin);
}

RowSet *model_rows_pack(const StoreModel *model, uint64_t realtime_ms, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_u64(&buffer, model->uid);
        pack_u64(&buffer, model->by_admin);
        pack_u64(&buffer, realtime_ms);
        pack_model(&buffer, model->model);
        return rowset_finish(&buffer, &model_kind, 1, cookie);
}

RowSet *model_rows_pack_removal(const char *name, const char *component, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_text(&buffer, name);
        pack_text(&buffer, component);
        return rowset_finish(&buffer, &removal_kind, 1, cookie);
}

RowSet *model_rows_pack_declared(const IndicatorModel *const *models, size_t n_models, uint64_t realtime_ms) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_u64(&buffer, 0);
        pack_u64(&buffer, true);
        pack_u64(&buffer, realtime_ms);
        for (size_t i = 0; i < n_models; i++)
                pack_model(&buffer, models[i]);
        return rowset_finish(&buffer, &declared_kind, n_models, (StoreCookie){});
}
