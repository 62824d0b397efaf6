/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/model_rows.h"

#include <string.h>

#include "store/catalog/catalog.h"
#include "store/catalog/indexing.h"
#include "store/catalog/shape.h"
#include "store/database/database.h"
#include "store/indicators/result_rows.h"

/* --- in the writer's thread -------------------------------------------------------------------- */

/* Fields that the models of a row set have in common: is_declared, uid, by_admin, time_ms, owner. */
#define N_SENDER_FIELDS 5

STATEMENT model_put = SQL(
        "INSERT INTO model (name, component, is_declared, uid, by_admin, time_ms, owner, shape, results, document)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
        " ON CONFLICT (name, ifnull(component, ''), owner, is_declared) DO UPDATE SET uid = excluded.uid,"
        " by_admin = excluded.by_admin, time_ms = excluded.time_ms, shape = excluded.shape,"
        " results = excluded.results, document = excluded.document", 0);

static int put_model(Unpack *from, const Field sender[static N_SENDER_FIELDS], Database *database, Field *ret_name) {
        Field name = pack_read(from), component = pack_read(from), shape = pack_read(from);
        Field results = pack_read(from), document = pack_read(from);
        int64_t id;
        int r;

        r = catalog_find_shape(database, shape, &id);
        if (r != 0)
                return r;

        *ret_name = name;
        return database_run(database, &model_put,
                            FIELDS(name, component, sender[0], sender[1], sender[2], sender[3], sender[4],
                                   field_i64(id), results, document));
}

/* Indicators that a set gives their shapes at once: names with few components need no further step. */
#define NOW_MAX 32U

/*
 * From here on, results that are stored already are looked up in their documents until they are indexed. name: of
 * one model, or NULL for all. n_now: as for indexing_update_shapes().
 */
static int apply_models(Database *database, const Field *name, size_t *n_now) {
        return indexing_update_shapes(database, name && strcmp(name->text, MODEL_ANY_NAME) != 0 ? name : NULL, n_now);
}

STATEMENT model_remove = SQL(
        "DELETE FROM model WHERE name = ?1 AND ifnull(component, '') = ifnull(?2, '') AND owner = ?3 AND NOT"
        " is_declared",
        0);

STATEMENT models_forget = SQL("DELETE FROM model WHERE is_declared", 0);

/* Writes the counts of this transaction first: afterwards the catalog's entries are invalid. */
static int begin_change(RowSet *set, Database *database, Catalog *catalog) {
        int r = catalog_flush(catalog, database);

        catalog_forget(catalog);
        catalog_note_unindexed(catalog);
        set->outcome = STORE_DONE;
        return r;
}

/* Models of one name follow each other: each name is applied once, after its last model. */
static int apply_put(RowSet *set, Database *database, void *catalog) {
        Unpack from = rowset_unpack(set);
        Field name = {}, before = {}, sender[N_SENDER_FIELDS];
        size_t n_now = NOW_MAX;
        bool is_declared;
        int r;

        pack_read_fields(&from, sender, N_SENDER_FIELDS);
        is_declared = sender[0].integer;
        r = begin_change(set, database, catalog);
        if (r == 0 && is_declared)
                r = database_run(database, &models_forget, NULL, 0);
        for (size_t i = 0; r == 0 && i < set->n_rows; i++, before = name) {
                r = put_model(&from, sender, database, &name);
                if (r == 0 && !is_declared && before.text && strcmp(before.text, name.text) != 0)
                        r = apply_models(database, &before, &n_now);
        }
        return r != 0 ? r : apply_models(database, is_declared ? NULL : &name, &n_now);
}

static int apply_removal(RowSet *set, Database *database, void *catalog) {
        Unpack from = rowset_unpack(set);
        Field fields[3]; /* name, component, owner */
        size_t n_now = NOW_MAX;
        int r;

        pack_read_fields(&from, fields, N_ELEMENTS(fields));
        r = begin_change(set, database, catalog);
        if (r == 0)
                r = database_run(database, &model_remove, fields, N_ELEMENTS(fields));
        return r != 0 ? r : apply_models(database, &fields[0], &n_now);
}

static const RowKind model_kind = { &store_indicators, .apply = apply_put };
static const RowKind removal_kind = { &store_indicators, .apply = apply_removal };

/* --- in the caller's thread -------------------------------------------------------------------- */

/* {"rate":{"unit":"GFLOP/s","direction":"higher"},…}: unit and direction of each result. */
static void write_results(Buffer *buffer, const IndicatorModel *model) {
        Json json = { .out = buffer };

        json_object_begin(&json);
        for (size_t i = 0; i < model->n_properties; i++) {
                const Property *property = &model->properties[i];

                if (!property->is_result)
                        continue;
                json_put_object_begin(&json, property->name);
                json_put_string(&json, "unit", property->unit);
                json_put_string(&json, "direction", property_direction_text(property->direction));
                json_object_end(&json);
        }
        json_object_end(&json);
}

static RowSet *pack_models(const StoreModels *models, bool is_declared, uint64_t realtime_ms, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, FIELDS(field_i64(is_declared), field_u64(models->uid), field_i64(models->by_admin),
                                     field_u64(realtime_ms),
                                     field_i64(models->by_admin ? MODEL_ROWS_OF_ALL : (int64_t)models->uid)));
        for (size_t i = 0; i < models->n_models; i++) {
                const IndicatorModel *model = models->models[i];

                pack_fields(&buffer, FIELDS(field_string(model->name), field_string(model->component)));
                PACK_TEXT(&buffer, shape_write(model, &buffer));
                PACK_TEXT(&buffer, write_results(&buffer, model));
                PACK_TEXT(&buffer, value_write_json(model->document, &(Json){ .out = &buffer }));
        }
        return rowset_finish(&buffer, &model_kind, models->n_models, cookie);
}

RowSet *model_rows_pack(const StoreModels *models, uint64_t realtime_ms, StoreCookie cookie) {
        return pack_models(models, false, realtime_ms, cookie);
}

RowSet *model_rows_pack_declared(const IndicatorModel *const *models, size_t n_models, uint64_t realtime_ms) {
        return pack_models(&(StoreModels){ models, n_models, .by_admin = true }, true, realtime_ms, (StoreCookie){});
}

RowSet *model_rows_pack_removal(const char *name, const char *component, int64_t owner, StoreCookie cookie) {
        return rowset_pack(&removal_kind, cookie,
                           FIELDS(field_string(name), field_string(component), field_i64(owner)));
}
