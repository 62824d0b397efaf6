/* SPDX-License-Identifier: Apache-2.0 */
#include "store/node/store_node.h"

#include "store/database.h"
#include "store/node/sample_reader.h"
#include "store/node/sample_rows.h"

STATEMENT sample_remove = {
        "DELETE FROM node_sample WHERE begin_ms IN (SELECT begin_ms FROM node_sample ORDER BY begin_ms LIMIT ?1)", 0,
};

STATEMENT sample_expire = {
        "DELETE FROM node_sample WHERE begin_ms IN"
        " (SELECT begin_ms FROM node_sample WHERE begin_ms < ?2 ORDER BY begin_ms LIMIT ?1)",
        0,
};

STATEMENT sample_salvage = { "INSERT OR IGNORE INTO node_sample VALUES (?1, ?2, ?3)", 0 };

static const StoreTable sample_table = {
        .name = "node_sample",
        .schema =
                "CREATE TABLE node_sample ("
                " begin_ms INTEGER PRIMARY KEY, interval_ms INTEGER NOT NULL, timeline TEXT NOT NULL) STRICT;",
        .checks = { "SELECT max(begin_ms) FROM node_sample" },
        .removal_order = 1,
        .keep = offsetof(StoreConfig, keep_samples_ns),
        .remove = &sample_remove,
        .expire = &sample_expire,
        .newest = "SELECT max(begin_ms) FROM node_sample",
        .run = database_run_removal,
        .salvage = &sample_salvage,
};

static const StoreTable *const tables[] = { &sample_table, NULL };

const StoreSubject store_node = {
        .name = "node",
        .tables = tables,
        .kinds = sample_rows_kinds,
};
