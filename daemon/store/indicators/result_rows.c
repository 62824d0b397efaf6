/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/result_rows.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <string.h>

#include "store/database.h"
#include "store/indicators/catalog.h"
#include "store/indicators/series.h"
#include "store/indicators/shape.h"
#include "store/jobs/job_rows.h"

/* The body of a row set begins with what became of its results, which the writer fills in. */
static size_t n_stored_bytes(size_t n_rows) {
        return sizeof(ResultsStored) + (n_rows + 7) / 8;
}

static ResultsStored *stored_of(RowSet *set) {
        return (ResultsStored *)(void *)(set + 1);
}

_Static_assert(sizeof(RowSet) % alignof(ResultsStored) == 0, "the body of a row set is aligned for what it begins with");

/* --- in the writer's thread -------------------------------------------------------------------- */

typedef struct Item {
        const void *id;
        uint64_t time_ms;
        Text name, component, job, version, document;
        bool is_job_inherited;
        bool has_score;
        double score;
        bool has_exit_status, has_batch;
        int32_t exit_status;
        const void *batch;
        uint64_t batch_index;
        Text run;
        Text shape; /* NULL: no model, not indexed */
} Item;

/* Parts of a result for the index. The writer reads them from the texts of an item, so that the event loop spends no time on them. */
typedef struct IndexParts {
        Buffer hardware, parameters, numbers; /* owned; kept from item to item */
        bool has_hardware, has_numbers;
} IndexParts;

static void index_parts_deinit(IndexParts *parts) {
        buffer_deinit(&parts->hardware);
        buffer_deinit(&parts->parameters);
        buffer_deinit(&parts->numbers);
}

static JsonText json_of(Text text) {
        return json_text(text.text, (size_t)text.n);
}

static Text text_of(const Buffer *buffer, bool is_there) {
        return is_there ? (Text){ buffer->text ? buffer->text : "", (int)buffer->n } : (Text){};
}

static int index_parts_read(IndexParts *parts, const Item *item) {
        JsonText document = json_of(item->document);

        assert(item->shape.text);
        buffer_clear(&parts->hardware);
        buffer_clear(&parts->parameters);
        buffer_clear(&parts->numbers);
        parts->has_hardware = shape_put_hardware(json_of(item->run), &parts->hardware);
        parts->has_numbers = !item->has_exit_status || item->exit_status == 0;
        if (parts->has_numbers)
                shape_put_numbers(document, json_of(item->shape), &parts->numbers);
        if (shape_put_parameters(document, &parts->parameters) < 0)
                return -ENOMEM;
        return buffer_error(&parts->hardware) < 0 || buffer_error(&parts->numbers) < 0 ? -ENOMEM : 0;
}

static Item unpack_item(Unpack *from) {
        Item item = {};

        item.id = pack_read_bytes(from, RESULT_ID_BYTES);
        item.time_ms = pack_read_u64(from);
        item.name = pack_read_text(from);
        item.component = pack_read_text(from);
        item.job = pack_read_text(from);
        item.is_job_inherited = pack_read_u64(from);
        item.version = pack_read_text(from);
        item.has_score = pack_read_u64(from);
        item.score = pack_read_double(from);
        item.document = pack_read_text(from);
        item.has_exit_status = pack_read_u64(from);
        item.exit_status = (int32_t)pack_read_u64(from);
        item.has_batch = pack_read_u64(from);
        item.batch = pack_read_bytes(from, RESULT_ID_BYTES);
        item.batch_index = pack_read_u64(from);
        item.run = pack_read_text(from);
        item.shape = pack_read_text(from);
        return item;
}

static int find_series(const Item *item, const IndexParts *parts, Database *database, Catalog *catalog, const CatalogEntry *entry,
                       SeriesEntry *ret) {
        SeriesKey key = {
                .name = entry->name, .component = entry->component, .shape = item->shape, .version = item->version,
                .hardware = text_of(&parts->hardware, parts->has_hardware), .parameters = text_of(&parts->parameters, true),
        };

        return series_find(catalog_series(catalog), database, &key, item->id, ret);
}

STATEMENT result_insert = {
        "INSERT INTO result (id, time_ms, name, component, uid, score, job, version, document,"
        " exit_status, batch, batch_index, run, series)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) ON CONFLICT (id) DO NOTHING",
        0,
};

static void bind_run(Prepared *insert, const Item *item, int64_t series) {
        if (item->has_exit_status)
                statement_bind_i64(insert, item->exit_status);
        else
                statement_bind_null(insert);
        if (item->has_batch) {
                statement_bind_blob(insert, item->batch, RESULT_ID_BYTES);
                statement_bind_u64(insert, item->batch_index);
        } else {
                statement_bind_null(insert);
                statement_bind_null(insert);
        }
        statement_bind_text(insert, item->run);
        if (series != 0)
                statement_bind_i64(insert, series);
        else
                statement_bind_null(insert);
}

/* Right after the row of the item was inserted. */
static int note_item(const Item *item, const IndexParts *parts, Database *database, Catalog *catalog, CatalogEntry *entry,
                     const SeriesEntry *series) {
        Point point = {
                .series = series->id, .row = sqlite3_last_insert_rowid(database->db), .time_ms = item->time_ms,
                .has_score = item->has_score, .score = item->score,
                .numbers = text_of(&parts->numbers, parts->has_numbers),
        };

        catalog_add(catalog, entry, item->time_ms, point.row, series->shape);
        return series->id != 0 ? series_put_point(database, &point) : 0;
}

/* *ret_is_new: the result was not stored before. */
static int apply_item(const Item *item, uint32_t uid, IndexParts *parts, Database *database, Catalog *catalog, bool *ret_is_new) {
        Prepared *insert = database_prepare(database, &result_insert);
        CatalogEntry *entry;
        SeriesEntry series = {};
        int r;

        r = catalog_find(catalog, database, item->name, item->component, &entry);
        if (r == 0 && item->shape.text)
                r = index_parts_read(parts, item);
        if (r == 0 && item->shape.text)
                r = find_series(item, parts, database, catalog, entry, &series);
        if (r != 0)
                return r;

        statement_bind_blob(insert, item->id, RESULT_ID_BYTES);
        statement_bind_u64(insert, item->time_ms);
        statement_bind_i64(insert, entry->name);
        statement_bind_i64(insert, entry->component);
        statement_bind_u64(insert, uid);
        if (item->has_score)
                statement_bind_double(insert, item->score);
        else
                statement_bind_null(insert);
        statement_bind_text(insert, item->job);
        statement_bind_text(insert, item->version);
        statement_bind_text(insert, item->document);
        bind_run(insert, item, series.id);
        r = database_run(database, insert);
        if (r != 0)
                return r;

        *ret_is_new = database_changes(database) > 0;
        return *ret_is_new ? note_item(item, parts, database, catalog, entry, &series) : 0;
}

static Unpack unpack_rows(const RowSet *set) {
        Unpack from = rowset_unpack(set);

        (void)pack_read_bytes(&from, n_stored_bytes(set->n_rows));
        return from;
}

/* A job that an item names. */
typedef struct Named {
        Text id;
        bool has_ended;
        uint32_t owner;
} Named;

/* A job that was never begun here belongs to the sender. Neighbours tend to name the same job, which *ret is then. */
static int find_named(Database *database, Text id, uint32_t sender, Named *ret) {
        JobOwner owner;
        int r;

        if (ret->id.text && strcmp(id.text, ret->id.text) == 0)
                return 0;

        r = job_rows_find_owner(database, id, &owner);
        if (r != 0)
                return r;

        *ret = (Named){
                .id = id,
                .has_ended = owner.is_stored && !owner.is_running,
                .owner = owner.is_stored ? owner.uid : sender,
        };
        return 0;
}

/* Before the first row is stored: whether all items may go to the jobs that they name. */
static int judge(RowSet *set, Database *database, StoreOutcome *ret) {
        Unpack from = unpack_rows(set);
        uint32_t uid = (uint32_t)pack_read_u64(&from);
        bool is_admin = pack_read_u64(&from), is_denied = false;
        Named named = {};

        for (size_t i = 0; i < set->n_rows && !is_admin && !is_denied; i++) {
                Item item = unpack_item(&from);
                int r;

                if (!item.job.text)
                        continue;
                r = find_named(database, item.job, uid, &named);
                if (r != 0)
                        return r;
                is_denied = named.owner != uid && !(item.is_job_inherited && named.has_ended);
        }

        *ret = is_denied ? STORE_DENIED : STORE_DONE;
        return 0;
}

/* A process may outlive the job that its environment names; what it measures then is not the job's. */
static int leave_ended_job(RowSet *set, Database *database, uint32_t uid, Named *named, Item *item) {
        int r;

        if (!item->job.text || !item->is_job_inherited)
                return 0;

        r = find_named(database, item->job, uid, named);
        if (r == 0 && named->has_ended) {
                item->job = (Text){};
                stored_of(set)->has_left_job = true;
        }
        return r;
}

static int apply(RowSet *set, Database *database, void *state) {
        ResultsStored *stored = stored_of(set);
        Unpack from = unpack_rows(set);
        uint32_t uid = (uint32_t)pack_read_u64(&from);
        scoped(index_parts_deinit) IndexParts parts = {};
        Named named = {};
        int r;

        (void)pack_read_u64(&from);
        memset(stored, 0, n_stored_bytes(set->n_rows));
        r = judge(set, database, &set->outcome);
        if (r != 0 || set->outcome != STORE_DONE)
                return r;

        for (size_t i = 0; i < set->n_rows; i++) {
                Item item = unpack_item(&from);
                bool is_new;

                r = leave_ended_job(set, database, uid, &named, &item);
                if (r == 0)
                        r = apply_item(&item, uid, &parts, database, state, &is_new);
                if (r != 0)
                        return r;
                stored->n_new += is_new;
                if (!is_new)
                        stored->old[i / 8] |= (uint8_t)(1U << i % 8);
        }

        set->outcome = stored->n_new > 0 || set->n_rows == 0 ? STORE_DONE : STORE_DUPLICATE;
        return 0;
}

const RowKind result_rows_kind = { "results", apply };

const ResultsStored *result_rows_stored(const RowSet *set) {
        assert(set->kind == &result_rows_kind);
        return (const ResultsStored *)(const void *)(set + 1);
}

/* --- in the caller's thread -------------------------------------------------------------------- */

/* Copies the text of the sender where there is one, else writes the value. value: NULL for none. */
static void pack_document(Buffer *buffer, JsonText text, const Value *value) {
        size_t begin = pack_text_begin(buffer);
        Json json;

        json_init(&json, buffer);
        if (text.text || !value)
                json_text_write(text, &json);
        else
                value_write_json(value, &json);
        pack_text_end(buffer, begin);
}

static void pack_run(Buffer *buffer, const Submission *item) {
        pack_u64(buffer, item->has_exit_status);
        pack_u64(buffer, (uint64_t)item->exit_status);
        pack_u64(buffer, item->has_batch);
        pack_bytes(buffer, item->batch, sizeof(item->batch));
        pack_u64(buffer, item->batch_index);
        if (item->run)
                pack_document(buffer, item->run_text, item->run);
        else
                pack_text(buffer, NULL);
}

static void pack_item(Buffer *buffer, const Submission *item, uint64_t arrived_ms) {
        const Indicator *indicator = &item->indicator;
        size_t begin;

        pack_bytes(buffer, item->id, sizeof(item->id));
        pack_u64(buffer, item->time_ms ? item->time_ms : arrived_ms);
        pack_text(buffer, indicator->name);
        pack_text(buffer, indicator->component ? indicator->component : "");
        pack_text(buffer, item->job && item->job[0] ? item->job : NULL);
        pack_u64(buffer, item->is_job_inherited);
        pack_text(buffer, indicator->version);
        pack_u64(buffer, indicator->has_overall_score);
        pack_double(buffer, indicator->overall_score);
        pack_document(buffer, item->document_text, indicator->document);
        pack_run(buffer, item);
        if (!item->model) {
                pack_text(buffer, NULL);
                return;
        }

        begin = pack_text_begin(buffer);
        shape_write(item->model, buffer);
        pack_text_end(buffer, begin);
}

RowSet *result_rows_pack(const Submission *items, size_t n_items, const Peer *sender, uint64_t arrived_ms, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        for (size_t i = 0; i < n_stored_bytes(n_items); i++)
                buffer_putc(&buffer, 0);
        pack_u64(&buffer, sender->uid);
        pack_u64(&buffer, sender->is_admin || sender->uid == 0);
        for (size_t i = 0; i < n_items; i++)
                pack_item(&buffer, &items[i], arrived_ms);

        return rowset_finish(&buffer, &result_rows_kind, n_items, cookie);
}
