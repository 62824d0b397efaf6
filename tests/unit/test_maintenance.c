/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of perfctl db, on an open store and on a damaged copy. */
/* tests: daemon/store/maintenance.c daemon/db.c */

#include "db.h"
#include "store/maintenance.h"
#include "store_fixture.h"

#include <sys/stat.h>

#define N_RESULTS 500

static void fill(Place *place) {
        place_open(place);
        for (uint64_t n = 1; n <= N_RESULTS; n++)
                assert_int_equal(put_number(place->store, n, n), STORE_DONE);
}

static void an_open_store_is_checked_and_copied(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        char copy[PATH_MAX], path[PATH_MAX];
        Place *place = *state;
        struct stat st;

        fill(place);
        place_path(place, "perfd.db", path);
        place_path(place, "perfd.copy", copy);
        assert_int_equal(maintenance_check(path, &text), 0);
        assert_non_null(strstr(text.text, "result       500 rows\n"));
        assert_non_null(strstr(text.text, "no damage found"));

        buffer_clear(&text);
        assert_int_equal(maintenance_backup(path, copy, &text), 0);
        assert_int_equal(stat(copy, &st), 0);
        buffer_clear(&text);
        assert_int_equal(maintenance_check(copy, &text), 0);
        assert_non_null(strstr(text.text, "result       500 rows\n"));
        assert_int_equal(put_number(place->store, N_RESULTS + 1, 1), STORE_DONE);

        buffer_clear(&text);
        assert_int_equal(maintenance_backup(path, copy, &text), MAINTENANCE_FAILED);
        assert_non_null(strstr(text.text, "exists already"));
        buffer_clear(&text);
        assert_int_equal(maintenance_backup("/nonexistent/perfd.db", "/nonexistent/copy", &text), MAINTENANCE_FAILED);
}

static void damage_is_found_and_salvaged_into_a_new_file(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        char path[PATH_MAX], salvaged[PATH_MAX];
        Place *place = *state;
        off_t page;

        fill(place);
        place_path(place, "perfd.db", path);
        place_path(place, "perfd.new", salvaged);
        assert_int_equal(maintenance_salvage(path, salvaged, &text), MAINTENANCE_FAILED);
        assert_non_null(strstr(text.text, "perfd is using this file"));
        place_close(place);

        page = ask_place(place, "SELECT rootpage FROM sqlite_schema WHERE name = 'result_by_name'");
        write_at(place, (page - 1) * 4096, (char[4096]){}, 4096);
        buffer_clear(&text);
        assert_int_equal(maintenance_check(path, &text), MAINTENANCE_DAMAGED);
        buffer_clear(&text);
        assert_int_equal(maintenance_salvage(path, salvaged, &text), 0);
        assert_non_null(strstr(text.text, "rows copied to"));
        buffer_clear(&text);
        assert_int_equal(maintenance_check(salvaged, &text), 0);
        assert_non_null(strstr(text.text, "result       500 rows\n"));
        buffer_clear(&text);
        assert_int_equal(maintenance_salvage("/nonexistent/perfd.db", "/nonexistent/new", &text), MAINTENANCE_FAILED);
}

static void an_invalid_database_file_is_damaged(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        char path[PATH_MAX], copy[PATH_MAX], junk[8192];

        memset(junk, 'x', sizeof(junk));
        write_at(*state, 0, junk, sizeof(junk));
        place_path(*state, "perfd.db", path);
        assert_int_equal(maintenance_check(path, &text), MAINTENANCE_DAMAGED);
        place_path(*state, "perfd.copy", copy);
        assert_int_equal(maintenance_backup(path, copy, &text), MAINTENANCE_DAMAGED);
        assert_int_equal(access(copy, F_OK), -1);
}

static void the_command_line_selects_the_command(void **state) {
        char copy[PATH_MAX], salvaged[PATH_MAX], path[PATH_MAX];
        Place *place = *state;
        mode_t mask = umask(0022);

        fill(place);
        place_path(place, "perfd.copy", copy);
        place_path(place, "perfd.new", salvaged);
        place_path(place, "perfd.db", path);
        assert_int_equal(db_run(place->directory, "check", (char *[]){ NULL }), 0);
        assert_int_equal(db_run(place->directory, "check", (char *[]){ path, NULL }), 0);
        assert_int_equal(db_run(place->directory, "backup", (char *[]){ copy, NULL }), 0);
        assert_int_equal(db_run(place->directory, "salvage", (char *[]){ copy, salvaged, NULL }), 0);
        assert_int_equal(db_run(place->directory, "salvage", (char *[]){ copy, salvaged, NULL }), 1);
        assert_int_equal(db_run(place->directory, "backup", (char *[]){ NULL }), 2);
        assert_int_equal(db_run(place->directory, "repair", (char *[]){ NULL }), 2);
        umask(mask);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup_closed, place_teardown)
                TEST(an_open_store_is_checked_and_copied),
                TEST(damage_is_found_and_salvaged_into_a_new_file),
                TEST(an_invalid_database_file_is_damaged),
                TEST(the_command_line_selects_the_command),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
