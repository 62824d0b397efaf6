/* SPDX-License-Identifier: Apache-2.0 */
#include "store/retention/holders.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/clock.h"

#define INTERVAL_NS NS_PER_S

STATEMENT holder_erase[] = {
        SQL("DELETE FROM holder WHERE uid = ?1 AND n_bytes <= 0 AND n_names <= 0 AND n_series <= 0", 0), {},
};

static const StoreTable holder_table = {
        .name = "holder",
        .schema =
                "CREATE TABLE holder ("
                " uid INTEGER PRIMARY KEY, n_bytes INTEGER NOT NULL DEFAULT 0, n_names INTEGER NOT NULL DEFAULT 0,"
                " n_series INTEGER NOT NULL DEFAULT 0);",
        .checks = { "SELECT count(*) FROM (SELECT * FROM holder)" },
        .erasure = &(const TableErasure){ .last = holder_erase },
};

static const StoreTable holding_table = {
        .name = "holding",
        .schema =
                "CREATE TABLE holding ("
                " uid INTEGER NOT NULL, block INTEGER NOT NULL, n_rows INTEGER NOT NULL,"
                " PRIMARY KEY (uid, block)) WITHOUT ROWID;",
        .checks = { "SELECT max(uid) FROM holding" },
        .erasure = &table_erasure_follows,
};

const StoreSubject holders_subject = { .tables = STORE_TABLES(&holder_table, &holding_table) };

/* --- the table ------------------------------------------------------------------------------------ */

STATEMENT holder_add = SQL(
        "INSERT INTO holder (uid, n_bytes) VALUES (?1, ?2) ON CONFLICT (uid) DO UPDATE SET n_bytes = n_bytes +"
        " excluded.n_bytes",
        0);

STATEMENT holding_add = SQL(
        "INSERT INTO holding (uid, block, n_rows) VALUES (?1, ?2, ?3) ON CONFLICT (uid, block)"
        " DO UPDATE SET n_rows = n_rows + excluded.n_rows",
        0);

STATEMENT holding_subtract = SQL(
        "UPDATE holding SET n_rows = n_rows - ?3 WHERE uid = ?1 AND block = ?2 AND n_rows > ?3", 0);
STATEMENT holding_remove = SQL("DELETE FROM holding WHERE uid = ?1 AND block = ?2", 0);

int holders_add(Database *database, const HeldRows *added) {
        int r;

        if (added->n_rows == 0)
                return 0;

        r = database_run(database, &holder_add, FIELDS(field_i64(added->uid), field_i64(added->n_bytes)));
        if (r != 0)
                return r;
        return database_run(database, &holding_add,
                            FIELDS(field_i64(added->uid), field_i64(added->block), field_i64(added->n_rows)));
}

int holders_remove(Database *database, const HeldRows *removed) {
        Field uid = field_i64(removed->uid), block = field_i64(removed->block);
        int r;

        r = database_run(database, &holder_add, FIELDS(uid, field_i64(-removed->n_bytes)));
        if (r == 0)
                r = database_run(database, &holding_subtract, FIELDS(uid, block, field_i64(removed->n_rows)));
        if (r != 0 || database_changes(database) > 0)
                return r;
        return database_run(database, &holding_remove, FIELDS(uid, block));
}

enum { HOLDER_UID, HOLDER_BYTES, HOLDER_NAMES, HOLDER_SERIES, N_HOLDER_COLUMNS };

#define HOLDERS "SELECT uid, max(n_bytes, 0), max(n_names, 0), max(n_series, 0) FROM holder"

STATEMENT holder_find = SQL(HOLDERS " WHERE uid = ?1", N_HOLDER_COLUMNS);
STATEMENT holders_all = SQL(HOLDERS " WHERE n_bytes > 0 OR n_names > 0 OR n_series > 0 ORDER BY uid", N_HOLDER_COLUMNS);

int holders_read(Database *database, int64_t uid, HolderCounts *ret) {
        int64_t counts[N_HOLDER_COLUMNS] = {};
        int r;

        r = database_get_row(database, &holder_find, FIELDS(field_i64(uid)), counts, N_HOLDER_COLUMNS);
        *ret = (HolderCounts){ counts[HOLDER_BYTES], counts[HOLDER_NAMES], counts[HOLDER_SERIES] };
        return r;
}

/* --- shares --------------------------------------------------------------------------------------- */

static double weight_of(Shares *shares, int64_t uid) {
        return shares ? shares_weight(shares, (uint32_t)uid) : 1;
}

int holders_find_over_share(Database *database, Shares *shares, uint64_t size_max, int64_t *ret_uid) {
        Prepared *row = database_prepare(database, &holders_all, NULL, 0);
        double weights = 0, largest = 0; /* largest: bytes by weight */
        int64_t uid = HOLDERS_NONE;
        size_t n = 0;
        int r;

        while ((r = database_step(database, row)) == DATABASE_ROW) {
                double weight = weight_of(shares, column_i64(row, HOLDER_UID));
                double by_weight = (double)column_i64(row, HOLDER_BYTES) / weight;

                n++;
                weights += weight;
                if (by_weight > largest) {
                        largest = by_weight;
                        uid = column_i64(row, HOLDER_UID);
                }
        }
        if (r != 0)
                return r;

        *ret_uid = n > 1 && largest > (double)size_max / (weights + 1) ? uid : HOLDERS_NONE;
        return 0;
}

/* --- charges -------------------------------------------------------------------------------------- */

struct HolderCharges {
        int64_t uid;
        Charge bytes, names, series;
};

static void release(HolderCharges *item) {
        shares_release(&item->bytes);
        shares_release(&item->names);
        shares_release(&item->series);
}

void holders_deinit(Holders *holders) {
        for (size_t i = 0; i < holders->n; i++)
                release(&holders->items[i]);
        free(holders->items);
        *holders = (Holders){};
}

static int begin(Shares *shares, int64_t uid, HolderCharges *ret) {
        ShareAccount *account = shares_open_account(shares, &(Owner){ .uid = (uint32_t)uid, .is_admin = uid == 0 });

        if (!account)
                return -ENOMEM;

        *ret = (HolderCharges){ .uid = uid };
        (void)shares_charge(account, RESOURCE_STORE, 0, &ret->bytes); /* an amount of 0 is never refused */
        (void)shares_charge(account, RESOURCE_NAMES, 0, &ret->names);
        (void)shares_charge(account, RESOURCE_SERIES, 0, &ret->series);
        shares_close_account(account); /* the charges have references */
        return 0;
}

/* Makes the list of users equal to the table's: both are sorted by uid. */
static int charge_row(Holders *holders, size_t i, int64_t uid, HolderCounts counts) {
        HolderCharges begun;
        int r;

        assert(i <= holders->n);
        assert(counts.n_bytes >= 0 && counts.n_names >= 0 && counts.n_series >= 0);
        while (i < holders->n && holders->items[i].uid < uid) {
                release(&holders->items[i]);
                holders->n--;
                memmove(&holders->items[i], &holders->items[i + 1], (holders->n - i) * sizeof(begun));
        }
        if (i == holders->n || holders->items[i].uid > uid) {
                r = ARRAY_EXTEND(holders->items, holders->n);
                if (r == 0)
                        r = begin(holders->shares, uid, &begun);
                if (r != 0)
                        return r;
                memmove(&holders->items[i + 1], &holders->items[i], (holders->n - i) * sizeof(begun));
                holders->items[i] = begun;
                holders->n++;
        }

        shares_set(&holders->items[i].bytes, (uint64_t)counts.n_bytes);
        shares_set(&holders->items[i].names, (uint64_t)counts.n_names);
        shares_set(&holders->items[i].series, (uint64_t)counts.n_series);
        return 0;
}

void holders_charge(Holders *holders, Database *database) {
        uint64_t now_ns = clock_boottime_ns();
        Prepared *row;
        size_t i = 0;
        int r = 0;

        if (!holders->shares || !database->db || now_ns < holders->next_ns)
                return;

        holders->next_ns = now_ns + INTERVAL_NS;
        row = database_prepare(database, &holders_all, NULL, 0);
        while (r == 0 && (r = database_step(database, row)) == DATABASE_ROW)
                r = charge_row(holders, i++, column_i64(row, HOLDER_UID),
                               (HolderCounts){ column_i64(row, HOLDER_BYTES), column_i64(row, HOLDER_NAMES),
                                               column_i64(row, HOLDER_SERIES) });
        if (r != 0) {
                sqlite3_reset(row->handle);
                return; /* the next call tries again */
        }
        while (holders->n > i)
                release(&holders->items[--holders->n]);
}
