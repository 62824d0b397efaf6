/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are stored while a checkpoint waits for the disk. */
/* tests: daemon/store/database/checkpointer.c */

#include "store_fixture.h"
#include "sync_fixture.h"

#include <stdatomic.h>

#include "store/database/checkpointer.h"
#include "store/wal_checkpoint.h"

#define MIB (UINT64_C(1) << 20)

/* The checkpointer waits while is_held when it syncs a database. */
static atomic_bool is_held;
static atomic_int n_waiting, n_synced;

static int before_sync(void) {
        char name[16] = "";

        (void)pthread_getname_np(pthread_self(), name, sizeof(name));
        if (strcmp(name, CHECKPOINTER_THREAD) != 0)
                return 0;

        atomic_fetch_add(&n_waiting, 1);
        while (atomic_load(&is_held))
                (void)poll(NULL, 0, 1);
        atomic_fetch_sub(&n_waiting, 1);
        atomic_fetch_add(&n_synced, 1);
        return 0;
}

static int setup_group(void **state) {
        (void)state;
        return sync_fixture_install(SQLITE_OPEN_MAIN_DB, before_sync);
}

static void put_large(Store *store, uint64_t n) {
        static char text[4000];
        Item item;

        memset(text, 'x', sizeof(text) - 1);
        item_make(&item, "PiMatmul", "tensorflow", n);
        item.result[0].value = (Value){ .type = VALUE_STRING, .string = text };
        item.submission.time_ms = n;
        assert_int_equal(put_one(store, &item.submission, n), STORE_DONE);
}

static void rows_are_stored_while_a_checkpoint_waits_for_the_disk(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        uint64_t n = 0;
        int n_before;

        /* The end of the log, at which the writer waits for the checkpointer, is far: the checkpointer may get a CPU
         * late. */
        config.size_max_bytes = 1024 * MIB;
        place_open_with(place, &config);
        n_before = atomic_load(&n_synced);
        atomic_store(&is_held, true);
        EVENTUALLY((put_large(place->store, ++n), atomic_load(&n_waiting) > 0));
        for (uint64_t n_more = 20; n_more > 0; n_more--)
                put_large(place->store, ++n);
        assert_int_equal(atomic_load(&n_synced), n_before);

        atomic_store(&is_held, false);
        EVENTUALLY(atomic_load(&n_synced) > n_before);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), n);
}

static void a_log_that_grows_meanwhile_is_restarted(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        StoreStats stats;
        uint64_t n = 0;

        config.size_max_bytes = 8 * MIB;
        place_open_with(place, &config);
        while (++n < 1500)
                put_large(place->store, n);
        store_stats(place->store, &stats);
        assert_true(stats.size_bytes <= config.size_max_bytes);
        assert_true(atomic_load(&n_synced) > 0);
        assert_int_equal(stats.n_sync_failures, 0);
}

/* A database with a table t, and its checkpointer. path: filled, and must stay. */
static void start(Place *place, char path[static PATH_MAX], Database *database, Checkpointer *checkpointer) {
        place_path(place, "perfd.db", path);
        assert_int_equal(database_open(database, path), 0);
        assert_int_equal(database_exec(database, "PRAGMA journal_mode = WAL"), 0);
        database_watch(database);
        assert_int_equal(database_exec(database, "CREATE TABLE t (x)"), 0);
        checkpointer_init(checkpointer, path, false);
        assert_int_equal(checkpointer_start(checkpointer), 0);
}

/* The checkpoint that is running lacks pages which were appended since. */
static void a_checkpoint_that_is_requested_during_another_follows_it(void **state) {
        const Retention retention = { .n_wal_pages_max = 1000, .n_wal_pages_end = 2000 };
        scoped(database_close) Database database = {};
        Checkpointer checkpointer;
        WalCheckpoint wal = { .checkpointer = &checkpointer, .is_requested = true };
        char path[PATH_MAX];

        start(*state, path, &database, &checkpointer);
        atomic_store(&is_held, true);
        wal_checkpoint_if_due(&wal, &database, &retention, false);
        assert_false(wal.is_requested);
        EVENTUALLY(atomic_load(&n_waiting) > 0);
        assert_int_equal(database_exec(&database, "INSERT INTO t VALUES (1)"), 0);
        wal.is_requested = true;
        wal_checkpoint_if_due(&wal, &database, &retention, false);
        assert_true(wal.is_requested);

        atomic_store(&is_held, false);
        EVENTUALLY((wal_checkpoint_if_due(&wal, &database, &retention, false), !wal.is_requested));
        wal_checkpoint_wait(&wal, &database);
        assert_int_equal(database.n_wal_pages, 0);
        checkpointer_deinit(&checkpointer);
}

static void append_until(Database *database, int n_pages) {
        while (database->n_wal_pages < n_pages)
                assert_int_equal(database_exec(database, "INSERT INTO t VALUES (1)"), 0);
}

/* A log that grows while it is written back keeps its length: only the pages that were appended since count for the
 * next checkpoint. */
static void pages_that_were_written_back_begin_no_checkpoint(void **state) {
        const Retention retention = { .n_wal_pages_max = 20, .n_wal_pages_end = 2000 };
        scoped(database_close) Database database = {};
        Checkpointer checkpointer;
        WalCheckpoint wal = { .checkpointer = &checkpointer };
        CheckpointResult result;
        char path[PATH_MAX];

        start(*state, path, &database, &checkpointer);
        append_until(&database, retention.n_wal_pages_max);
        atomic_store(&is_held, true);
        wal_checkpoint_if_due(&wal, &database, &retention, false);
        EVENTUALLY(atomic_load(&n_waiting) > 0);
        append_until(&database, retention.n_wal_pages_max + 2);
        atomic_store(&is_held, false);
        wal_checkpoint_wait(&wal, &database);
        assert_in_range(wal.n_pages_done, retention.n_wal_pages_max, database.n_wal_pages - 1);

        wal_checkpoint_if_due(&wal, &database, &retention, false);
        assert_false(checkpointer_take(&checkpointer, true, &result));
        append_until(&database, wal.n_pages_done + retention.n_wal_pages_max);
        wal_checkpoint_if_due(&wal, &database, &retention, false);
        assert_true(checkpointer_take(&checkpointer, true, &result));
        assert_int_equal(result.n_done_pages, database.n_wal_pages);
        checkpointer_deinit(&checkpointer);
}

static void a_file_that_cannot_be_opened_is_an_error(void **state) {
        Checkpointer checkpointer;
        CheckpointResult result;

        (void)state;
        checkpointer_init(&checkpointer, "/nonexistent/perfd.db", false);
        assert_int_equal(checkpointer_start(&checkpointer), 0);
        assert_false(checkpointer_take(&checkpointer, true, &result));
        assert_true(checkpointer_begin(&checkpointer));
        assert_false(checkpointer_begin(&checkpointer));
        assert_true(checkpointer_take(&checkpointer, true, &result));
        assert_int_equal(result.error, -ENOENT);
        assert_int_equal(result.n_log_pages, -1);
        assert_false(checkpointer_take(&checkpointer, false, &result));
        checkpointer_deinit(&checkpointer);
}

static int teardown(void **state) {
        atomic_store(&is_held, false);
        atomic_store(&n_synced, 0);
        return place_teardown(state);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup_closed, teardown)
                TEST(rows_are_stored_while_a_checkpoint_waits_for_the_disk),
                TEST(a_log_that_grows_meanwhile_is_restarted),
                TEST(a_checkpoint_that_is_requested_during_another_follows_it),
                TEST(pages_that_were_written_back_begin_no_checkpoint),
                cmocka_unit_test(a_file_that_cannot_be_opened_is_an_error),
        };

        return cmocka_run_group_tests(tests, setup_group, NULL);
}
