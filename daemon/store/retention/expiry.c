/* SPDX-License-Identifier: Apache-2.0 */
#include "store/retention/expiry.h"

#include <assert.h>

#define DAY_NS (INT64_C(86400) * (int64_t)NS_PER_S)
#define NOTE_INTERVAL_MS (INT64_C(3600) * 1000)
#define PERIODS_PER_COUNT 60 /* counting reads an index */

STATEMENT clock_find = SQL("SELECT trusted_ms FROM clock", 1);
STATEMENT clock_note = SQL("INSERT OR REPLACE INTO clock VALUES (1, ?1)", 0);

/* The last trusted time: one row or none. */
static const StoreTable clock_table = {
        .name = "clock",
        .schema = "CREATE TABLE clock (only INTEGER PRIMARY KEY CHECK (only = 1), trusted_ms INTEGER NOT NULL);",
        .checks = { "SELECT total(trusted_ms) FROM clock" },
        .salvage = &(const TableSalvage){ .is_first = true },
        .erasure = &table_erasure_none,
};

const StoreSubject expiry_subject = { .tables = STORE_TABLES(&clock_table) };

void expiry_set_clock(Expiry *expiry, int64_t newest_ms, uint64_t realtime_ns, uint64_t boottime_ns) {
        if (expiry->clock_offset_ns == 0)
                expiry->clock_offset_ns = (newest_ms > 0 ? (uint64_t)newest_ms * NS_PER_MS : realtime_ns) - boottime_ns;
}

bool expiry_check_clock(Expiry *expiry, bool is_synchronised, uint64_t realtime_ns, uint64_t boottime_ns) {
        int64_t ahead_ns;
        bool is_trusted;

        if (is_synchronised)
                expiry->clock_offset_ns = realtime_ns - boottime_ns;
        ahead_ns = (int64_t)(realtime_ns - boottime_ns - expiry->clock_offset_ns);
        is_trusted = ahead_ns <= DAY_NS;
        expiry->stats.clock_ahead_s = is_trusted ? 0 : ahead_ns / (int64_t)NS_PER_S;
        return is_trusted;
}

int expiry_read_note(Expiry *expiry, Database *database) {
        return database_get(database, &clock_find, NULL, 0, &expiry->noted_ms);
}

int expiry_note(Expiry *expiry, Database *database, int64_t realtime_ms) {
        int64_t since_ms = realtime_ms - expiry->noted_ms;

        if (since_ms > -NOTE_INTERVAL_MS && since_ms < NOTE_INTERVAL_MS)
                return 0;

        expiry->noted_ms = realtime_ms;
        return database_run(database, &clock_note, FIELDS(field_i64(realtime_ms)));
}

bool expiry_wants_count(ExpiryTable *table, uint64_t period_ns, uint64_t boottime_ns) {
        if (boottime_ns < table->counting_ns)
                return false;

        table->counting_ns = boottime_ns + PERIODS_PER_COUNT * period_ns;
        return true;
}

int64_t expiry_count_left(ExpiryTable *table, uint64_t period_ns, uint64_t boottime_ns) {
        if (boottime_ns >= table->period_end_ns) {
                table->period_end_ns = boottime_ns + period_ns;
                table->n_left = table->n_kept < 100 ? 1 : table->n_kept / 100;
        }
        return table->n_left;
}

void expiry_count_removed(Expiry *expiry, size_t table, int64_t n) {
        ExpiryTable *of = &expiry->tables[table];

        assert(table < EXPIRY_TABLES_MAX && n >= 0);
        of->n_left -= n < of->n_left ? n : of->n_left;
        of->n_removed += (uint64_t)n;
        expiry->stats.n_rows += (uint64_t)n;
}
