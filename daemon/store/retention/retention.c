/* SPDX-License-Identifier: Apache-2.0 */
#include "store/retention/retention.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "store/retention/holders.h"
#include "util/clock.h"

#define PAGE_BYTES 4096
#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1024) * KIB)

#define STEP_ROWS 256      /* maximum number of rows that one statement removes */
#define STEP_PAGES 64      /* pages that a removal for room should free: a few large rows, or many small ones */
#define STEPS_PER_BATCH 64 /* maximum number of removals before a batch that needs the room */
#define STEPS_BETWEEN 4    /* maximum number of removals between batches */
#define PAGES_MIN 64       /* pages; an empty file has half as many */

STATEMENT page_count = SQL("PRAGMA page_count", 1);
STATEMENT free_pages = SQL("PRAGMA freelist_count", 1);
STATEMENT vacuum = SQL("PRAGMA incremental_vacuum(256)", 0);

static uint64_t clamp(uint64_t v, uint64_t low, uint64_t high) {
        return v < low ? low : v > high ? high : v;
}

static int cap_pages(const Retention *retention, Database *database) {
        char text[64];

        (void)snprintf(text, sizeof(text), "PRAGMA max_page_count = %lld", (long long)retention->n_pages_max);
        return database_exec(database, text);
}

/* Reads the newest time in the database, before rows of this start are stored. A damaged table is skipped. */
static void set_clock(Retention *retention, Database *database) {
        int64_t newest_ms = 0;

        if (retention->expiry.clock_offset_ns != 0)
                return;

        (void)expiry_read_note(&retention->expiry, database);
        newest_ms = retention->expiry.noted_ms;
        for (const StoreSubject *const *subject = store_subject_list; retention->expiry.noted_ms == 0 && *subject;
             subject++)
                for (const StoreTable *const *table = (*subject)->tables; *table; table++) {
                        int64_t ms = 0;

                        if ((*table)->retention && (*table)->retention->newest &&
                            database_query(database, (*table)->retention->newest, &ms) == 0 && ms > newest_ms)
                                newest_ms = ms;
                }
        expiry_set_clock(&retention->expiry, newest_ms, clock_realtime_ns(), clock_boottime_ns());
}

/* Part of the limit is reserved for the write-ahead log: the log grows while a query reads it, by the rows that are
 * stored meanwhile, and needs room for one more transaction at the end. */
int retention_configure(Retention *retention, Database *database, const StoreConfig *config) {
        uint64_t size = config->size_max_bytes ? config->size_max_bytes : UINT32_MAX * MIB / 4;
        uint64_t reserve = clamp(size / 4, 256 * KIB, 128 * MIB);
        uint64_t due = clamp(reserve / 4, 64 * KIB, 8 * MIB);
        uint64_t n_pages = size > reserve ? (size - reserve) / PAGE_BYTES : 0;
        char text[64];
        int r;

        retention->config = *config;
        if (retention->n_step_rows == 0)
                retention->n_step_rows = STEP_ROWS / 16;
        retention->n_pages_max = (int64_t)clamp(n_pages, PAGES_MIN, INT32_MAX / 2);
        retention->n_wal_pages_max = (int)(due / PAGE_BYTES);
        retention->n_wal_pages_end = (int)((reserve - due) / PAGE_BYTES);
        retention->n_wal_bytes_max = 2 * due;
        retention->n_batch_bytes_max = (size_t)clamp(due / 4, 64 * KIB, 2 * MIB);

        /* A log that is restarted keeps its length: overwriting needs only the data to be synced, while a file that
         * was cut and grows again also needs a sync of the file system's journal. */
        (void)snprintf(text, sizeof(text), "PRAGMA journal_size_limit = %llu", (unsigned long long)reserve);
        r = database_exec(database, text);
        if (r == 0)
                r = cap_pages(retention, database);
        if (r == 0)
                set_clock(retention, database);
        return r;
}

/* Reads the numbers of used and of free pages of the file. */
static int count_pages(Database *database, int64_t *ret_used, int64_t *ret_free) {
        int64_t n_pages = 0, n_free = 0;
        int r;

        r = database_get(database, &page_count, NULL, 0, &n_pages);
        if (r == 0)
                r = database_get(database, &free_pages, NULL, 0, &n_free);
        if (r != 0)
                return r;

        assert(n_free <= n_pages);
        *ret_used = n_pages - n_free;
        *ret_free = n_free;
        return 0;
}

/* --- rows of removed rows ------------------------------------------------------------------------ */

static int remove_rows(const Leftover *leftover, Database *database, int64_t number, int64_t n_max, int64_t *ret_n) {
        int64_t n = 0;
        int r = 0;

        assert(number > 0 && n_max > 0);
        for (const Statement *const *next = leftover->removals; r == 0 && *next && n < n_max; next++) {
                r = database_run(database, *next, FIELDS(field_i64(number), field_i64(n_max - n)));
                n += r == 0 ? database_changes(database) : 0;
        }
        if (r == 0 && n < n_max) {
                r = database_run(database, leftover->done, FIELDS(field_i64(number)));
                n++;
        }
        *ret_n = n;
        return r;
}

int retention_remove_leftover(const Leftover *leftover, Database *database, Prepared *selected, int64_t *ret_n) {
        int64_t number, n;
        int r;

        r = database_step(database, selected);
        if (r != DATABASE_ROW)
                return r;
        number = column_i64(selected, 0);
        n = column_i64(selected, 1);
        r = database_finish(database, selected);
        return r == 0 ? remove_rows(leftover, database, number, n, ret_n) : r;
}

static const Leftover *leftover_of(const StoreTable *table) {
        return table->retention ? table->retention->leftover : NULL;
}

int retention_find_leftover(const StoreTable *const *tables, Database *database, bool *ret_has_work) {
        int64_t step[2] = {};
        int r = 0;

        for (; r == 0 && step[0] == 0 && *tables; tables++)
                if (leftover_of(*tables))
                        r = database_get_row(database, leftover_of(*tables)->step, NULL, 0, step, N_ELEMENTS(step));
        *ret_has_work = step[0] != 0;
        return r;
}

int retention_step_leftover(const StoreTable *const *tables, Database *database, bool *ret_has_more) {
        int64_t n = 0;
        int r = 0;

        for (const StoreTable *const *table = tables; r == 0 && *table; table++)
                if (leftover_of(*table))
                        r = retention_remove_leftover(leftover_of(*table), database,
                                                      database_prepare(database, leftover_of(*table)->step, NULL, 0),
                                                      &n);
        return r == 0 ? retention_find_leftover(tables, database, ret_has_more) : r;
}

/* --- tables -------------------------------------------------------------------------------------- */

/* Tables that lose rows, by their order. */
typedef struct Removable {
        const StoreTable *tables[64]; /* number of bits of Retention.untidy */
        size_t n;
} Removable;

_Static_assert(N_ELEMENTS(((Removable *)NULL)->tables) == 8 * sizeof(((Retention *)NULL)->untidy),
               "a bit for each table");

static void add_table(Removable *removable, const StoreTable *table) {
        const TableRetention *of = table->retention;
        size_t i = removable->n++;

        assert(i < N_ELEMENTS(removable->tables) && of->remove && !of->run == !!of->leftover &&
               !of->expire == !of->keep);
        for (; i > 0 && removable->tables[i - 1]->retention->order > of->order; i--)
                removable->tables[i] = removable->tables[i - 1];
        assert(i == 0 || removable->tables[i - 1]->retention->order < of->order);
        removable->tables[i] = table;
}

static void find_removable(Removable *ret) {
        *ret = (Removable){};
        for (const StoreSubject *const *subject = store_subject_list; *subject; subject++)
                for (const StoreTable *const *table = (*subject)->tables; *table; table++)
                        if ((*table)->retention)
                                add_table(ret, *table);
}

/* Rows that a statement of a table removes. */
typedef struct Removal {
        const Statement *statement;
        int64_t n_max;           /* ?1: rows */
        const int64_t *argument; /* NULL, or ?2: the time before which rows are removed, or their user */
} Removal;

static int remove_step(Retention *retention, Database *database, const Removable *removable, size_t i,
                       const Removal *removal, int64_t *ret_n) {
        const TableRetention *table = removable->tables[i]->retention;
        const Field fields[] = { field_i64(removal->n_max), field_i64(removal->argument ? *removal->argument : 0) };
        Prepared *prepared = database_prepare(database, removal->statement, fields, removal->argument ? 2 : 1);
        int64_t n = 0;
        int r;

        r = table->leftover ? retention_remove_leftover(table->leftover, database, prepared, &n)
                            : table->run(database, prepared, &n);
        if (r != 0)
                return r;

        assert(n >= 0);
        if (n > 0 && table->tidy)
                retention->untidy |= UINT64_C(1) << i;
        retention->n_removed += (uint64_t)n;
        *ret_n = n;
        return 0;
}

static int remove_oldest(Retention *retention, Database *database, int64_t *ret_n) {
        int64_t n = 0, uid = HOLDERS_NONE;
        Removable removable;
        int r;

        find_removable(&removable);
        r = holders_find_over_share(database, retention->shares, (uint64_t)retention->n_pages_max * PAGE_BYTES, &uid);
        for (size_t i = 0; r == 0 && n == 0 && uid != HOLDERS_NONE && i < removable.n; i++)
                if (removable.tables[i]->retention->remove_of_user)
                        r = remove_step(retention, database, &removable, i,
                                        &(Removal){ removable.tables[i]->retention->remove_of_user,
                                                    retention->n_step_rows, &uid },
                                        &n);
        for (size_t i = 0; r == 0 && n == 0 && i < removable.n; i++)
                r = remove_step(retention, database, &removable, i,
                                &(Removal){ removable.tables[i]->retention->remove, retention->n_step_rows, NULL }, &n);
        if (r != 0)
                return r;

        *ret_n = n;
        return 0;
}

/* Returns the number of pages that rows of n_bytes take, with their indexes. */
static int64_t pages_for(const Retention *retention, size_t n_bytes) {
        return (int64_t)clamp(n_bytes * 3 / 2 / PAGE_BYTES + 16, 0, (uint64_t)retention->n_pages_max / 2);
}

/* Fits the rows of the next removal to the size of the rows that were removed. */
static void fit_step(Retention *retention, int64_t n_removed, int64_t n_freed) {
        int64_t n_next = n_freed > 0 ? n_removed * STEP_PAGES / n_freed : STEP_ROWS, n_max = 2 * retention->n_step_rows;

        retention->n_step_rows = (int64_t)clamp((uint64_t)n_next, 1, (uint64_t)(n_max < STEP_ROWS ? n_max : STEP_ROWS));
}

static int remove_until(Retention *retention, Database *database, int64_t n_used_max, int n_steps_max) {
        int64_t n_before = 0;

        for (int i = 0; i < n_steps_max; i++) {
                int64_t n_used, n_free, n = 0;
                int r;

                r = count_pages(database, &n_used, &n_free);
                if (r != 0)
                        return r;
                if (i > 0)
                        fit_step(retention, retention->n_step_rows, n_before - n_used);
                if (n_used <= n_used_max)
                        return 0;
                n_before = n_used;

                r = remove_oldest(retention, database, &n);
                if (r != 0)
                        return r;
                if (n == 0)
                        return 0;
        }
        return 0;
}

int retention_make_room(Retention *retention, Database *database, size_t n_bytes) {
        return remove_until(retention, database, retention->n_pages_max - pages_for(retention, n_bytes),
                            STEPS_PER_BATCH);
}

bool retention_is_at_limit(Database *database, const Retention *retention, size_t n_bytes) {
        int64_t n_used, n_free;

        if (count_pages(database, &n_used, &n_free) != 0)
                return false;
        return n_used + 2 * pages_for(retention, n_bytes) > retention->n_pages_max;
}

/* --- between batches ----------------------------------------------------------------------------- */

/* Returns how long a table's rows are kept; 0: no limit. */
static uint64_t keep_ns(const Retention *retention, const TableRetention *table) {
        uint64_t ns;

        assert(table->keep <= sizeof(StoreConfig) - sizeof(ns));
        if (!table->expire)
                return 0;
        memcpy(&ns, (const char *)&retention->config + table->keep, sizeof(ns));
        return ns;
}

/* Returns how many rows of a table may be removed in this step because of their age. */
static int count_left(Retention *retention, Database *database, const Removable *removable, size_t i, int64_t *ret_n) {
        uint64_t now_ns = clock_boottime_ns(), period_ns = retention->config.expiry_period_ns ?: EXPIRY_PERIOD_NS;
        ExpiryTable *table = &retention->expiry.tables[i];
        char text[96];
        int r;

        assert(i < EXPIRY_TABLES_MAX);
        if (expiry_wants_count(table, period_ns, now_ns)) {
                (void)snprintf(text, sizeof(text), "SELECT count(*) FROM %s", removable->tables[i]->name);
                r = database_query(database, text, &table->n_kept);
                if (r != 0)
                        return r;
        }

        *ret_n = (int64_t)clamp((uint64_t)expiry_count_left(table, period_ns, now_ns), 0,
                                (uint64_t)retention->n_step_rows);
        return 0;
}

/* Returns the number of rows that the table has beyond its share of the size limit, as of the last count. */
static int64_t count_excess(const Retention *retention, const TableRetention *table, size_t i) {
        double n_max = table->share * (double)retention->config.size_max_bytes;

        return n_max > 0 ? retention->expiry.tables[i].n_kept - (int64_t)n_max : 0;
}

static int expire_table(Retention *retention, Database *database, const Removable *removable, size_t i,
                        int64_t before_ms, bool *ret_has_more) {
        const TableRetention *table = removable->tables[i]->retention;
        int64_t n_max, n_before, n_after, n_free, n = 0, n_excess;
        int r;

        r = count_left(retention, database, removable, i, &n_max);
        if (r != 0 || n_max == 0)
                return r;

        n_excess = count_excess(retention, table, i);
        if (n_excess > 0 && n_excess < n_max)
                n_max = n_excess;
        r = count_pages(database, &n_before, &n_free);
        if (r == 0)
                r = remove_step(retention, database, removable, i,
                                n_excess > 0 ? &(Removal){ table->remove, n_max, NULL }
                                             : &(Removal){ table->expire, n_max, &before_ms },
                                &n);
        if (r != 0)
                return r;

        expiry_count_removed(&retention->expiry, i, n);
        retention->expiry.tables[i].n_kept -= n_excess > 0 ? n : 0; /* the next count comes late */
        if (n < n_max)
                return 0;

        r = count_pages(database, &n_after, &n_free);
        if (r != 0)
                return r;
        fit_step(retention, n, n_before - n_after);
        r = count_left(retention, database, removable, i, &n_max);
        *ret_has_more |= n_max > 0;
        return r;
}

static void describe_expired(Retention *retention, const Removable *removable) {
        ExpiryStats *stats = &retention->expiry.stats;
        size_t n = 0;

        for (size_t i = 0; i < removable->n && n < sizeof(stats->rows); i++)
                if (retention->expiry.tables[i].n_removed > 0)
                        n += (size_t)snprintf(stats->rows + n, sizeof(stats->rows) - n, "%s%lu of %s",
                                              n > 0 ? ", " : "", (unsigned long)retention->expiry.tables[i].n_removed,
                                              removable->tables[i]->name);
}

static int expire(Retention *retention, Database *database, uint64_t now_ns, bool *ret_has_more) {
        uint64_t n_before = retention->expiry.stats.n_rows;
        Removable removable;
        int r;

        if (!expiry_check_clock(&retention->expiry, clock_is_synchronised(), now_ns, clock_boottime_ns()))
                return 0;

        r = expiry_note(&retention->expiry, database, (int64_t)(now_ns / NS_PER_MS));
        find_removable(&removable);
        for (size_t i = 0; r == 0 && i < removable.n; i++) {
                uint64_t keep = keep_ns(retention, removable.tables[i]->retention);

                if ((keep > 0 && keep < now_ns) || removable.tables[i]->retention->share > 0)
                        r = expire_table(retention, database, &removable, i,
                                         keep > 0 && keep < now_ns ? (int64_t)((now_ns - keep) / NS_PER_MS) : 0,
                                         ret_has_more);
        }
        if (retention->expiry.stats.n_rows != n_before)
                describe_expired(retention, &removable);
        return r;
}

/* Releases space after limits were lowered, or if expired rows left much of the file free. */
static int give_back(Retention *retention, Database *database, bool *ret_has_more) {
        uint64_t n_removed = retention->n_removed;
        int64_t n_used, n_free;
        int r;

        r = remove_until(retention, database, retention->n_pages_max, STEPS_BETWEEN);
        if (r == 0)
                r = count_pages(database, &n_used, &n_free);
        if (r != 0)
                return r;

        *ret_has_more |= n_used > retention->n_pages_max && retention->n_removed > n_removed;
        if (n_free == 0 || (n_used + n_free <= retention->n_pages_max && n_free < 1024 + n_used / 4))
                return 0;

        *ret_has_more = true;
        r = database_run(database, &vacuum, NULL, 0);
        /* The limit cannot be set below the size of the file: set it again as the file shrinks. */
        return r != 0 ? r : cap_pages(retention, database);
}

static int tidy(Retention *retention, Database *database) {
        Removable removable;
        int r = 0;

        find_removable(&removable);
        for (size_t i = 0; r == 0 && i < removable.n; i++)
                if (retention->untidy & UINT64_C(1) << i)
                        r = removable.tables[i]->retention->tidy(database);
        if (r == 0)
                retention->untidy = 0;
        return r;
}

static int step_in_transaction(Retention *retention, Database *database, uint64_t now_ns, bool *ret_has_more) {
        int r;

        r = expire(retention, database, now_ns, ret_has_more);
        if (r == 0)
                r = give_back(retention, database, ret_has_more);
        if (r == 0 && !*ret_has_more && retention->untidy != 0)
                r = tidy(retention, database);
        return r;
}

int retention_step(Retention *retention, Database *database, uint64_t now_realtime_ns, bool *ret_has_more) {
        uint64_t n_removed = retention->n_removed;
        Expiry expiry = retention->expiry;
        bool has_more = false;
        int r;

        r = database_begin(database);
        if (r != 0)
                return r;

        r = step_in_transaction(retention, database, now_realtime_ns, &has_more);
        if (r == 0)
                r = database_commit(database);
        if (r != 0) {
                retention->n_removed = n_removed;
                retention->expiry = expiry;
                database_rollback(database);
                return r;
        }

        *ret_has_more = has_more;
        return 0;
}
