/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/result_rows.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "store/database/database.h"
#include "store/retention/holders.h"
#include "store/catalog/catalog.h"
#include "store/catalog/shape.h"
#include "store/indicators/attachments.h"
#include "store/jobs/job_rows.h"

/* The body of a row set begins with the outcome of its results, which the writer fills in. */
static size_t n_stored_bytes(size_t n_rows) {
        return sizeof(ResultsStored) + (n_rows + 7) / 8;
}

static ResultsStored *stored_of(RowSet *set) {
        return (ResultsStored *)(void *)(set + 1);
}

_Static_assert(sizeof(RowSet) % alignof(ResultsStored) == 0,
               "the body of a row set is aligned for what it begins with");

/* --- in the writer's thread -------------------------------------------------------------------- */

/* Fields of the sender, before those of the results. */
enum {
        SENDER_UID,
        SENDER_MAY_ACT,   /* for the jobs of others */
        SENDER_IS_EXEMPT, /* from the limits of users */
        SENDER_IS_BLIND,  /* jobs of others are as jobs that never began */
        N_SENDER_FIELDS,
};

/* Fields of a result in the order in which they are packed. */
typedef union Item {
        struct {
                Field id, time_ms, claimed_ms, name, component, written_component, job, is_job_inherited, version,
                        score, document;
                Field exit_status, batch, batch_index, run;
                Field shape; /* null: no model, not indexed */
                Field stack, specification; /* their numbers in the set, from 1; 0: none */
                Field replaces;
        };
        Field all[19];
} Item;

_Static_assert(sizeof(Item) == sizeof(((Item *)NULL)->all), "an item is unpacked at once");

static JsonText json_of(Field text) {
        return json_text(text.text, (size_t)text.n);
}

static Item unpack_item(Unpack *from) {
        Item item;

        pack_read_fields(from, item.all, N_ELEMENTS(item.all));
        return item;
}

static int find_series(const Item *item, const ShapeParts *parts, Database *database, Catalog *catalog,
                       const CatalogEntry *entry, int64_t stack, Headroom *headroom, SeriesEntry *ret) {
        SeriesKey key = {
                .name = entry->name,
                .component = entry->component,
                .uid = entry->uid,
                .stack = stack,
                .shape = item->shape,
                .version = item->version,
                .hardware = parts->hardware,
                .parameters = parts->parameters,
        };

        return catalog_find_series(catalog, database, &key, item->id.text, &headroom->n_series, ret);
}

STATEMENT result_insert = SQL(
        "INSERT INTO result (id, time_ms, name, component, uid, score, job, version, document,"
        " exit_status, batch, batch_index, run, series, job_row, claimed_ms, stack, specification)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18) ON CONFLICT (id)"
        " DO NOTHING",
        0);

/* Job that an item names. */
typedef struct Named {
        Field id;
        bool has_ended;
        uint32_t owner;
        int64_t row; /* 0: never begun here */
} Named;

typedef struct Sender {
        uint32_t uid;
        bool may_act, is_exempt, is_blind;
        Named named; /* job of the last item that named a job */
        Headroom *headroom;
        AttachmentSet attachments;
} Sender;

/* Call directly after the row of the item was inserted. */
static int note_item(const Item *item, const ShapeParts *parts, Database *database, Catalog *catalog,
                     CatalogEntry *entry, const SeriesEntry *series) {
        Point point = {
                .series = series->id,
                .row = sqlite3_last_insert_rowid(database->db),
                .time_ms = (uint64_t)item->time_ms.integer,
                .score = item->score,
                .numbers = parts->numbers,
        };

        CatalogResult result = {
                .time_ms = point.time_ms, .row = point.row, .shape = series->shape,
                .n_bytes = HOLDER_RESULT_BYTES + item->document.n + (item->run.text ? item->run.n : 0),
        };

        int r;

        r = catalog_add(catalog, database, entry, &result);
        return r == 0 && series->id != 0 ? catalog_put_point(database, &point) : r;
}

/* Completes a result that was stored before, and records the first difference. */
static int apply_again(RowSet *set, const Item *item, const Sender *sender, Database *database, Catalog *catalog,
                       const int64_t attached[static N_ATTACHED]) {
        const Duplicate sent = {
                .id = item->id,
                .name = item->name,
                .component = item->component,
                .document = item->document,
                .version = item->version,
                .score = item->score,
                .exit_status = item->exit_status,
                .uid = sender->uid,
                .replaces = item->replaces.integer,
        };
        DuplicateOutcome of_content, of[N_ATTACHED] = {};
        char difference[DUPLICATE_TEXT_MAX] = "";
        ResultsStored *stored = stored_of(set);
        int r;

        r = duplicate_apply(database, catalog, &sent, &sender->headroom->n_series, &of_content, difference);
        for (Attached kind = 0; kind < N_ATTACHED; kind++)
                if (r == 0 && attached[kind] != 0)
                        r = attachments_complete(database, catalog, &sent, kind, attached[kind],
                                                 &sender->headroom->n_series, &of[kind]);
        if (r != 0)
                return r;

        stored->has_replaced |= of_content == DUPLICATE_REPLACED;
        stored->has_filled |= of_content == DUPLICATE_COMPLETED;
        stored->has_completed_specification |= of[ATTACHED_SPECIFICATION] == DUPLICATE_COMPLETED;
        stored->has_other_specification |= of[ATTACHED_SPECIFICATION] == DUPLICATE_DIFFERS;
        stored->has_completed_stack |= of[ATTACHED_STACK] == DUPLICATE_COMPLETED;
        stored->has_other_stack |= of[ATTACHED_STACK] == DUPLICATE_DIFFERS;
        if (stored->difference[0] == '\0')
                memcpy(stored->difference, difference, sizeof(difference));
        return 0;
}

/* *ret_is_new: the result was not stored before. */
static int apply_item(RowSet *set, const Item *item, Sender *sender, ShapeParts *parts, Database *database,
                      Catalog *catalog, bool *ret_is_new) {
        const CatalogNames names = { item->name, item->component, item->written_component };
        CatalogEntry *entry;
        SeriesEntry series = {};
        const size_t numbers[N_ATTACHED] = { (size_t)item->stack.integer, (size_t)item->specification.integer };
        int64_t attached[N_ATTACHED];
        int r;

        r = attachments_find(database, &sender->attachments, numbers, sender->uid, attached);
        if (r == 0)
                r = catalog_find(catalog, database, &names, sender->headroom, &entry);
        if (r == 0 && item->shape.text)
                r = shape_parts_read(parts, json_of(item->document), json_of(item->run), json_of(item->shape),
                                     item->exit_status.integer != 0); /* a null is 0 */
        if (r == 0 && item->shape.text)
                r = find_series(item, parts, database, catalog, entry, attached[ATTACHED_STACK], sender->headroom,
                                &series);
        if (r != 0)
                return r;

        r = database_run(database, &result_insert,
                         FIELDS(item->id, item->time_ms, field_i64(entry->name), field_i64(entry->component),
                                field_u64(sender->uid), item->score, item->job, item->version, item->document,
                                item->exit_status, item->batch, item->batch_index, item->run, field_id(series.id),
                                field_if(item->job.text && sender->named.row != 0, field_i64(sender->named.row)),
                                item->claimed_ms, field_id(attached[ATTACHED_STACK]),
                                field_id(attached[ATTACHED_SPECIFICATION])));
        if (r != 0)
                return r;

        *ret_is_new = database_changes(database) > 0;
        if (!*ret_is_new)
                return apply_again(set, item, sender, database, catalog, attached);
        r = note_item(item, parts, database, catalog, entry, &series);
        return r == 0 ? attachments_count(database, attached) : r;
}

static Unpack unpack_sender(const RowSet *set, Field ret[static N_SENDER_FIELDS]) {
        Unpack from = rowset_unpack(set);

        (void)pack_read_bytes(&from, n_stored_bytes(set->n_rows));
        pack_read_fields(&from, ret, N_SENDER_FIELDS);
        return from;
}

static Sender sender_of(const RowSet *set, Headroom *headroom) {
        Field fields[N_SENDER_FIELDS];

        (void)unpack_sender(set, fields);
        return (Sender){
                .uid = (uint32_t)fields[SENDER_UID].integer,
                .may_act = fields[SENDER_MAY_ACT].integer,
                .is_exempt = fields[SENDER_IS_EXEMPT].integer,
                .is_blind = fields[SENDER_IS_BLIND].integer,
                .headroom = headroom,
        };
}

/* From the first row of the part on. */
static Unpack unpack_items(const RowSet *set, AttachmentSet *ret_attachments) {
        Unpack from = unpack_sender(set, (Field[N_SENDER_FIELDS]){});

        attachments_unpack(&from, ret_attachments);
        if (set->part.n_done > 0)
                from.p = (const char *)set + set->part.offset;
        return from;
}

/* A job that was never begun here belongs to the sender. Consecutive items often name the same job: *ret then has
 * that job. */
static int find_named(Database *database, Field id, const Sender *sender, Named *ret) {
        JobOwner owner = {};
        int r;

        if (ret->id.text && strcmp(id.text, ret->id.text) == 0)
                return 0;

        r = job_rows_find_owner(database, id, &owner);
        if (r != 0)
                return r;

        if (sender->is_blind && !sender->may_act && owner.uid != sender->uid)
                owner = (JobOwner){};
        *ret = (Named){
                .id = id,
                .has_ended = owner.row != 0 && !owner.is_running,
                .owner = owner.row != 0 ? owner.uid : sender->uid,
                .row = owner.row,
        };
        return 0;
}

/* Checks, before the first row is stored, whether all items may belong to the jobs that they name; and before a
 * later part, whether that has changed. */
static int judge(RowSet *set, Database *database, const Sender *sender, StoreOutcome *ret) {
        AttachmentSet attachments;
        Unpack from = unpack_items(set, &attachments);
        bool is_denied = false;
        size_t end = set->part.n_done == 0 ? set->n_rows : rowset_part_end(set);
        Named named = {};

        for (size_t i = set->part.n_done; i < end && !sender->may_act && !is_denied; i++) {
                Item item = unpack_item(&from);
                int r;

                if (!item.job.text)
                        continue;
                r = find_named(database, item.job, sender, &named);
                if (r != 0)
                        return r;
                is_denied = named.owner != sender->uid && !(item.is_job_inherited.integer && named.has_ended);
        }

        *ret = is_denied ? STORE_DENIED : STORE_DONE;
        return 0;
}

/* Finds the item's job. A process may outlive the job that its environment names: its measurements then do not
 * belong to the job. */
static int find_job(RowSet *set, Database *database, Sender *sender, Item *item) {
        int r;

        if (!item->job.text)
                return 0;

        r = find_named(database, item->job, sender, &sender->named);
        if (r == 0 && sender->named.has_ended && item->is_job_inherited.integer) {
                item->job = (Field){};
                stored_of(set)->has_left_job = true;
        }
        return r;
}

/* --- parts ------------------------------------------------------------------------------------- */

STATEMENT row_last = SQL("SELECT ifnull(max(row), 0) FROM result", 1);
STATEMENT unfinished_add = SQL("INSERT INTO unfinished (uid, row) VALUES (?1, ?2)", 0);
STATEMENT unfinished_remove = SQL("DELETE FROM unfinished WHERE uid = ?1", 0);

/* Notes that rows after this one belong to a set that is not complete, or no longer. */
static int note_part(const RowSet *set, Database *database, int64_t uid, int64_t row_before) {
        bool is_first = set->part.n_done == 0, is_last = set->part.n_end == set->n_rows;

        if (is_first == is_last)
                return 0;
        return is_first ? database_run(database, &unfinished_add, FIELDS(field_i64(uid), field_i64(row_before))) :
                          database_run(database, &unfinished_remove, FIELDS(field_i64(uid)));
}

static bool is_old(const ResultsStored *stored, size_t i) {
        return stored->old[i / 8] & 1U << i % 8;
}

static void forget_old(RowSet *set) {
        ResultsStored *stored = stored_of(set);

        if (set->part.n_done == 0)
                memset(stored, 0, n_stored_bytes(set->n_rows));
        for (size_t i = set->part.n_done; i < set->n_rows; i++)
                stored->old[i / 8] &= (uint8_t)~(1U << i % 8);
}

static void end_part(RowSet *set, size_t n_end, const Unpack *from) {
        ResultsStored *stored = stored_of(set);

        set->part.n_end = n_end;
        set->part.offset_end = (size_t)(from->p - (const char *)set);
        stored->n_new = 0;
        for (size_t i = 0; i < n_end; i++)
                stored->n_new += !is_old(stored, i);
        set->outcome = stored->n_new > 0 || n_end < set->n_rows || set->n_rows == 0 ? STORE_DONE : STORE_DUPLICATE;
}

static int apply_items(RowSet *set, Database *database, Catalog *catalog, Headroom *headroom) {
        Sender sender = sender_of(set, headroom);
        Unpack from = unpack_items(set, &sender.attachments);
        const char *full = from.p + ROWSET_SMALL_BYTES_MAX;
        scoped(shape_parts_deinit) ShapeParts parts = {};
        size_t i = set->part.n_done, end = rowset_part_end(set);
        int64_t row_before = 0;
        int r = 0;

        if (set->part.is_limited)
                r = database_get(database, &row_last, NULL, 0, &row_before);
        for (; r == 0 && i < end && !(set->part.is_limited && from.p >= full); i++) {
                Item item = unpack_item(&from);
                bool is_new = false;

                r = find_job(set, database, &sender, &item);
                if (r == 0)
                        r = apply_item(set, &item, &sender, &parts, database, catalog, &is_new);
                if (!is_new)
                        stored_of(set)->old[i / 8] |= (uint8_t)(1U << i % 8);
        }
        if (r == 0)
                r = attachments_drop_unused(database, &sender.attachments);
        if (r != 0)
                return r;

        end_part(set, i, &from);
        return note_part(set, database, headroom->uid, row_before);
}

/* Rolls back the rows that a set of a user without headroom has stored so far. The other sets of the transaction
 * stay. */
static int refuse_items(RowSet *set, Database *database, Catalog *catalog, int64_t uid, Resource resource) {
        ResultsStored *stored = stored_of(set);

        memset(stored, 0, n_stored_bytes(set->n_rows));
        stored->uid = (uint32_t)uid;
        stored->refused = resource;
        set->outcome = STORE_QUOTA;
        catalog_note_refusal(catalog, uid, resource);
        catalog_forget(catalog);
        return database_exec(database, "ROLLBACK TO headroom");
}

/* Stores the set of a user whose headroom may be exhausted within the set. */
static int apply_carefully(RowSet *set, Database *database, Catalog *catalog, int64_t uid) {
        Headroom *headroom;
        int r;

        r = catalog_flush(catalog, database);
        if (r == 0)
                r = database_exec(database, "SAVEPOINT headroom");
        if (r == 0)
                r = catalog_find_headroom(catalog, database, uid, false, &headroom);
        if (r == 0)
                r = apply_items(set, database, catalog, headroom);
        if (r == DATABASE_QUOTA)
                r = refuse_items(set, database, catalog, uid, headroom->lacks_name ? RESOURCE_NAMES : RESOURCE_SERIES);
        return r != 0 ? r : database_exec(database, "RELEASE headroom");
}

/* A result that is sent again moves to the series of its new parameters, and from there to that of its stack. */
#define ITEM_SERIES_MAX 2

static int apply(RowSet *set, Database *database, void *state) {
        int64_t n_left = (int64_t)(set->n_rows - set->part.n_done);
        Sender sender = sender_of(set, NULL);
        Headroom *headroom;
        int r;

        forget_old(set);
        r = judge(set, database, &sender, &set->outcome);
        if (r != 0 || set->outcome != STORE_DONE)
                return r;

        r = catalog_find_headroom(state, database, sender.uid, sender.is_exempt, &headroom);
        if (r != 0)
                return r;
        if (headroom->n_names >= n_left && headroom->n_series >= ITEM_SERIES_MAX * n_left)
                return apply_items(set, database, state, headroom);
        set->part.is_limited = false; /* all is refused, or all is stored */
        return apply_carefully(set, database, state, headroom->uid);
}

const RowKind result_rows_kind = { &store_indicators, .apply = apply, .has_parts = true, .may_wait = true };

const ResultsStored *result_rows_stored(const RowSet *set) {
        assert(set->kind == &result_rows_kind);
        return (const ResultsStored *)(const void *)(set + 1);
}

/* --- after completion -------------------------------------------------------------------------- */

ResultWalk result_rows_walk(const RowSet *set) {
        Field sender[N_SENDER_FIELDS];
        AttachmentSet attachments;
        Unpack items;

        assert(set->kind == &result_rows_kind);
        items = unpack_sender(set, sender);
        attachments_unpack(&items, &attachments);
        return (ResultWalk){ .set = set, .items = items, .uid = (uint32_t)sender[SENDER_UID].integer };
}

bool result_rows_next(ResultWalk *walk, StoredResult *ret) {
        Item item;

        if (walk->i == walk->set->n_rows)
                return false;

        item = unpack_item(&walk->items);
        *ret = (StoredResult){
                .name = item.name.text,
                .component = item.component.text,
                .has_failed = item.exit_status.integer != 0, /* also when null */
                .is_new = !is_old(result_rows_stored(walk->set), walk->i++),
                .document = json_of(item.document),
                .time_ms = (uint64_t)item.time_ms.integer,
        };
        return true;
}

/* --- in the caller's thread -------------------------------------------------------------------- */

/* Copies the text of the sender where there is one, else writes the value. value: NULL for none. */
static void write_document(Buffer *buffer, JsonText text, const Value *value) {
        Json json = { .out = buffer };

        if (text.text || !value)
                json_text_write(text, &json);
        else
                value_write_json(value, &json);
}

/* Null where the sender wrote the component as it is compared. */
static Field written_field(const Indicator *indicator) {
        bool differs = indicator->written_component && strcmp(indicator->written_component, indicator->component) != 0;

        return field_string(differs ? indicator->written_component : NULL);
}

/* The order is that of Item. */
static void pack_item(Buffer *buffer, const Submission *item, const AttachmentList *attachments, uint64_t arrived_ms) {
        const Indicator *indicator = &item->indicator;

        pack_fields(buffer,
                    FIELDS(field_blob(item->id, sizeof(item->id)),
                           field_u64(item->time_ms ? item->time_ms : arrived_ms),
                           field_if(item->claimed_ms != 0, field_u64(item->claimed_ms)), field_string(indicator->name),
                           field_string(indicator->component ? indicator->component : ""), written_field(indicator),
                           field_string(item->job && item->job[0] ? item->job : NULL),
                           field_i64(item->is_job_inherited), field_string(indicator->version),
                           field_if(indicator->has_overall_score, field_double(indicator->overall_score))));
        PACK_TEXT(buffer, write_document(buffer, item->document_text, indicator->document));
        pack_fields(buffer, FIELDS(field_if(item->has_exit_status, field_i64(item->exit_status)),
                                   field_if(item->has_batch, field_blob(item->batch, sizeof(item->batch))),
                                   field_if(item->has_batch, field_u64(item->batch_index))));
        PACK_TEXT_IF(item->run, buffer, write_document(buffer, item->run_text, item->run));
        PACK_TEXT_IF(item->model, buffer, shape_write(item->model, buffer));
        pack_fields(buffer,
                    FIELDS(field_u64(attachments_number(attachments, ATTACHED_STACK, item->stack)),
                           field_u64(attachments_number(attachments, ATTACHED_SPECIFICATION, item->specification)),
                           field_i64(item->replaces)));
}

struct ResultPacker {
        Buffer buffer;
        AttachmentList attachments;
        size_t n_items;
};

ResultPacker *result_rows_packer_new(void) {
        return calloc(1, sizeof(ResultPacker));
}

ResultPacker *result_rows_packer_free(ResultPacker *packer) {
        if (packer)
                buffer_deinit(&packer->buffer);
        free(packer);
        return NULL;
}

void result_rows_packer_note(ResultPacker *packer, const Submission *item) {
        assert(packer->buffer.n == 0);

        attachments_add(&packer->attachments, item);
        packer->n_items++;
}

void result_rows_packer_begin(ResultPacker *packer, const Peer *sender) {
        size_t n_bytes = n_stored_bytes(packer->n_items);
        Buffer *buffer = &packer->buffer;
        char *stored;

        assert(buffer->n == 0);

        rowset_begin(buffer, NULL, 0);
        stored = buffer_extend(buffer, n_bytes);
        if (stored)
                memset(stored, 0, n_bytes);
        pack_fields(buffer, FIELDS(field_u64(sender->uid),
                                   field_i64(sender->is_admin || sender->is_vouched || sender->uid == 0),
                                   field_i64(sender->is_admin || sender->uid == 0), field_i64(sender->is_blind)));
        attachments_pack(&packer->attachments, buffer);
}

void result_rows_packer_add(ResultPacker *packer, const Submission *item, uint64_t arrived_ms) {
        pack_item(&packer->buffer, item, &packer->attachments, arrived_ms);
}

size_t result_rows_packer_size(const ResultPacker *packer) {
        return packer->buffer.n;
}

RowSet *result_rows_packer_finish(ResultPacker *packer, StoreCookie cookie) {
        RowSet *set = packer ? rowset_finish(&packer->buffer, &result_rows_kind, packer->n_items, cookie) : NULL;

        result_rows_packer_free(packer);
        return set;
}

RowSet *result_rows_pack(const Submission *items, size_t n_items, const Peer *sender, uint64_t arrived_ms,
                         StoreCookie cookie) {
        ResultPacker *packer = result_rows_packer_new();

        for (size_t i = 0; packer && i < n_items; i++)
                result_rows_packer_note(packer, &items[i]);
        if (packer)
                result_rows_packer_begin(packer, sender);
        for (size_t i = 0; packer && i < n_items; i++)
                result_rows_packer_add(packer, &items[i], arrived_ms);
        return result_rows_packer_finish(packer, cookie);
}
