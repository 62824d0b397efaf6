/* SPDX-License-Identifier: Apache-2.0 */
/* A store whose database cannot be opened at startup, and becomes available later. */
/* tests: daemon/store/opening.c daemon/store/writer.c
 daemon/store/store.c */

#include "store/indicators/indicator_reader.h"
#include "store/indicators/result_reader.h"
#include "store/indicators/result_rows.h"
#include "store/jobs/job_reader.h"
#include "store/jobs/job_rows.h"
#include "store_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

static int teardown(void **state) {
        Place *place = *state;

        place_close(place);
        (void)umount2(place->directory, MNT_DETACH);
        place_remove(place);
        free(place);
        return 0;
}

/* Mounts a small file system in a namespace of this process. */
static void mount_small(const Place *place) {
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", place->directory, "tmpfs", 0, "size=2m") < 0)
                skip(); /* needs root, and / as a mount point, to mount a file system */
}

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

/* Opens a store without a database, for the given reason. */
static void open_late(Place *place, const char *reason) {
        scoped(job_reader_free_recoveryp) JobRecovery *recovery = NULL;
        scoped(freep) char *note = NULL;
        StoreConfig config = place_config(place);
        StoreStats stats;

        assert_int_equal(store_open(&place->store, &config, &note), 0);
        assert_int_equal(
                reader_new(&place->reader, store_path(place->store), store_wal_barrier(place->store), 10 * NS_PER_S),
                0);
        assert_non_null(note);
        assert_non_null(strstr(note, store_path(place->store)));
        assert_non_null(strstr(note, reason));
        assert_true(store_is_late(place->store));

        store_stats(place->store, &stats);
        assert_false(stats.is_writable);
        assert_non_null(strstr(stats.error, "cannot open"));
        assert_non_null(strstr(stats.error, reason));

        assert_int_equal(
                job_reader_recover(store_is_late(place->store) ? NULL : store_path(place->store), NULL, &recovery), 0);
        assert_null(recovery->meter);
        assert_int_equal(recovery->n_jobs, 0);
}

static void assert_takes_nothing(Place *place) {
        StoreStats stats;

        assert_int_equal(put_number(place->store, 1, 1), STORE_FAILED);
        store_configure(place->store, &(StoreConfig){ .queue_rows_max = 1000, .queue_bytes_max = 1 << 20 });
        assert_int_equal(put_number(place->store, 1, 1), STORE_FAILED);
        store_stats(place->store, &stats);
        assert_false(stats.is_writable);
        assert_int_equal(stats.n_commits, 0);
        assert_int_equal(stats.n_commit_failures, 2);
        assert_int_equal(indicator_reader_list(place->reader), READER_BROKEN);
}

/* Must work without store_put(): clients do not retry while the store is not writable. */
static void assert_heals(Place *place) {
        StoreStats stats;

        EVENTUALLY((store_stats(place->store, &stats), stats.is_writable));
        assert_string_equal(stats.error, "");
        assert_true(stats.size_bytes > 0);
        assert_int_equal(put_number(place->store, 1, 1), STORE_DONE);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 1);

        place_close(place);
        place_open(place);
        assert_false(store_is_late(place->store));
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 1);
}

static void a_full_disk_at_the_start_is_waited_for(void **state) {
        Place *place = *state;
        scoped(closep) int fd = -1;

        mount_small(place);
        fd = fill_disk(place);
        open_late(place, "No space left on device");
        assert_takes_nothing(place);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_heals(place);
}

static void a_disk_without_inodes_at_the_start_is_waited_for(void **state) {
        Place *place = *state;

        mount_small(place);
        assert_int_equal(mount(NULL, place->directory, NULL, MS_REMOUNT, "nr_inodes=1"), 0);
        open_late(place, "No space left on device");
        assert_takes_nothing(place);
        assert_int_equal(mount(NULL, place->directory, NULL, MS_REMOUNT, "nr_inodes=100"), 0);
        assert_heals(place);
}

static void a_read_only_file_system_at_the_start_is_waited_for(void **state) {
        Place *place = *state;

        mount_small(place);
        assert_int_equal(mount(NULL, place->directory, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
        open_late(place, "Read-only file system");
        assert_takes_nothing(place);
        assert_int_equal(mount(NULL, place->directory, NULL, MS_REMOUNT, NULL), 0);
        assert_heals(place);
}

static void a_corrupt_file_on_a_full_disk_is_put_aside_first(void **state) {
        Place *place = *state;
        scoped(closep) int fd = -1, file = -1;
        char path[PATH_MAX], junk[8192];

        mount_small(place);
        memset(junk, 'x', sizeof(junk));
        place_path(place, "perfd.db", path);
        file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(file, junk, sizeof(junk)), sizeof(junk));
        fd = fill_disk(place);

        open_late(place, "No space left on device; ");
        assert_true(place_find(place, "perfd.db.damaged-", path));
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_heals(place);
}

static void a_store_that_stays_without_a_database_closes(void **state) {
        Place *place = *state;
        scoped(closep) int fd = -1;
        Item item;

        mount_small(place);
        fd = fill_disk(place);
        open_late(place, "No space left on device");
        item_make(&item, "PiMatmul", "tensorflow", 1);
        assert_int_equal(store_put(place->store, result_rows_pack(&item.submission, 1, &(Peer){ .uid = 1000 }, 5000,
                                                                  (StoreCookie){})), 0);
        place_close(place);
}

/* Locks the file exclusively, as a user's sqlite3 shell might. */
static sqlite3 *hold(const Place *place) {
        char path[PATH_MAX];
        sqlite3 *db;

        place_path(place, "perfd.db", path);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", NULL, NULL, NULL),
                         SQLITE_OK);
        return db;
}

static void jobs_that_were_running_before_a_late_start_are_interrupted(void **state) {
        Place *place = *state;
        StoreCheckpoint checkpoint = { "checked", "window" };
        JobEnd end = { .has_exit_status = true };
        StoreJobEnd over = { .job = "over", .state = JOB_FINISHED, .end_realtime_ms = 20, .end = &end };
        StoreStats stats;
        sqlite3 *other;
        JobRow row;

        place_open(place);
        assert_int_equal(store_put(place->store, pack_begin_row(&(JobInfo){ .id = "checked" }, 10, "b", "w", "m",
                                                                     cookie_of(1))), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
        assert_int_equal(store_put(place->store, pack_begin_row(&(JobInfo){ .id = "over" }, 10, "b", "w", "m",
                                                                     cookie_of(2))), 0);
        assert_int_equal(outcome_of(place->store, 2), STORE_DONE);
        assert_int_equal(store_put(place->store, job_rows_pack_end(&over, cookie_of(3))), 0);
        assert_int_equal(outcome_of(place->store, 3), STORE_DONE);
        assert_int_equal(store_put(place->store, job_rows_pack_checkpoints(&checkpoint, 1, "b", "m", 99)), 0);
        place_close(place);

        other = hold(place);
        open_late(place, "busy");
        sqlite3_close(other);
        EVENTUALLY((store_stats(place->store, &stats), stats.is_writable));

        assert_int_equal(job_reader_find(place->reader, "checked", &row), 0);
        assert_int_equal(row.view.state, JOB_INTERRUPTED);
        assert_int_equal(row.view.end_realtime_ms, 99);
        assert_non_null(strstr(row.view.info.note, "could not open its database"));
        assert_false(row.has_metrics);
        assert_int_equal(job_reader_find(place->reader, "over", &row), 0);
        assert_int_equal(row.view.state, JOB_FINISHED);
        assert_string_equal(row.view.info.note, "");

        /* The end of the job can still be stored. */
        assert_int_equal(store_put(place->store, job_rows_pack_amend("checked", ROOT, &end, 0, 0, 1, cookie_of(4))), 0);
        assert_int_equal(outcome_of(place->store, 4), STORE_DONE);
}

static void a_directory_that_may_not_be_written_is_an_error(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        bool is_root = geteuid() == 0;
        char *note;
        int r;

        if (is_root)
                assert_int_equal(seteuid(65534), 0);
        else
                assert_int_equal(chmod(place->directory, 0500), 0);
        r = store_open(&place->store, &config, &note);
        if (is_root)
                assert_int_equal(seteuid(0), 0);
        else
                assert_int_equal(chmod(place->directory, 0700), 0);
        assert_int_equal(r, -EACCES);
        assert_null(note);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup_closed, teardown)
                TEST(a_full_disk_at_the_start_is_waited_for),
                TEST(a_disk_without_inodes_at_the_start_is_waited_for),
                TEST(a_read_only_file_system_at_the_start_is_waited_for),
                TEST(a_corrupt_file_on_a_full_disk_is_put_aside_first),
                TEST(a_store_that_stays_without_a_database_closes),
                TEST(jobs_that_were_running_before_a_late_start_are_interrupted),
                TEST(a_directory_that_may_not_be_written_is_an_error),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
