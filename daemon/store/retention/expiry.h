/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Expiry: whether and how fast rows may be removed because of their age
 *
 * A wrong clock makes each row look old, as on a node without a battery for its clock. The clock is trusted if it is
 * synchronised, or at most a day ahead of the last trusted time, plus the time since. The database has the last
 * trusted time, because rows that are stored under a wrong clock would confirm the clock at the next start; before
 * there is one, the newest row tells. Even then, at most a hundredth of a table goes in a minute, so that somebody
 * can notice.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/stats.h"
#include "store/database/database.h"
#include "store/table/store_subject.h"
#include "util/clock.h"

extern const StoreSubject expiry_subject;

#define EXPIRY_TABLES_MAX 8
#define EXPIRY_PERIOD_NS (60 * NS_PER_S) /* period in which at most a hundredth of a table is removed */

typedef struct ExpiryTable {
        uint64_t period_end_ns;
        uint64_t counting_ns; /* when the rows are counted again; 0: now */
        int64_t n_kept;       /* rows at the last count */
        int64_t n_left;       /* rows that may still be removed in this period */
        uint64_t n_removed;
} ExpiryTable;

typedef struct Expiry {
        uint64_t clock_offset_ns; /* expected wall clock minus boot time; 0: not known yet */
        int64_t noted_ms; /* the last trusted time that the database has; 0: none */
        ExpiryTable tables[EXPIRY_TABLES_MAX];
        ExpiryStats stats;
} Expiry;

/* Once, when the database is opened. newest_ms: last trusted time, or time of the newest row; 0 if the database is
 * empty. */
void expiry_set_clock(Expiry *expiry, int64_t newest_ms, uint64_t realtime_ns, uint64_t boottime_ns);
/* True if the clock is trusted. */
bool expiry_check_clock(Expiry *expiry, bool is_synchronised, uint64_t realtime_ns, uint64_t boottime_ns);

/* Reads the last trusted time into noted_ms, which is unchanged if there is none. Returns 0 or an outcome of
 * database.h, as the next. */
int expiry_read_note(Expiry *expiry, Database *database);
/* Inside a transaction: stores a trusted time, once an hour. */
int expiry_note(Expiry *expiry, Database *database, int64_t realtime_ms);

/* period_ns: EXPIRY_PERIOD_NS except in tests. True if the caller must set n_kept before the next call of
 * expiry_count_left(). */
bool expiry_wants_count(ExpiryTable *table, uint64_t period_ns, uint64_t boottime_ns);
/* Returns the number of rows that may be removed now. */
int64_t expiry_count_left(ExpiryTable *table, uint64_t period_ns, uint64_t boottime_ns);
void expiry_count_removed(Expiry *expiry, size_t table, int64_t n);
