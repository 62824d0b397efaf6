/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants of the reader's connection, regardless of the outcome of a query. */

#include "store_fixture.h"

#include "store/indicators/indicator_reader.h"
#include "store/read/read_connection.h"

static int64_t ask_pragma(ReadConnection *connection, const char *sql) {
        sqlite3_stmt *statement;
        int64_t v;

        assert_int_equal(sqlite3_prepare_v2(connection->db, sql, -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        v = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        return v;
}

STATEMENT any = SQL("SELECT text FROM term", 1);

/* The file may be locked for repair or copying when a thread queries it for the first time. */
static void a_failed_connection_is_made_again(void **state) {
        Place *place = *state;
        char path[PATH_MAX];
        ReadConnection connection;
        const Prepared *row;
        sqlite3 *other;

        place_close(place);
        place_path(place, "perfd.db", path);
        other = place_open_database(place, SQLITE_OPEN_READWRITE);
        assert_int_equal(sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", NULL, NULL, NULL),
                         SQLITE_OK);

        assert_int_equal(read_connection_init(&connection, path, NULL, 10 * NS_PER_S), 0);
        assert_int_equal(read_connection_begin(&connection, &any, NULL, 0), READER_TIMEOUT);
        sqlite3_close(other);
        assert_int_equal(read_connection_begin(&connection, &any, NULL, 0), 0);
        assert_int_equal(read_connection_step(&connection, &row), READER_END);
        assert_int_equal(ask_pragma(&connection, "PRAGMA temp_store"), 2); /* in memory */
        read_connection_deinit(&connection);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_failed_connection_is_made_again, place_setup, place_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
