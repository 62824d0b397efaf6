/* SPDX-License-Identifier: Apache-2.0 */
/* The work of registering a model is that of the results of its name: counted in steps of SQLite's virtual machine. */
/* tests: daemon/store/catalog/indexing.c daemon/store/indicators/model_rows.c */

#include "run_results_fixture.h"

#include "store/catalog/catalog.h"
#include "store/catalog/indexing.h"
#include "store/indicators/model_rows.h"
#include "store/opening.h"

#define N_OWN 600 /* results of the name whose model is registered */

/* A database with N_OWN results of PiMatmul by three users, which lie among two results of each of n_others other
 * names. */
typedef struct Fixture {
        Place place;
        Database database;
        Catalog *catalog;
} Fixture;

/* The models of a registration of one. */
#define ONE(model) .models = (const IndicatorModel *const[]){ model }, .n_models = 1

static void fill(const Place *place, int n_others) {
        char sql[2048];
        int n_rows = 2 * n_others + N_OWN;

        (void)snprintf(sql, sizeof(sql),
                       "INSERT INTO term (id, text) VALUES (1, 'PiMatmul'), (2, 'c');"
                       "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                       " INSERT INTO term (id, text) SELECT 2 + i, 'other-' || i FROM n;"
                       "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                       " INSERT INTO result (row, id, time_ms, name, component, uid, document)"
                       " SELECT i, randomblob(16), 5000 + (i * 7919) %% 100000,"
                       "  iif((i - 1) %% %d = 0 AND (i - 1) / %d < %d, 1, 3 + i %% %d), 2, 1000 + i %% 3,"
                       "  '{\"@parameters\":{\"matrix_size\":' || (i %% 4) ||"
                       " '},\"@result\":{\"rate\":2.5},\"name\":\"x\"}' FROM n;"
                       "INSERT INTO indicator (name, component, uid, n_results, latest_ms)"
                       " SELECT name, component, uid, count(*), max(time_ms) FROM result GROUP BY name, component,"
                       " uid;",
                       n_others, n_rows, n_rows / N_OWN, n_rows / N_OWN, N_OWN, n_others);
        change_place(place, sql);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM result WHERE name = 1"), N_OWN);
}

static void set_up(Fixture *f, int n_others) {
        char path[PATH_MAX];

        *f = (Fixture){};
        place_make(&f->place);
        place_path(&f->place, "perfd.db", path);
        assert_int_equal(opening_open_file(path, &f->database), 0);
        database_close(&f->database);
        fill(&f->place, n_others);
        assert_int_equal(opening_open_file(path, &f->database), 0);
        assert_int_equal(database_exec(&f->database, "PRAGMA synchronous = OFF"), 0);
        assert_int_equal(catalog_new(&f->catalog, NULL), 0);
}

static void tear_down(Fixture *f) {
        f->catalog = catalog_free(f->catalog);
        database_close(&f->database);
        place_remove(&f->place);
}

/* Steps since the last call. */
static int64_t count_steps(Fixture *f) {
        int64_t n = 0;

        for (size_t i = 0; i < STATEMENT_CACHE_SLOTS; i++) {
                sqlite3_stmt *handle = f->database.statements.slots[i].handle;

                n += handle ? sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_VM_STEP, 1) : 0;
        }
        return n;
}

/*
 * Registers n_models models as an administrator does, the first of a name with results, and indexes until nothing is
 * left. Returns the steps of both.
 */
static int64_t count_registering(Fixture *f, PropertyIndex index, size_t n_models) {
        scoped(rowset_freep) RowSet *set = NULL;
        Property properties[5];
        IndicatorModel model = matmul_model(properties), further = model;
        bool has_more = true;
        int r = 0;

        properties[0].index = index;
        further.name = "without-results";
        set = model_rows_pack(
                &(StoreModels){ (const IndicatorModel *const[]){ &model, &further }, n_models, .by_admin = true }, 1,
                cookie_of(1));
        assert_non_null(set);
        (void)count_steps(f);
        assert_int_equal(database_begin(&f->database), 0);
        assert_int_equal(set->kind->apply(set, &f->database, f->catalog), 0);
        assert_int_equal(database_commit(&f->database), 0);

        for (int i = 0; r == 0 && has_more; i++) {
                has_more = false;
                assert_true(i < 100000);
                assert_int_equal(database_begin(&f->database), 0);
                r = indexing_step(&f->database, f->catalog, &has_more);
                assert_int_equal(r, 0);
                assert_int_equal(database_commit(&f->database), 0);
                catalog_forget(f->catalog);
        }
        return count_steps(f);
}

static void check_registering(size_t n_models) {
        static const int n_others[] = { 300, 6600 };
        int64_t n_first[2], n_again[2];

        for (size_t i = 0; i < N_ELEMENTS(n_others); i++) {
                Fixture f;

                set_up(&f, n_others[i]);
                n_first[i] = count_registering(&f, INDEX_INT, n_models);
                assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM point"), N_OWN);
                n_again[i] = count_registering(&f, INDEX_NONE, n_models);
                assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM point"), N_OWN);
                assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM indicator WHERE indexed_from = 0"), 3);
                assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM indexing"), 0);
                assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM shape"), 1);
                print_message("%d other names: %ld steps, registered again %ld steps\n", n_others[i], (long)n_first[i],
                              (long)n_again[i]);
                tear_down(&f);
        }

        /* Searches become deeper by a level. */
        assert_true(n_first[1] < n_first[0] + n_first[0] / 10);
        assert_true(n_again[1] < n_again[0] + n_again[0] / 10);
}

static void registering_costs_the_results_of_the_name(void **state) {
        (void)state;
        check_registering(1);
}

static void registering_several_models_costs_the_results_of_their_names(void **state) {
        (void)state;
        check_registering(2);
}

/* A name that is begun again, because another model came or rows were salvaged, leaves no result without its point. */
static void a_change_while_a_name_is_indexed_begins_the_name_again(void **state) {
        scoped(rowset_freep) RowSet *set = NULL;
        Property properties[5];
        IndicatorModel model = matmul_model(properties);
        bool has_more = false;
        Fixture f;

        (void)state;
        set_up(&f, 300);
        set = model_rows_pack(&(StoreModels){ ONE(&model), .by_admin = true }, 1, cookie_of(1));
        assert_int_equal(set->kind->apply(set, &f.database, f.catalog), 0);
        assert_int_equal(indexing_step(&f.database, f.catalog, &has_more), 0);
        assert_true(has_more);
        assert_int_equal(ask_place(&f.place, "SELECT name FROM indexing"), 1);

        /* A row with the latest time, as salvage adds it. */
        change_place(&f.place, "INSERT INTO result (row, id, time_ms, name, component, uid, document)"
                               " VALUES (100000, randomblob(16), 1000000, 1, 2, 1000, '{}');"
                               "UPDATE indicator SET indexed_from = 100001 WHERE name = 1 AND uid = 1000");
        assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM indexing"), 0);
        for (int i = 0; has_more; i++) {
                assert_true(i < 100);
                assert_int_equal(indexing_step(&f.database, f.catalog, &has_more), 0);
                catalog_forget(f.catalog);
        }
        assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM point"), N_OWN + 1);
        assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM result WHERE name = 1 AND series IS NULL"), 0);
        tear_down(&f);
}

/* --- a name with many components ------------------------------------------------------------------ */

#define N_COMPONENTS 3000
#define N_COMPONENTS_FEW 600 /* several steps */

/* A result of each component of a name, whose parameter is the component's number modulo 4. */
static void set_up_components(Fixture *f, int n_components) {
        char sql[1024];

        set_up(f, 300);
        (void)snprintf(sql, sizeof(sql),
                       "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                       " INSERT INTO term (id, text) SELECT 100000 + i, 'component-' || i FROM n;"
                       "INSERT INTO result (row, id, time_ms, name, component, uid, document)"
                       " SELECT id, randomblob(16), 5000 + id, 1, id, 1000,"
                       "  '{\"@parameters\":{\"matrix_size\":' || (id %% 4) ||"
                       " '},\"@result\":{\"rate\":2.5},\"name\":\"PiMatmul\"}'"
                       " FROM term WHERE id > 100000;"
                       "INSERT INTO indicator (name, component, uid, n_results, latest_ms)"
                       " SELECT 1, id, 1000, 1, 5000 + id FROM term WHERE id > 100000",
                       n_components);
        change_place(&f->place, sql);
}

/* Applies the set and frees it. Returns the number of steps. */
static int64_t apply_set(Fixture *f, RowSet *taken) {
        scoped(rowset_freep) RowSet *set = taken;

        assert_non_null(set);
        (void)count_steps(f);
        assert_int_equal(database_begin(&f->database), 0);
        assert_int_equal(set->kind->apply(set, &f->database, f->catalog), 0);
        assert_int_equal(set->outcome, STORE_DONE);
        assert_int_equal(database_commit(&f->database), 0);
        return count_steps(f);
}

static int64_t apply_model(Fixture *f, const IndicatorModel *model) {
        return apply_set(f, model_rows_pack(&(StoreModels){ ONE(model), .by_admin = true }, 1, cookie_of(1)));
}

/* Returns the number of steps of the longest transaction. */
static int64_t work(Fixture *f, size_t n_max, bool *ret_has_more) {
        int64_t n_longest = 0;

        *ret_has_more = true;
        for (size_t i = 0; *ret_has_more && i < n_max; i++) {
                int64_t n;

                assert_int_equal(database_begin(&f->database), 0);
                assert_int_equal(indexing_step(&f->database, f->catalog, ret_has_more), 0);
                assert_int_equal(database_commit(&f->database), 0);
                catalog_forget(f->catalog);
                n = count_steps(f);
                n_longest = n > n_longest ? n : n_longest;
        }
        return n_longest;
}

/* Counts the results of the name with matrix_size=2. */
static int64_t count_found(Reader *reader) {
        const Condition condition = { .key = "matrix_size",
                                      .relation = CONDITION_EQUAL,
                                      .value = "2",
                                      .is_number = true,
                                      .number = 2,
                                      .exact = { .type = VALUE_INT, .integer = 2 } };
        const char *const numbers[] = { "rate" };
        const PointFilter filter = {
                .name = "PiMatmul", .conditions = &condition, .n_conditions = 1, .numbers = numbers, .n_numbers = 1
        };
        scoped(points_freep) Points *points = NULL;
        PointRow row;
        int64_t n = 0;
        int r;

        assert_int_equal(points_new(&points, reader, &filter), 0);
        while ((r = points_next(points, &row)) == 0)
                n += row.numbers[0] == 2.5;
        assert_int_equal(r, READER_END);
        return n;
}

/* A transaction reads a bounded number of components, whether the name is registered, registered again, removed or
 * declared. */
static void a_model_of_many_components_is_applied_in_steps(void **state) {
        const char *const changes[] = { "registered", "again", "removed" };
        Property properties[5];
        IndicatorModel model = matmul_model(properties);
        Fixture f;

        (void)state;
        set_up_components(&f, N_COMPONENTS);
        for (size_t i = 0; i < N_ELEMENTS(changes); i++) {
                int64_t n_at_once, n_longest;
                bool has_more;

                properties[0].index = i == 0 ? INDEX_INT : INDEX_NONE;
                n_at_once = i < 2 ? apply_model(&f, &model)
                                  : apply_set(&f, model_rows_pack_removal("PiMatmul", NULL, MODEL_ROWS_OF_ALL,
                                                                          cookie_of(1)));
                n_longest = work(&f, 1000, &has_more);
                print_message("%s: %ld steps at once, then up to %ld\n", changes[i], (long)n_at_once, (long)n_longest);
                assert_false(has_more);
                assert_true(n_at_once < 60000 && n_longest < 150000);
                assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM shape_update"), 0);
                assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM indexing"), 0);
                assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM indicator WHERE indexed_from = 0"),
                                 N_COMPONENTS + 3);
                assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM point"), N_COMPONENTS + N_OWN);
                assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM shape"), 1);
        }
        tear_down(&f);
}

/* While components still have the former shape or none, queries find the same results. */
static void queries_are_right_while_components_change_their_shape(void **state) {
        Property properties[5];
        IndicatorModel model = matmul_model(properties);
        scoped(reader_freep) Reader *reader = NULL;
        char path[PATH_MAX];
        int64_t n_expected;
        bool has_more;
        Fixture f;

        (void)state;
        set_up_components(&f, N_COMPONENTS_FEW);
        place_path(&f.place, "perfd.db", path);
        assert_int_equal(reader_new(&reader, path, NULL, 10 * NS_PER_S), 0);
        n_expected = count_found(reader);
        assert_true(n_expected >= N_COMPONENTS_FEW / 4);
        for (int i = 0; i < 3; i++) {
                properties[0].index = i == 1 ? INDEX_NONE : INDEX_INT;
                (void)apply_model(&f, &model);
                do {
                        assert_int_equal(count_found(reader), n_expected);
                        (void)work(&f, 5, &has_more);
                } while (has_more);
        }
        tear_down(&f);
}

/* A name that is registered again while its components change goes behind the names that wait, and begins again. */
static void a_name_that_is_registered_again_begins_again_behind_others(void **state) {
        Property properties[5];
        IndicatorModel model = matmul_model(properties), any = model;
        bool has_more;
        Fixture f;

        (void)state;
        set_up_components(&f, N_COMPONENTS);
        (void)apply_model(&f, &model);
        (void)work(&f, 3, &has_more);
        assert_true(ask_place(&f.place, "SELECT component FROM shape_update") > 100032);
        any.name = MODEL_ANY_NAME;
        (void)apply_model(&f, &any);
        properties[0].index = INDEX_NONE;
        (void)apply_model(&f, &model);
        assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM shape_update"), 2);
        assert_true(ask_place(&f.place, "SELECT component FROM shape_update WHERE name = last_name") < 100032);
        (void)work(&f, 1, &has_more);
        assert_true(ask_place(&f.place, "SELECT component FROM shape_update WHERE name = last_name") < 100032);
        (void)work(&f, 1000, &has_more);
        assert_false(has_more);
        assert_int_equal(ask_place(&f.place, "SELECT count(*) FROM indicator WHERE shape IS NULL OR indexed_from > 0"),
                         0);
        assert_int_equal(ask_place(&f.place, "SELECT count(DISTINCT shape) FROM indicator"), 2);
        tear_down(&f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(registering_costs_the_results_of_the_name),
                cmocka_unit_test(registering_several_models_costs_the_results_of_their_names),
                cmocka_unit_test(a_change_while_a_name_is_indexed_begins_the_name_again),
                cmocka_unit_test(a_model_of_many_components_is_applied_in_steps),
                cmocka_unit_test(queries_are_right_while_components_change_their_shape),
                cmocka_unit_test(a_name_that_is_registered_again_begins_again_behind_others),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
