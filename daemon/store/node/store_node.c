/* SPDX-License-Identifier: Apache-2.0 */
#include "store/node/store_node.h"

#include "store/database/compress.h"
#include "store/database/database.h"
#include "store/read/read_connection.h"
#include "store/retention/retention.h"

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

STATEMENT minutes_put = SQL(
        "INSERT INTO node_minutes (begin_ms, timeline) VALUES (?1, ?2)"
        " ON CONFLICT (begin_ms) DO UPDATE SET timeline = excluded.timeline", 0);

static const RowKind minutes_kind = { &store_node, .statement = &minutes_put };

RowSet *store_node_pack_minutes(uint64_t begin_realtime_ms, const Buffer *timeline) {
        scoped(buffer_deinit) Buffer packed = {};

        if (compress_bytes(timeline->text, timeline->n, &packed) < 0)
                return NULL;
        return rowset_pack(&minutes_kind, (StoreCookie){},
                           FIELDS(field_u64(begin_realtime_ms), field_blob(packed.text, packed.n)));
}

/* --- reading ------------------------------------------------------------------------------------- */

STATEMENT samples = SELECT(NodeSampleRow,
        COLUMNS(COLUMN(NodeSampleRow, begin_ms, "begin_ms"),
                COLUMN(NodeSampleRow, interval_ms, "interval_ms"),
                COLUMN(NodeSampleRow, timeline, "timeline")),
        " FROM node_sample WHERE begin_ms >= ? AND begin_ms < ? ORDER BY begin_ms");

int store_node_list(Reader *reader, uint64_t since_ms, uint64_t until_ms) {
        return read_connection_begin(reader_connection(reader), &samples,
                                     FIELDS(field_u64(since_ms), field_u64(until_ms ?: UINT64_MAX)));
}

/* A block as it is stored. */
typedef struct MinutesRow {
        uint64_t begin_ms;
        Blob timeline; /* compressed */
} MinutesRow;

STATEMENT minutes = SELECT(MinutesRow,
        COLUMNS(COLUMN(MinutesRow, begin_ms, "begin_ms"),
                COLUMN(MinutesRow, timeline, "timeline")),
        " FROM node_minutes WHERE begin_ms >= ? AND begin_ms < ? ORDER BY begin_ms");

int store_node_list_minutes(Reader *reader, uint64_t since_ms, uint64_t until_ms) {
        return read_connection_begin(reader_connection(reader), &minutes,
                                     FIELDS(field_u64(since_ms), field_u64(until_ms ?: UINT64_MAX)));
}

int store_node_next_minutes(Reader *reader, Buffer *unpacked, NodeSampleRow *ret) {
        MinutesRow row;
        int r;

        r = reader_next(reader, &row, sizeof(row));
        if (r != 0)
                return r;

        buffer_clear(unpacked);
        r = compress_restore(row.timeline.bytes, row.timeline.n, unpacked);
        if (r < 0)
                return r;
        *ret = (NodeSampleRow){ .begin_ms = row.begin_ms, .interval_ms = STORE_NODE_MINUTE_MS };
        if (r == 0)
                ret->timeline = (Blob){ unpacked->text, unpacked->n };
        return 0;
}

#define NONE "9223372036854775807"
STATEMENT find_bounds = SELECT(NodeBounds,
        COLUMNS(COLUMN(NodeBounds, samples_ms, "ifnull((SELECT min(begin_ms) FROM node_sample), " NONE ")"),
                COLUMN(NodeBounds, minutes_ms, "ifnull((SELECT min(begin_ms) FROM node_minutes), " NONE ")"),
                COLUMN(NodeBounds, newest_ms, "ifnull((SELECT max(begin_ms) FROM node_sample), 0)")),
        "");

int store_node_find_bounds(Reader *reader, NodeBounds *ret) {
        int r;

        r = read_connection_begin(reader_connection(reader), &find_bounds, NULL, 0);
        if (r == 0)
                r = reader_next(reader, ret, sizeof(*ret));
        read_connection_end(reader_connection(reader));
        return r;
}

/* --- the tables ---------------------------------------------------------------------------------- */

/* Space of a row in the file; a block has half a page. */
#define ROW_BYTES   110
#define BLOCK_BYTES 2080

STATEMENT sample_remove = SQL(
        "DELETE FROM node_sample WHERE begin_ms IN (SELECT begin_ms FROM node_sample ORDER BY begin_ms LIMIT ?1)", 0);

STATEMENT sample_expire = SQL(
        "DELETE FROM node_sample WHERE begin_ms IN"
        " (SELECT begin_ms FROM node_sample WHERE begin_ms < ?2 ORDER BY begin_ms LIMIT ?1)", 0);

STATEMENT minutes_remove = SQL(
        "DELETE FROM node_minutes WHERE begin_ms IN (SELECT begin_ms FROM node_minutes ORDER BY begin_ms LIMIT ?1)", 0);

STATEMENT minutes_expire = SQL(
        "DELETE FROM node_minutes WHERE begin_ms IN"
        " (SELECT begin_ms FROM node_minutes WHERE begin_ms < ?2 ORDER BY begin_ms LIMIT ?1)", 0);

static const StoreTable sample_table = {
        .name = "node_sample",
        .schema =
                "CREATE TABLE node_sample ("
                " begin_ms INTEGER PRIMARY KEY, interval_ms INTEGER NOT NULL, timeline BLOB NOT NULL);",
        .checks = { "SELECT max(begin_ms) FROM node_sample" },
        .retention = &(const TableRetention){
                .order = 3,
                .keep = offsetof(StoreConfig, keep_samples_ns),
                .share = 0.05 / ROW_BYTES,
                .remove = &sample_remove,
                .expire = &sample_expire,
                .newest = "SELECT max(begin_ms) FROM node_sample",
                .run = database_run_removal,
        },
        .salvage = &(const TableSalvage){},
        .erasure = &table_erasure_none,
};

static const StoreTable minutes_table = {
        .name = "node_minutes",
        .schema = "CREATE TABLE node_minutes (begin_ms INTEGER PRIMARY KEY, timeline BLOB NOT NULL);",
        .checks = { "SELECT max(begin_ms) FROM node_minutes" },
        .retention = &(const TableRetention){
                .order = 4,
                .keep = offsetof(StoreConfig, keep_minutes_ns),
                .share = 0.02 / BLOCK_BYTES,
                .remove = &minutes_remove,
                .expire = &minutes_expire,
                .newest = "SELECT max(begin_ms) FROM node_minutes",
                .run = database_run_removal,
        },
        .salvage = &(const TableSalvage){},
        .erasure = &table_erasure_none,
};

const StoreSubject store_node = {
        .tables = STORE_TABLES(&sample_table, &minutes_table),
};
