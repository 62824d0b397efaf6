/* SPDX-License-Identifier: Apache-2.0 */
/* The store with a damaged file, a failing disk, or exceeded limits. */
/* tests: daemon/store/opening.c daemon/store/damage/salvage.c daemon/store/retention/retention.c daemon/store/writer.c
    daemon/store/database/database.c
    daemon/store/node/store_node.c daemon/store/jobs/job_rows.c */

#include "store/damage/salvage.h"
#include "store/indicators/indicator_reader.h"
#include "store/indicators/result_reader.h"
#include "store/jobs/job_reader.h"
#include "store/jobs/job_rows.h"
#include "store/node/store_node.h"
#include "store/opening.h"
#include "store/retention/retention.h"
#include "store_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MIB (UINT64_C(1) << 20)

/* --- opening ------------------------------------------------------------------------------------- */

static char *file_bytes(const Place *place, size_t *ret_n) {
        scoped(closep) int fd = -1;
        char path[PATH_MAX], *bytes;
        struct stat st;

        place_path(place, "perfd.db", path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        bytes = malloc((size_t)st.st_size);
        assert_non_null(bytes);
        assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
        *ret_n = (size_t)st.st_size;
        return bytes;
}

static void a_second_perfd_waits_until_the_first_has_ended(void **state) {
        scoped(freep) char *note = NULL;
        StoreConfig config;
        Place *place = *state;
        Store *second = NULL;

        place_open(place);
        config = place_config(place);
        assert_int_equal(store_open(&second, &config, &note), STORE_LOCKED);
        assert_non_null(strstr(note, "perfd.lock"));
        assert_int_equal(put_number(place->store, 1, 1), STORE_DONE);
        place_close(place);

        place_open(place);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 1);
}

static void a_missing_directory_is_an_error(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        Store *store = NULL;
        char *note;

        strcpy(config.directory, "/nonexistent/perfd");
        assert_int_equal(store_open(&store, &config, &note), -ENOENT);
        assert_null(note);
        assert_null(store);
}

static void a_file_of_a_later_perfd_is_refused_and_not_touched(void **state) {
        scoped(freep) char *before = NULL, *after = NULL, *note = NULL;
        size_t n_before, n_after;
        Place *place = *state;

        place_open(place);
        assert_int_equal(put_number(place->store, 1, 1), STORE_DONE);
        place_close(place);
        change_place(place, "PRAGMA user_version = 99");

        before = file_bytes(place, &n_before);
        note = open_with_note(place, STORE_UNSUPPORTED);
        assert_non_null(strstr(note, "99"));
        after = file_bytes(place, &n_after);
        assert_int_equal(n_before, n_after);
        assert_memory_equal(before, after, n_before);
}

/* Makes a file whose tables this SQLite cannot read, last written by the SQLite of this version. */
static void make_file_of_library(Place *place, uint32_t version) {
        const uint8_t bytes[] = { (uint8_t)(version >> 24), (uint8_t)(version >> 16), (uint8_t)(version >> 8),
                                  (uint8_t)version };

        place_open(place);
        assert_int_equal(put_number(place->store, 1, 1), STORE_DONE);
        place_close(place);
        change_place(place, "PRAGMA writable_schema = ON;"
                            "UPDATE sqlite_schema SET sql = sql || ' LATER' WHERE name = 'term'");
        write_at(place, 96, bytes, sizeof(bytes));
}

static void a_file_of_a_newer_library_is_refused_and_not_touched(void **state) {
        scoped(freep) char *before = NULL, *after = NULL, *note = NULL;
        size_t n_before, n_after;
        Place *place = *state;
        char path[PATH_MAX];

        make_file_of_library(place, 9001002);
        before = file_bytes(place, &n_before);
        note = open_with_note(place, STORE_UNSUPPORTED);
        assert_non_null(strstr(note, "SQLite 9.1.2"));
        assert_non_null(strstr(note, sqlite3_libversion()));
        after = file_bytes(place, &n_after);
        assert_int_equal(n_before, n_after);
        assert_memory_equal(before, after, n_before);
        assert_false(place_find(place, "perfd.db.", path));
}

static void opening_again_changes_nothing(void **state) {
        scoped(freep) char *before = NULL, *after = NULL;
        size_t n_before, n_after;
        Place *place = *state;

        place_open(place);
        assert_int_equal(put_number(place->store, 1, 1), STORE_DONE);
        place_close(place);
        before = file_bytes(place, &n_before);
        place_open(place);
        place_close(place);
        after = file_bytes(place, &n_after);
        assert_int_equal(n_before, n_after);
        assert_memory_equal(before, after, n_before);
}

/* Checks that the store opens with a new file next to the old one. */
static void assert_put_aside(Place *place, uint64_t n_least) {
        scoped(freep) char *note = open_with_note(place, 0);
        char path[PATH_MAX];

        assert_non_null(strstr(note, "perfd.db.damaged-"));
        assert_int_equal(put_number(place->store, 1000000, 1), STORE_DONE);
        EVENTUALLY(place_find(place, "perfd.db.salvaged-", path));
        assert_in_range(count_results(place->reader, &(ResultFilter){}), n_least, 2001);
}

static void an_invalid_database_file_is_renamed(void **state) {
        Place *place = *state;

        write_at(place, 0, "This is not a database, whatever its name says.\n", 48);
        assert_put_aside(place, 1);
}

static void a_database_of_something_else_is_put_aside(void **state) {
        Place *place = *state;

        change_place(place, "CREATE TABLE result (x)");
        assert_put_aside(place, 1);
}

static void a_damaged_schema_is_put_aside(void **state) {
        Place *place = *state;

        make_file_of_library(place, 3000000);
        assert_put_aside(place, 2);
}

static void a_statement_that_fails_is_not_damage(void **state) {
        Place *place = *state;
        char path[PATH_MAX];

        place_open(place);
        change_place(place, "ALTER TABLE result RENAME TO hidden");
        assert_int_equal(put_number(place->store, 1, 1), STORE_FAILED);
        assert_false(place_find(place, "perfd.db.", path));
        change_place(place, "ALTER TABLE hidden RENAME TO result");
        assert_int_equal(put_number(place->store, 2, 2), STORE_DONE);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 1);
}

static void the_next_damaged_file_is_put_aside_after_a_minute(void **state) {
        scoped(opening_deinit) Opening opening = {};
        scoped(freep) char *first = NULL, *second = NULL;
        Place *place = *state;
        char path[PATH_MAX];

        assert_int_equal(opening_init(&opening, place->directory, false), 0);
        for (unsigned i = 0; i < 2; i++) {
                scoped(database_close) Database database = {};

                place_path(place, "perfd.db", path);
                (void)unlink(path);
                write_at(place, 0, "This is not a database, whatever its name says.\n", 48);
                assert_int_equal(opening_open(&opening, &database, i == 0 ? &first : &second),
                                 i == 0 ? 0 : OPENING_LATER);
        }
        assert_non_null(strstr(first, "perfd.db.damaged-"));
        assert_non_null(strstr(second, "less than a minute ago"));

        opening.replaced_ns -= OPENING_REPLACEMENT_INTERVAL_NS;
        free(TAKE(second));
        {
                scoped(database_close) Database database = {};

                assert_int_equal(opening_open(&opening, &database, &second), 0);
        }
}

/* The oldest one of which no row was moved has most rows. */
static void three_damaged_files_are_kept(void **state) {
        static const char *const kept[] = { "damaged-1970-01-01T00:00:04", "damaged-1970-01-01T00:00:05",
                                            "damaged-1970-01-01T00:00:09" };
        Place *place = *state;
        char path[PATH_MAX];

        for (unsigned second = 1; second < 10; second++) {
                scoped(freep) char *note = NULL;

                place_path(place, "perfd.db-wal", path);
                assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
                write_at(place, 0, "x", 1);
                place_path(place, "perfd.db", path);
                assert_int_equal(salvage_put_aside(path, second * NS_PER_S, "test", &note), 0);
                if (second < 4) {
                        scoped(salvage_close) Salvage salvage = {};
                        scoped(freep) char *end = NULL;

                        assert_int_equal(salvage_find(&salvage, path), 0);
                        assert_int_equal(salvage_end(&salvage, &end), 0);
                }
        }
        for (unsigned i = 0; i < N_ELEMENTS(kept); i++) {
                char name[64];

                (void)snprintf(name, sizeof(name), "perfd.db.%s", kept[i]);
                assert_true(place_find(place, name, path));
                assert_int_equal(unlink(path), 0);
                assert_true(place_find(place, name, path));
                assert_int_equal(unlink(path), 0);
        }
        assert_false(place_find(place, "perfd.db.", path));
}

static void a_damaged_table_is_put_aside(void **state) {
        Place *place = *state;
        char zeros[4096] = {};

        place_open(place);
        for (uint64_t n = 1; n <= 2000; n++)
                assert_int_equal(put_number(place->store, n, n), STORE_DONE);
        place_close(place);
        for (off_t page = 3; page < 40; page++)
                write_at(place, page * 4096, zeros, sizeof(zeros));
        assert_put_aside(place, 1900);
}

static void a_file_cut_short_is_put_aside(void **state) {
        Place *place = *state;
        char path[PATH_MAX];

        place_open(place);
        for (uint64_t n = 1; n <= 2000; n++)
                assert_int_equal(put_number(place->store, n, n), STORE_DONE);
        place_close(place);
        place_path(place, "perfd.db", path);
        assert_int_equal(truncate(path, 5 * 4096), 0);
        assert_put_aside(place, 1);
}

static void an_empty_file_is_a_new_store(void **state) {
        Place *place = *state;

        write_at(place, 0, "", 0);
        place_open(place);
        assert_int_equal(put_number(place->store, 1, 1), STORE_DONE);
}

/* --- limits -------------------------------------------------------------------------------------- */

/* Opens a store with a size limit. Does not sync, which these tests do not depend on. */
static void open_limited(Place *place, uint64_t size_max_bytes) {
        StoreConfig config = place_config(place);

        config.size_max_bytes = size_max_bytes;
        config.is_volatile = true;
        place_open_with(place, &config);
}

/* Stores results with documents of this size, one per submission. */
static uint64_t put_large(Store *store, uint64_t first, uint64_t n, size_t n_bytes) {
        char *text = malloc(n_bytes + 1);
        uint64_t n_done = 0;

        assert_non_null(text);
        memset(text, 'x', n_bytes);
        text[n_bytes] = '\0';
        for (uint64_t i = first; i < first + n; i++) {
                Item item;

                item_make(&item, "PiMatmul", "tensorflow", i);
                item.result[0].value = (Value){ .type = VALUE_STRING, .string = text };
                item.submission.time_ms = i;
                n_done += put_one(store, &item.submission, i) == STORE_DONE;
        }
        free(text);
        return n_done;
}

static void at_the_size_limit_the_oldest_results_go(void **state) {
        Place *place = *state;
        StoreStats stats;
        ResultRow row;
        uint64_t n;

        open_limited(place, 4 * MIB);
        assert_int_equal(put_large(place->store, 1, 8000, 2000), 8000);

        store_stats(place->store, &stats);
        assert_true(stats.size_bytes <= 4 * MIB);
        assert_true(stats.n_rows_removed > 4000);
        assert_int_equal(stats.n_commit_failures, 0);

        n = count_results(place->reader, &(ResultFilter){});
        assert_int_equal(n, 8000 - stats.n_rows_removed);
        assert_true(n > 500);
        assert_int_equal(result_reader_list(place->reader, &(ResultFilter){}), 0);
        for (uint64_t i = 0; i < n; i++) {
                assert_int_equal(result_reader_next(place->reader, &row), 0);
                assert_int_equal(id_number(row.id), 8000 - i);
        }
}

static void put_sample(Store *store, uint64_t begin_ms) {
        assert_int_equal(store_put(store, store_node_pack(begin_ms, 1000, &BYTES("one point"))), 0);
}

static uint64_t count_samples(Reader *reader) {
        NodeSampleRow row;
        uint64_t n = 0;

        assert_int_equal(store_node_list(reader, 0, 0), 0);
        while (store_node_next(reader, &row) == 0)
                n++;
        return n;
}

static uint64_t count_jobs(Reader *reader, const char *job_state) {
        ListedJob row;
        uint64_t n = 0;

        assert_int_equal(job_reader_list(reader, &(JobFilter){ .state = job_state }), 0);
        while (job_reader_next(reader, &row) == 0)
                n++;
        return n;
}

static void put_job(Store *store, const char *id, uint64_t begin_ms, bool is_over) {
        JobInfo info = { .uid = 1000 };
        StoreJobEnd row = {
                .job = id,
                .state = JOB_FINISHED,
                .end_realtime_ms = begin_ms + 1,
                .end = &(JobEnd){},
                .timeline = &BYTES("points"),
        };

        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        assert_int_equal(store_put(store, pack_begin_row(&info, begin_ms, "b", "w", "m", cookie_of(1))), 0);
        assert_int_equal(outcome_of(store, 1), STORE_DONE);
        if (!is_over)
                return;
        assert_int_equal(store_put(store, job_rows_pack_end(&row, cookie_of(2))), 0);
        assert_int_equal(outcome_of(store, 2), STORE_DONE);
}

static void samples_are_removed_before_results_and_running_jobs_stay(void **state) {
        Place *place = *state;

        open_limited(place, 4 * MIB);
        put_job(place->store, "running", 1, false);
        put_job(place->store, "over", 2, true);
        for (uint64_t i = 1; i <= 1000; i++)
                put_sample(place->store, i);
        assert_int_equal(put_large(place->store, 1, 4000, 2000), 4000);

        assert_int_equal(count_samples(place->reader), 0);
        assert_int_equal(count_jobs(place->reader, "running"), 1);
        assert_int_equal(count_jobs(place->reader, "finished"), 1);
}

static void a_row_larger_than_the_store_fails_and_says_why(void **state) {
        Place *place = *state;
        StoreStats stats;

        open_limited(place, 2 * MIB);
        assert_int_equal(put_large(place->store, 1, 1, 1000), 1);
        assert_int_equal(put_large(place->store, 2, 1, 3 << 20), 0);
        store_stats(place->store, &stats);
        assert_false(stats.is_writable);
        assert_string_equal(stats.error, "store is full: limit [store] max_size reached");
        assert_int_equal(stats.n_commit_failures, 1);

        assert_int_equal(put_large(place->store, 3, 1, 1000), 1);
        store_stats(place->store, &stats);
        assert_true(stats.is_writable);
        assert_string_equal(stats.error, "");
}

static void a_lowered_limit_gives_space_back(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        StoreStats stats;

        open_limited(place, 64 * MIB);
        assert_int_equal(put_large(place->store, 1, 8000, 2000), 8000);
        store_stats(place->store, &stats);
        assert_true(stats.size_bytes > 16 * MIB);

        config.size_max_bytes = 4 * MIB;
        store_configure(place->store, &config);
        EVENTUALLY((store_stats(place->store, &stats), stats.size_bytes <= 4 * MIB));
        assert_true(count_results(place->reader, &(ResultFilter){}) > 500);
        assert_int_equal(put_large(place->store, 9000, 100, 2000), 100);
}

static uint64_t now_ms(void) {
        return clock_realtime_ns() / NS_PER_MS;
}

static void rows_expire_by_kind(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        uint64_t old_ms = now_ms() - 3600 * 1000, new_ms = now_ms();
        IndicatorRow indicator;
        Item item;

        open_limited(place, config.size_max_bytes);
        for (uint64_t n = 1; n <= 1500; n++)
                assert_int_equal(put_number(place->store, n, old_ms), STORE_DONE);
        item_make(&item, "PiConv2D", "pytorch", 5000);
        item.submission.time_ms = new_ms;
        assert_int_equal(put_one(place->store, &item.submission, 1), STORE_DONE);
        put_job(place->store, "old", old_ms, true);
        put_job(place->store, "old-running", old_ms, false);
        put_job(place->store, "new", new_ms, true);
        for (uint64_t i = 0; i < 700; i++)
                put_sample(place->store, old_ms + i);
        put_sample(place->store, new_ms);

        config.keep_results_ns = 60 * NS_PER_S;
        config.keep_samples_ns = 60 * NS_PER_S;
        store_configure(place->store, &config);
        EVENTUALLY(count_results(place->reader, &(ResultFilter){}) == 1 && count_samples(place->reader) == 1);
        assert_int_equal(count_jobs(place->reader, NULL), 3);

        config.keep_jobs_ns = 60 * NS_PER_S;
        store_configure(place->store, &config);
        EVENTUALLY(count_jobs(place->reader, NULL) == 2);
        assert_int_equal(count_jobs(place->reader, "running"), 1);

        /* A name without results is removed; the count of the other is correct. */
        assert_int_equal(indicator_reader_list(place->reader), 0);
        assert_int_equal(indicator_reader_next(place->reader, &indicator), 0);
        assert_string_equal(indicator.name, "PiConv2D");
        assert_int_equal(indicator.n_results, 1);
        assert_int_equal(indicator_reader_next(place->reader, &indicator), READER_END);

        /* The name may be used again. */
        assert_int_equal(put_number(place->store, 1, new_ms), STORE_DONE);
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .name = "PiMatmul" }), 1);

        /* A timeline is removed with its job. */
        place_close(place);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM timeline"), 3);
}

/* A short checkpoint_interval does not fill the store with the node's history. */
static void history_beyond_its_share_is_removed(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        NodeSampleRow row;

        open_limited(place, 16 * MIB);
        for (uint64_t i = 0; i < 9000; i++)
                put_sample(place->store, i);
        EVENTUALLY(store_node_list(place->reader, 8999, 0) == 0 && store_node_next(place->reader, &row) == 0);
        config.size_max_bytes = 16 * MIB;
        store_configure(place->store, &config);
        EVENTUALLY(count_samples(place->reader) < 8000);
        assert_in_range(count_samples(place->reader), 7000, 8000);
}

/* The writer does nothing else during a step. */
static void large_rows_expire_in_smaller_steps(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        Retention retention = {};
        Database database;
        char path[PATH_MAX];
        bool has_more = true;

        open_limited(place, 64 * MIB);
        assert_int_equal(put_large(place->store, 1, 40, 200000), 40);
        place_close(place);
        place_path(place, "perfd.db", path);
        assert_int_equal(opening_open_file(path, &database), 0);
        config.keep_results_ns = 60 * NS_PER_S;
        assert_int_equal(retention_configure(&retention, &database, &config), 0);
        for (size_t i = 0; i < EXPIRY_TABLES_MAX; i++)
                retention.expiry.tables[i] = (ExpiryTable){ .period_end_ns = UINT64_MAX,
                                                            .counting_ns = UINT64_MAX,
                                                            .n_left = 1000 };
        for (uint64_t n = 0; has_more; n = retention.n_removed) {
                assert_int_equal(retention_step(&retention, &database, clock_realtime_ns(), &has_more), 0);
                assert_in_range(retention.n_removed - n, 0, n == 0 ? 16 : 2);
        }
        assert_int_equal(retention.n_removed, 40);
        database_close(&database);
}

static void the_log_does_not_grow_while_rows_come(void **state) {
        Place *place = *state;
        char path[PATH_MAX];
        struct stat st;

        open_limited(place, 16 * MIB);
        assert_int_equal(put_large(place->store, 1, 10000, 1000), 10000);
        place_path(place, "perfd.db-wal", path);
        assert_int_equal(stat(path, &st), 0);
        assert_true((uint64_t)st.st_size <= 4 * MIB);
}

/* --- a full disk --------------------------------------------------------------------------------- */

/* Fills the file system; returns the descriptor of the file. */
static int fill_disk(const Place *place) {
        static const char block[4096];
        char path[PATH_MAX];
        int fd;

        place_path(place, "perfd-filler", path);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        while (write(fd, block, sizeof(block)) > 0)
                ;
        assert_int_equal(errno, ENOSPC);
        return fd;
}

static void a_full_disk_fails_puts_keeps_what_is_stored_and_heals(void **state) {
        Place *place = *state;
        uint64_t n_done = 0, n_failed = 0;
        scoped(closep) int fd = -1;
        StoreStats stats;

        /* Mount a small file system in a private namespace. */
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", place->directory, "tmpfs", 0, "size=8m") < 0)
                skip(); /* needs root, and / as a mount point, to mount a file system */

        place_open(place);
        assert_int_equal(put_large(place->store, 1, 100, 1000), 100);
        fd = fill_disk(place);
        for (uint64_t n = 101; n_failed < 20; n++) {
                uint64_t n_new = put_large(place->store, n, 1, 1000);

                n_done += n_new;
                n_failed += 1 - n_new;
                assert_true(n < 5000);
        }
        store_stats(place->store, &stats);
        assert_false(stats.is_writable);
        assert_string_not_equal(stats.error, "");
        assert_null(strstr(stats.error, "max_size"));
        assert_int_equal(stats.n_commit_failures, n_failed);
        assert_int_equal(stats.n_rows_removed, 0);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 100 + n_done);

        /* Must work without store_put(): clients do not retry while the store is not writable. */
        assert_int_equal(ftruncate(fd, 0), 0);
        EVENTUALLY((store_stats(place->store, &stats), stats.is_writable));
        assert_string_equal(stats.error, "");
        assert_int_equal(put_large(place->store, 10000, 100, 1000), 100);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 200 + n_done);

        place_close(place);
        place_open(place);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 200 + n_done);
        closep(&fd);
        fd = -1;
        place_close(place);
        assert_int_equal(umount(place->directory), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup_closed, place_teardown)
                TEST(a_second_perfd_waits_until_the_first_has_ended),
                TEST(a_missing_directory_is_an_error),
                TEST(a_file_of_a_later_perfd_is_refused_and_not_touched),
                TEST(a_file_of_a_newer_library_is_refused_and_not_touched),
                TEST(opening_again_changes_nothing),
                TEST(an_invalid_database_file_is_renamed),
                TEST(a_database_of_something_else_is_put_aside),
                TEST(a_damaged_schema_is_put_aside),
                TEST(a_statement_that_fails_is_not_damage),
                TEST(the_next_damaged_file_is_put_aside_after_a_minute),
                TEST(three_damaged_files_are_kept),
                TEST(a_damaged_table_is_put_aside),
                TEST(a_file_cut_short_is_put_aside),
                TEST(an_empty_file_is_a_new_store),
                TEST(at_the_size_limit_the_oldest_results_go),
                TEST(samples_are_removed_before_results_and_running_jobs_stay),
                TEST(a_row_larger_than_the_store_fails_and_says_why),
                TEST(a_lowered_limit_gives_space_back),
                TEST(rows_expire_by_kind),
                TEST(history_beyond_its_share_is_removed),
                TEST(large_rows_expire_in_smaller_steps),
                TEST(the_log_does_not_grow_while_rows_come),
                TEST(a_full_disk_fails_puts_keeps_what_is_stored_and_heals),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
