/* SPDX-License-Identifier: Apache-2.0 */
/* A submission that is stored in several transactions is stored completely or not at all. */
/* tests: daemon/store/indicators/result_rows.c daemon/store/writer.c daemon/store/batches.c */

#include "store_fixture.h"
#include "sync_fixture.h"

#include <stdatomic.h>

#include "store/catalog/catalog.h"
#include "store/opening.h"

#define N_ITEMS 300U
#define LARGE_UID 1000U
#define OTHER_UID 2000U

/* --- a set whose parts are applied here ---------------------------------------------------------- */

typedef struct Fixture {
        Place place;
        Database database;
        Catalog *catalog;
} Fixture;

static void open_file(Fixture *f) {
        char path[PATH_MAX];

        place_path(&f->place, "perfd.db", path);
        assert_int_equal(opening_open_file(path, &f->database), 0);
        assert_int_equal(catalog_new(&f->catalog, NULL), 0);
}

static void close_file(Fixture *f) {
        f->catalog = catalog_free(f->catalog);
        database_close(&f->database);
}

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        place_make(&f->place);
        open_file(f);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        close_file(f);
        place_remove(&f->place);
        free(f);
        return 0;
}

/* Packs n results with numbers from `first` on. */
static RowSet *pack(uint32_t uid, uint64_t first, size_t n, const char *job) {
        static Item items[N_ITEMS];
        Submission all[N_ITEMS];
        StoreCookie cookie = cookie_of(first);

        assert_true(n <= N_ITEMS);
        for (size_t i = 0; i < n; i++) {
                item_make(&items[i], i % 2 ? "PiMatmul" : "Triad", "c", first + i);
                all[i] = items[i].submission;
                all[i].job = job;
        }
        cookie.ticket.user = (uint64_t)uid + 1;
        return result_rows_pack(all, n, &(Peer){ .uid = uid }, 5000, cookie);
}

/* Stores the next part of a set, in a transaction. */
static void apply_part(Fixture *f, RowSet *set) {
        set->part.n_done = set->part.n_end;
        set->part.offset = set->part.offset_end;
        set->part.is_limited = true;
        assert_int_equal(database_begin(&f->database), 0);
        assert_int_equal(set->kind->apply(set, &f->database, f->catalog), 0);
        assert_int_equal(catalog_flush(f->catalog, &f->database), 0);
        assert_int_equal(database_commit(&f->database), 0);
}

static void apply_all(Fixture *f, RowSet *set) {
        do
                apply_part(f, set);
        while (set->outcome == STORE_DONE && set->part.n_end < set->n_rows);
}

static int64_t count_of(const Fixture *f, uint32_t uid) {
        char sql[80];

        (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM result WHERE uid = %u", uid);
        return ask_place(&f->place, sql);
}

static void the_parts_are_the_whole(void **state) {
        scoped(rowset_freep) RowSet *set = pack(LARGE_UID, 1, N_ITEMS, NULL),
                                    *again = pack(LARGE_UID, 1, N_ITEMS, NULL);
        scoped(rowset_freep) RowSet *half = pack(LARGE_UID, 1 + N_ITEMS / 2, N_ITEMS, NULL);
        Fixture *f = *state;

        apply_part(f, set);
        assert_int_equal(set->part.n_end, ROWSET_SMALL_ROWS_MAX);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM unfinished"), 1);
        apply_all(f, set);
        assert_int_equal(set->outcome, STORE_DONE);
        assert_int_equal(result_rows_stored(set)->n_new, N_ITEMS);

        apply_all(f, again);
        assert_int_equal(again->outcome, STORE_DUPLICATE);
        apply_all(f, half);
        assert_int_equal(half->outcome, STORE_DONE);
        assert_int_equal(result_rows_stored(half)->n_new, N_ITEMS / 2);
        for (size_t i = 0; i < N_ITEMS; i++)
                assert_int_equal(!(result_rows_stored(half)->old[i / 8] & 1U << i % 8), i >= N_ITEMS / 2);

        assert_int_equal(count_of(f, LARGE_UID), N_ITEMS + N_ITEMS / 2);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM unfinished"), 0);
        assert_held_as_stored(&f->place);
}

static void the_parts_of_an_incomplete_set_are_removed_when_the_database_is_opened(void **state) {
        scoped(rowset_freep) RowSet *before = pack(LARGE_UID, 1000, 5, NULL), *set = pack(LARGE_UID, 1, N_ITEMS, NULL);
        scoped(rowset_freep) RowSet *other = pack(OTHER_UID, 2000, 7, NULL), *later = pack(LARGE_UID, 1, N_ITEMS, NULL);
        Fixture *f = *state;

        apply_all(f, before);
        apply_part(f, set);
        apply_all(f, other);
        apply_part(f, set);
        close_file(f);
        assert_int_equal(count_of(f, LARGE_UID), 5 + 2 * ROWSET_SMALL_ROWS_MAX);

        open_file(f);
        assert_int_equal(count_of(f, LARGE_UID), 5);
        assert_int_equal(count_of(f, OTHER_UID), 7);
        assert_int_equal(ask_place(&f->place, "SELECT sum(n_results) FROM indicator"), 12);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM unfinished"), 0);
        assert_held_as_stored(&f->place);
        apply_all(f, later);
        assert_int_equal(count_of(f, LARGE_UID), 5 + N_ITEMS);
}

static void a_job_that_another_begins_meanwhile_gets_no_part(void **state) {
        scoped(rowset_freep) RowSet *set = pack(LARGE_UID, 1, N_ITEMS, "claimed");
        Fixture *f = *state;

        apply_part(f, set);
        assert_int_equal(set->outcome, STORE_DONE);
        change_place(
                &f->place,
                "INSERT INTO job (id, name, user, state, begin_ms, uid, gid, pid, pid_start_ticks, rank, node, n_nodes,"
                " n_ranks, isolation, command, labels)"
                " VALUES ('claimed', '', '', 'running', 1, 2000, 0, 0, 0, 0, 0, 1, 1, '', '[]', '{}')");
        apply_part(f, set);
        assert_int_equal(set->outcome, STORE_DENIED);
        assert_int_equal(count_of(f, LARGE_UID), ROWSET_SMALL_ROWS_MAX);
}

/* --- the writer ---------------------------------------------------------------------------------- */

/* Syncing the log fails with this error, after this many syncs, so many times; 0: succeeds. */
static atomic_int sync_error, n_syncs_left, n_errors_left;

static int before_sync(void) {
        int e = atomic_load(&sync_error);

        if (e == 0 || atomic_fetch_sub(&n_syncs_left, 1) > 0)
                return 0;
        return atomic_fetch_sub(&n_errors_left, 1) > 0 ? e : 0;
}

/* Puts the set at the next insertion of a result, in the writer's thread: while a part is applied. */
static struct {
        Store *store;
        _Atomic(RowSet *) set;
} during_part;

static void on_update(void *userdata, int operation, const char *database, const char *table, sqlite3_int64 row) {
        RowSet *set;

        (void)userdata, (void)database, (void)row;
        if (operation != SQLITE_INSERT || strcmp(table, "result") != 0)
                return;
        set = atomic_exchange(&during_part.set, NULL);
        if (set)
                assert_int_equal(store_put(during_part.store, set), 0);
}

static int on_open(sqlite3 *db, char **message, const struct sqlite3_api_routines *routines) {
        (void)message, (void)routines;
        (void)sqlite3_update_hook(db, on_update, NULL);
        return SQLITE_OK;
}

static int setup_group(void **state) {
        (void)state;
        return sqlite3_auto_extension((void (*)(void))on_open) ?: sync_fixture_install(SQLITE_OPEN_WAL, before_sync);
}

static int teardown(void **state) {
        atomic_store(&sync_error, 0);
        return place_teardown(state);
}

/* Two users one after the other: from now on, large sets are stored in parts. */
static void share(Store *store) {
        assert_int_equal(store_put(store, pack(OTHER_UID, 900001, 1, NULL)), 0);
        assert_int_equal(outcome_of(store, 900001), STORE_DONE);
        assert_int_equal(store_put(store, pack(LARGE_UID, 900002, 1, NULL)), 0);
        assert_int_equal(outcome_of(store, 900002), STORE_DONE);
}

static void small_sets_of_others_are_answered_first(void **state) {
        Place *place = *state;
        uint64_t first_of_large = 0, n_before_large = 0;
        StoreStats before, after;
        StoreDone done;

        share(place->store);
        store_stats(place->store, &before);
        assert_int_equal(store_put(place->store, pack(LARGE_UID, 1, N_ITEMS, NULL)), 0);
        for (uint64_t i = 0; i < 3; i++)
                assert_int_equal(store_put(place->store, pack(OTHER_UID, 1000 + i, 1, NULL)), 0);
        for (int i = 0; i < 4; i++) {
                assert_true(wait_done(place->store, &done, DEADLINE_MS));
                assert_int_equal(done.outcome, STORE_DONE);
                first_of_large |= done.cookie.ticket.number == 1;
                n_before_large += !first_of_large;
        }
        store_stats(place->store, &after);
        assert_true(n_before_large > 0);
        assert_true(after.n_commits - before.n_commits >= 3);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), N_ITEMS + 3 + 2);
        assert_held_as_stored(place);
}

/* Puts a large set of one user, and a small set of another while the first part of the large set is applied. */
static void put_during_part(Store *store) {
        during_part.store = store;
        atomic_store(&during_part.set, pack(OTHER_UID, 1000, 1, NULL));
        assert_int_equal(store_put(store, pack(LARGE_UID, 1, N_ITEMS, NULL)), 0);
}

static void assert_next_done(Store *store, uint64_t number, StoreOutcome outcome) {
        StoreDone done;

        assert_true(wait_done(store, &done, DEADLINE_MS));
        assert_int_equal(done.cookie.ticket.number, number);
        assert_int_equal(done.outcome, outcome);
}

static void a_small_set_that_comes_during_a_part_joins_its_transaction(void **state) {
        Place *place = *state;
        StoreStats before, after;

        share(place->store);
        store_stats(place->store, &before);
        put_during_part(place->store);
        assert_next_done(place->store, 1000, STORE_DONE);
        assert_next_done(place->store, 1, STORE_DONE);

        store_stats(place->store, &after);
        assert_int_equal(after.n_commits - before.n_commits,
                         (N_ITEMS + ROWSET_SMALL_ROWS_MAX - 1) / ROWSET_SMALL_ROWS_MAX);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), N_ITEMS + 1 + 2);
        assert_held_as_stored(place);
}

static void a_set_that_joined_a_part_that_fails_is_stored_alone(void **state) {
        Place *place = *state;

        share(place->store);
        atomic_store(&n_syncs_left, 0);
        atomic_store(&n_errors_left, 1);
        atomic_store(&sync_error, EIO);
        put_during_part(place->store);
        assert_next_done(place->store, 1, STORE_FAILED);
        assert_next_done(place->store, 1000, STORE_DONE);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 1 + 2);
        assert_held_as_stored(place);
}

static void after_a_failure_no_part_stays(void **state) {
        Place *place = *state;

        share(place->store);
        atomic_store(&n_syncs_left, 1);
        atomic_store(&n_errors_left, INT_MAX);
        atomic_store(&sync_error, EIO);
        assert_int_equal(store_put(place->store, pack(LARGE_UID, 1, N_ITEMS, NULL)), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_FAILED);
        assert_true(count_results(place->reader, &(ResultFilter){}) > 2); /* the disk does not let it go yet */

        atomic_store(&sync_error, 0);
        assert_int_equal(store_put(place->store, pack(LARGE_UID, 900003, 1, NULL)), 0);
        assert_int_equal(outcome_of(place->store, 900003), STORE_DONE);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 3);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM unfinished"), 0);
        assert_held_as_stored(place);
        assert_int_equal(store_put(place->store, pack(LARGE_UID, 1, N_ITEMS, NULL)), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_parts_are_the_whole, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_parts_of_an_incomplete_set_are_removed_when_the_database_is_opened,
                                                set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_job_that_another_begins_meanwhile_gets_no_part, set_up, tear_down),
                cmocka_unit_test_setup_teardown(small_sets_of_others_are_answered_first, place_setup, teardown),
                cmocka_unit_test_setup_teardown(a_small_set_that_comes_during_a_part_joins_its_transaction, place_setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(a_set_that_joined_a_part_that_fails_is_stored_alone, place_setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(after_a_failure_no_part_stays, place_setup, teardown),
        };

        return cmocka_run_group_tests(tests, setup_group, NULL);
}
