/* SPDX-License-Identifier: Apache-2.0 */
/* A database file that cannot be synced: counted, reported with the name of the error, and bounded in size. */
/* tests: daemon/store/wal_checkpoint.c */

#include "store_fixture.h"
#include "sync_fixture.h"

#include <stdatomic.h>

#define MIB (UINT64_C(1) << 20)

/* Syncing the database fails with this error; 0: succeeds. */
static atomic_int sync_error;

static int before_sync(void) {
        return atomic_load(&sync_error);
}

static int setup_group(void **state) {
        (void)state;
        return sync_fixture_install(SQLITE_OPEN_MAIN_DB, before_sync);
}

static StoreOutcome put_large(Store *store, uint64_t n) {
        static char text[4000];
        Item item;

        memset(text, 'x', sizeof(text) - 1);
        item_make(&item, "PiMatmul", "tensorflow", n);
        item.result[0].value = (Value){ .type = VALUE_STRING, .string = text };
        item.submission.time_ms = n;
        return put_one(store, &item.submission, n);
}

static void check_error(void **state, int error, const char *name) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        StoreStats stats;
        uint64_t n = 1;

        config.size_max_bytes = 8 * MIB;
        place_open_with(place, &config);
        assert_int_equal(put_large(place->store, n), STORE_DONE);
        atomic_store(&sync_error, error);
        while (put_large(place->store, ++n) == STORE_DONE)
                assert_true(n < 4000);

        store_stats(place->store, &stats);
        assert_true(stats.n_sync_failures > 0);
        assert_memory_equal(stats.sync_error, name, strlen(name));
        assert_false(stats.is_writable);
        assert_non_null(strstr(stats.error, "log is full"));
        assert_true(stats.size_bytes <= config.size_max_bytes);
        assert_true(n > 20);

        atomic_store(&sync_error, 0);
        EVENTUALLY((store_stats(place->store, &stats), stats.is_writable && !stats.sync_error[0]));
        assert_int_equal(put_large(place->store, n), STORE_DONE);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), n);
}

static void an_exceeded_quota_is_reported_by_name(void **state) {
        check_error(state, EDQUOT, "EDQUOT: Disk quota exceeded");
}

static void a_full_disk_is_reported_by_name(void **state) {
        check_error(state, ENOSPC, "ENOSPC: No space left on device");
}

static void a_read_only_file_system_is_reported_by_name(void **state) {
        check_error(state, EROFS, "EROFS: Read-only file system");
}

static int teardown(void **state) {
        atomic_store(&sync_error, 0);
        return place_teardown(state);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup_closed, teardown)
                TEST(an_exceeded_quota_is_reported_by_name),
                TEST(a_full_disk_is_reported_by_name),
                TEST(a_read_only_file_system_is_reported_by_name),
        };

        return cmocka_run_group_tests(tests, setup_group, NULL);
}
