/* SPDX-License-Identifier: Apache-2.0 */
#include "store/node/store_node.h"

#include "store/table/table_salvage.h"
#include "store/database/database.h"
#include "store/retention/retention.h"
#include "store/read/read_connection.h"

/* --- writing ------------------------------------------------------------------------------------- */

STATEMENT sample_put = SQL(
        "INSERT INTO node_sample (begin_ms, interval_ms, timeline) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (begin_ms) DO UPDATE SET interval_ms = excluded.interval_ms,"
        " timeline = excluded.timeline", 0);

static const RowKind sample_kind = { &store_node, .statement = &sample_put };

RowSet *store_node_pack(uint64_t begin_realtime_ms, uint64_t interval_ms, const Buffer *timeline) {
        return rowset_pack(
                &sample_kind, (StoreCookie){},
                FIELDS(field_u64(begin_realtime_ms), field_u64(interval_ms), field_blob(timeline->text, timeline->n)));
}

/* --- reading ------------------------------------------------------------------------------------- */

static const StoreColumn columns[] = {
        COLUMN(NodeSampleRow, begin_ms, "begin_ms"),
        COLUMN(NodeSampleRow, interval_ms, "interval_ms"),
        COLUMN(NodeSampleRow, timeline, "timeline"),
};

STATEMENT samples = SELECT(NodeSampleRow, columns,
                           " FROM node_sample WHERE begin_ms >= ? AND begin_ms < ? ORDER BY begin_ms");

int store_node_list(Reader *reader, uint64_t since_ms, uint64_t until_ms) {
        return read_connection_begin(reader_connection(reader), &samples,
                                     FIELDS(field_u64(since_ms), field_u64(until_ms ?: UINT64_MAX)));
}

/* --- the table ----------------------------------------------------------------------------------- */

STATEMENT sample_remove = SQL(
        "DELETE FROM node_sample WHERE begin_ms IN (SELECT begin_ms FROM node_sample ORDER BY begin_ms LIMIT ?1)", 0);

STATEMENT sample_expire = SQL(
        "DELETE FROM node_sample WHERE begin_ms IN"
        " (SELECT begin_ms FROM node_sample WHERE begin_ms < ?2 ORDER BY begin_ms LIMIT ?1)", 0);

static const TableRetention sample_retention = {
        .order = 3,
        .keep = offsetof(StoreConfig, keep_samples_ns),
        .remove = &sample_remove,
        .expire = &sample_expire,
        .newest = "SELECT max(begin_ms) FROM node_sample",
        .run = database_run_removal,
};

static const TableSalvage sample_salvage = {};

static const StoreTable sample_table = {
        .name = "node_sample",
        .schema =
                "CREATE TABLE node_sample ("
                " begin_ms INTEGER PRIMARY KEY, interval_ms INTEGER NOT NULL, timeline BLOB NOT NULL);",
        .checks = { "SELECT max(begin_ms) FROM node_sample" },
        .retention = &sample_retention,
        .salvage = &sample_salvage,
        .erasure = &table_erasure_none,
};

static const StoreTable *const tables[] = { &sample_table, NULL };

const StoreSubject store_node = {
        .tables = tables,
};
