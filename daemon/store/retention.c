/* SPDX-License-Identifier: Apache-2.0 */
#include "store/retention.h"

#include <stdio.h>

#include "util/clock.h"

#define PAGE_BYTES 4096
#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1024) * KIB)

#define STEP_ROWS 256      /* removed by one statement */
#define STEPS_PER_BATCH 64 /* at most, before a batch that needs the room */
#define STEPS_BETWEEN 4    /* at most, while nobody needs it */
#define PAGES_MIN 64       /* an empty file has half of these */

static uint64_t clamp(uint64_t v, uint64_t low, uint64_t high) {
        return v < low ? low : v > high ? high : v;
}

static int cap_pages(const Retention *retention, Database *database) {
        char text[64];

        (void)snprintf(text, sizeof(text), "PRAGMA max_page_count = %lld", (long long)retention->n_pages_max);
        return database_exec(database, text);
}

/*
 * Part of the limit is for the write-ahead log: it grows while a question reads it, by what comes in meanwhile, and has to
 * have room for the transaction that goes in last.
 */
int retention_configure(Retention *retention, Database *database, const Limits *limits) {
        uint64_t size = limits->size_max_bytes ? limits->size_max_bytes : UINT32_MAX * MIB / 4;
        uint64_t reserve = clamp(size / 4, 256 * KIB, 128 * MIB);
        uint64_t due = clamp(reserve / 4, 64 * KIB, 8 * MIB);
        uint64_t n_pages = size > reserve ? (size - reserve) / PAGE_BYTES : 0;
        char text[64];
        int r;

        retention->limits = *limits;
        retention->n_pages_max = (int64_t)clamp(n_pages, PAGES_MIN, INT32_MAX / 2);
        retention->n_wal_pages_max = (int)(due / PAGE_BYTES);
        retention->n_wal_pages_end = (int)((reserve - due) / PAGE_BYTES);
        retention->n_wal_bytes_max = 2 * due;
        retention->n_batch_bytes_max = (size_t)clamp(due / 4, 64 * KIB, 2 * MIB);

        /*
         * A log that begins anew keeps its length: to write over what is there costs a sync nothing but the data, while a file
         * that is cut and grows again has each sync wait for the file system's journal, and that for the blocks it gives back.
         */
        (void)snprintf(text, sizeof(text), "PRAGMA journal_size_limit = %llu", (unsigned long long)reserve);
        r = database_exec(database, text);
        return r != 0 ? r : cap_pages(retention, database);
}

/* Pages in use, and pages the file has for new rows without growing. */
static int count_pages(Database *database, int64_t *ret_used, int64_t *ret_free) {
        int64_t n_pages = 0, n_free = 0;
        int r;

        r = database_get(database, STATEMENT_PAGE_COUNT, &n_pages);
        if (r == 0)
                r = database_get(database, STATEMENT_FREE_PAGES, &n_free);
        if (r != 0)
                return r;

        *ret_used = n_pages - n_free;
        *ret_free = n_free;
        return 0;
}

static int subtract(Database *database, int64_t name, int64_t component, int64_t n) {
        sqlite3_stmt *statement = database_statement(database, STATEMENT_INDICATOR_SUBTRACT);

        if (n == 0)
                return 0;

        sqlite3_bind_int64(statement, 1, name);
        sqlite3_bind_int64(statement, 2, component);
        sqlite3_bind_int64(statement, 3, n);
        return database_run(database, STATEMENT_INDICATOR_SUBTRACT);
}

/* Runs a removal that tells whose results went, and takes them off their counts, neighbours together. */
static int remove_results(Database *database, Statement which, int64_t *ret_n) {
        sqlite3_stmt *statement = database_statement(database, which);
        int64_t name = 0, component = 0, n_run = 0, n = 0;
        int r;

        while ((r = database_step(database, which)) == DATABASE_ROW) {
                int64_t n_name = sqlite3_column_int64(statement, 0);
                int64_t n_component = sqlite3_column_int64(statement, 1);

                if (n_name != name || n_component != component) {
                        r = subtract(database, name, component, n_run);
                        if (r != 0)
                                break;
                        name = n_name;
                        component = n_component;
                        n_run = 0;
                }
                n_run++;
                n++;
        }
        sqlite3_reset(statement);
        if (r == 0)
                r = subtract(database, name, component, n_run);
        if (r != 0)
                return r;

        *ret_n = n;
        return 0;
}

/* Runs a removal that tells of each job how many rows went with it. */
static int remove_jobs(Database *database, Statement which, int64_t *ret_n) {
        sqlite3_stmt *statement = database_statement(database, which);
        int64_t n = 0;
        int r;

        while ((r = database_step(database, which)) == DATABASE_ROW)
                n += sqlite3_column_int64(statement, 0);
        if (r != 0)
                return r;

        *ret_n = n;
        return 0;
}

static int remove_samples(Database *database, Statement which, int64_t *ret_n) {
        int r;

        r = database_run(database, which);
        if (r == 0)
                *ret_n = database_changes(database);
        return r;
}

/* Runs one removal of about STEP_ROWS rows at most; before_ms only for those that expire. */
static int remove_step(Retention *retention, Database *database, Statement which, int64_t before_ms, int64_t *ret_n) {
        sqlite3_stmt *statement = database_statement(database, which);
        int64_t n = 0;
        int r;

        sqlite3_bind_int64(statement, 1, STEP_ROWS);
        if (sqlite3_bind_parameter_count(statement) > 1)
                sqlite3_bind_int64(statement, 2, before_ms);

        if (which == STATEMENT_RESULTS_REMOVE || which == STATEMENT_RESULTS_EXPIRE) {
                r = remove_results(database, which, &n);
                retention->has_emptied |= n > 0;
        } else if (which == STATEMENT_JOBS_REMOVE || which == STATEMENT_JOBS_EXPIRE)
                r = remove_jobs(database, which, &n);
        else
                r = remove_samples(database, which, &n);
        if (r != 0)
                return r;

        retention->n_removed += (uint64_t)n;
        *ret_n = n;
        return 0;
}

static int remove_oldest(Retention *retention, Database *database, int64_t *ret_n) {
        static const Statement by_worth[] = {
                STATEMENT_SAMPLES_REMOVE,
                STATEMENT_RESULTS_REMOVE,
                STATEMENT_JOBS_REMOVE,
        };
        int64_t n = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && n == 0 && i < sizeof(by_worth) / sizeof(by_worth[0]); i++)
                r = remove_step(retention, database, by_worth[i], 0, &n);
        if (r != 0)
                return r;

        *ret_n = n;
        return 0;
}

/* Pages that so many bytes of rows take, with their indices. */
static int64_t pages_for(const Retention *retention, size_t n_bytes) {
        return (int64_t)clamp(n_bytes * 3 / 2 / PAGE_BYTES + 16, 0, (uint64_t)retention->n_pages_max / 2);
}

static int remove_until(Retention *retention, Database *database, int64_t n_used_max, int n_steps_max) {
        for (int i = 0; i < n_steps_max; i++) {
                int64_t n_used, n_free, n = 0;
                int r;

                r = count_pages(database, &n_used, &n_free);
                if (r != 0)
                        return r;
                if (n_used <= n_used_max)
                        return 0;

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

static int expire(Retention *retention, Database *database, uint64_t now_ns, bool *ret_has_more) {
        const struct {
                Statement statement;
                uint64_t keep_ns;
        } kinds[] = {
                { STATEMENT_SAMPLES_EXPIRE, retention->limits.keep_samples_ns },
                { STATEMENT_RESULTS_EXPIRE, retention->limits.keep_results_ns },
                { STATEMENT_JOBS_EXPIRE, retention->limits.keep_jobs_ns },
        };

        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
                int64_t n = 0;
                int r;

                if (kinds[i].keep_ns == 0 || kinds[i].keep_ns >= now_ns)
                        continue;

                r = remove_step(retention, database, kinds[i].statement,
                                (int64_t)((now_ns - kinds[i].keep_ns) / NS_PER_MS), &n);
                if (r != 0)
                        return r;
                *ret_has_more |= n >= STEP_ROWS;
        }
        return 0;
}

/* Limits may have been lowered, and what expired may have left holes: gives back what is much. */
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
        r = database_run(database, STATEMENT_VACUUM);
        /* The cap cannot be set below what the file has, so it follows it down. */
        return r != 0 ? r : cap_pages(retention, database);
}

static int tidy_names(Retention *retention, Database *database) {
        int r;

        r = database_run(database, STATEMENT_INDICATORS_TIDY);
        if (r == 0)
                r = database_run(database, STATEMENT_TERMS_TIDY);
        if (r == 0)
                retention->has_emptied = false;
        return r;
}

static int step_in_transaction(Retention *retention, Database *database, uint64_t now_ns, bool *ret_has_more) {
        int r;

        r = expire(retention, database, now_ns, ret_has_more);
        if (r == 0)
                r = give_back(retention, database, ret_has_more);
        if (r == 0 && !*ret_has_more && retention->has_emptied)
                r = tidy_names(retention, database);
        return r;
}

int retention_step(Retention *retention, Database *database, uint64_t now_realtime_ns, bool *ret_has_more) {
        uint64_t n_removed = retention->n_removed;
        bool has_more = false;
        int r;

        r = database_run(database, STATEMENT_BEGIN);
        if (r != 0)
                return r;

        r = step_in_transaction(retention, database, now_realtime_ns, &has_more);
        if (r == 0)
                r = database_run(database, STATEMENT_COMMIT);
        if (r != 0) {
                retention->n_removed = n_removed;
                database_rollback(database);
                return r;
        }

        *ret_has_more = has_more;
        return 0;
}
