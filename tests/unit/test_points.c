/* SPDX-License-Identifier: Apache-2.0 */
/* Selection of numbers by conditions: with an index, without, and while the index is built. */
/* tests: daemon/store/subject_states.c daemon/store/indicators/result_reader.c
 daemon/store/indicators/indicator_reader.c daemon/store/indicators/model_rows.c
 daemon/store/indicators/result_rows.c daemon/store/catalog/catalog.c daemon/store/catalog/indexing.c
 daemon/store/catalog/shape.c daemon/store/indicators/store_indicators.c */

#include "run_results_fixture.h"

#include "document/indicator_model.h"
#include "store/indicators/indicator_reader.h"
#include "store/indicators/model_rows.h"
#include "store/indicators/result_reader.h"

/* The models of a registration of one. */
#define ONE(model) .models = (const IndicatorModel *const[]){ model }, .n_models = 1

static const char *const questions[][4] = {
        {}, /* all results */
        { "matrix_size=512" },
        { "matrix_size=512.0" },
        { "matrix_size=5.12e2" },
        { "matrix_size>256" },
        { "matrix_size>=256", "matrix_size<1024" },
        { "matrix_size<=256" },
        { "matrix_size!=512" },
        { "matrix_size=many" },
        { "dtype=float32" },
        { "dtype=512" }, /* a string that looks like a number */
        { "dtype=512.0" },
        { "dtype=int \"8\"" },
        { "dtype>5" }, /* no string is greater than a number */
        { "reps=50", "dtype=float32", "matrix_size=1024" }, /* reps is not indexed */
        { "reps>50" },
        { "component=pytorch", "version=2.1" },
        { "version!=2.1" },
        { "@parameters.matrix_size=512", "component!=pytorch" },
        { "@parameters.component=pytorch" }, /* a parameter that does not exist */
        { "no_such_key=1" },
        { "no_such_key!=1" },
        { "matrix_size=512' OR 1=1 --" },
        { "matrix_size=512", "matrix_size=256" }, /* one of two */
        { "component=pytorch", "component=tensorflow", "matrix_size=512" },
};
#define N_QUESTIONS_HERE N_ELEMENTS(questions)

static void assert_same(const Sum *a, const Sum *b) {
        assert_int_equal(a->n, b->n);
        assert_int_equal(a->n_failed, b->n_failed);
        assert_int_equal(a->times, b->times);
        assert_true(fabs(a->rates - b->rates) <= 1e-9 * fabs(b->rates));
        assert_true(fabs(a->elapsed - b->elapsed) <= 1e-9 * fabs(b->elapsed));
}

/* Computes the sums from the documents, as without a model. */
static void ask_all(Reader *reader, Sum ret[static N_QUESTIONS_HERE]) {
        for (size_t i = 0; i < N_QUESTIONS_HERE; i++)
                ret[i] = sum_of(reader, questions[i], NULL);
}

static void assert_all_same(Reader *reader, const Sum expected[static N_QUESTIONS_HERE]) {
        Sum sums[N_QUESTIONS_HERE];

        ask_all(reader, sums);
        for (size_t i = 0; i < N_QUESTIONS_HERE; i++)
                assert_same(&sums[i], &expected[i]);
}

static void an_index_answers_as_the_documents_do(void **state) {
        Place *place = *state;
        Sum from_documents[N_QUESTIONS_HERE];
        Property properties[5];
        IndicatorModel model = matmul_model(properties);

        put_measured(place->store, 1, 181, NULL);
        ask_all(place->reader, from_documents);
        assert_int_equal(from_documents[0].n, 180);
        assert_int_equal(from_documents[0].n_failed, 18);
        assert_int_equal(from_documents[1].n, 60);
        assert_int_equal(from_documents[2].n, 60);
        assert_int_equal(from_documents[8].n, 0);
        assert_int_equal(from_documents[10].n, 60);
        assert_int_equal(from_documents[11].n, 0);
        assert_int_equal(from_documents[12].n, 60);
        assert_int_equal(from_documents[13].n, 0);
        assert_int_equal(from_documents[16].n, 90);
        assert_int_equal(from_documents[19].n, 0);
        assert_int_equal(from_documents[22].n, 0);
        assert_int_equal(from_documents[23].n, 120);
        assert_int_equal(from_documents[24].n, 60);
        assert_int_equal(sum_of(place->reader, NULL, "pytorch").n, 90);

        assert_int_equal(place_teardown(state) + place_setup_volatile(state), 0);
        place = *state;
        put_measured(place->store, 1, 181, &model);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM point"), 180);
        assert_int_equal(ask_place(place, "SELECT max(indexed_from) FROM indicator"), 0);
        assert_all_same(place->reader, from_documents);
        assert_int_equal(sum_of(place->reader, NULL, "pytorch").n, 90);
}

static void results_stored_before_their_model_are_indexed_later(void **state) {
        Place *place = *state;
        Sum expected[N_QUESTIONS_HERE];
        Property properties[5];
        IndicatorModel model = matmul_model(properties);

        put_measured(place->store, 1, 1000, NULL);
        ask_all(place->reader, expected);
        assert_int_equal(store_put(place->store, model_rows_pack(&(StoreModels){ ONE(&model), .uid = 1000 },
                                                                 clock_realtime_ns() / NS_PER_MS, cookie_of(5000))), 0);
        assert_int_equal(outcome_of(place->store, 5000), STORE_DONE);

        /* The results do not depend on indexing progress or a restart. */
        assert_all_same(place->reader, expected);
        place_close(place);
        place_open(place);
        assert_all_same(place->reader, expected);
        EVENTUALLY(ask_place(place, "SELECT max(indexed_from) FROM indicator") == 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM point"), 999);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM result WHERE series IS NULL"), 0);
        assert_all_same(place->reader, expected);
}

static void a_changed_model_causes_a_new_index(void **state) {
        Place *place = *state;
        Sum expected[N_QUESTIONS_HERE];
        Property properties[5];
        IndicatorModel model = matmul_model(properties);
        const IndicatorModel *models[] = { &model };

        put_measured(place->store, 1, 600, &model);
        ask_all(place->reader, expected);

        properties[0].index = INDEX_NONE;
        properties[2].index = INDEX_INT;
        assert_int_equal(store_put(place->store, model_rows_pack_declared(models, 1, clock_realtime_ns() / NS_PER_MS)),
                         0);
        EVENTUALLY(ask_place(place, "SELECT count(*) FROM property WHERE key = 'reps'") > 0 &&
                   ask_place(place, "SELECT max(indexed_from) FROM indicator") == 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM property WHERE key = 'matrix_size'"), 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM point"), 599);
        assert_all_same(place->reader, expected);
}

static void results_without_a_model_among_others_are_answered_right(void **state) {
        Place *place = *state;
        Sum expected[N_QUESTIONS_HERE];
        Property properties[5];
        IndicatorModel model = matmul_model(properties);

        put_measured(place->store, 1, 300, NULL);
        ask_all(place->reader, expected);

        assert_int_equal(place_teardown(state) + place_setup_volatile(state), 0);
        place = *state;
        put_measured(place->store, 1, 100, &model);
        put_measured(place->store, 100, 200, NULL);
        put_measured(place->store, 200, 300, &model);
        assert_all_same(place->reader, expected);
        EVENTUALLY(ask_place(place, "SELECT max(indexed_from) FROM indicator") == 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM point"), 299);
        assert_all_same(place->reader, expected);
}

static void a_duplicate_result_adds_nothing_to_the_index(void **state) {
        Place *place = *state;
        RunResults measured, other;
        Property properties[5];
        IndicatorModel model = matmul_model(properties);

        run_results_make(&measured, 7, "tensorflow", "float32", 512, 300);
        run_results_make(&other, 7, "tensorflow", "float64", 99, 300);
        measured.submission.model = other.submission.model = &model;
        assert_int_equal(put_one(place->store, &measured.submission, 1), STORE_DONE);
        assert_int_equal(put_one(place->store, &measured.submission, 2), STORE_DUPLICATE);
        assert_int_equal(put_one(place->store, &other.submission, 3), STORE_DUPLICATE);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM point"), 1);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM series"), 1);

        /* A replaced one moves to the series of its new parameters. */
        other.submission.replaces = true;
        assert_int_equal(put_one(place->store, &other.submission, 4), STORE_DUPLICATE);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM point"), 1);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM series"), 1);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM property WHERE value = 'float64'"), 1);
        assert_int_equal(ask_place(place, "SELECT n_series FROM holder WHERE uid = 1000"), 1);
}

static void removed_results_leave_the_index_too(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        Property properties[5];
        IndicatorModel model = matmul_model(properties);

        put_measured(place->store, 1, 500, &model);
        assert_true(ask_place(place, "SELECT count(*) FROM series") > 0);
        config.is_volatile = true;
        config.keep_results_ns = NS_PER_S; /* the results are from 1970 */
        store_configure(place->store, &config);
        EVENTUALLY(ask_place(place, "SELECT count(*) FROM result") == 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM point"), 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM series"), 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM property"), 0);

        /* A removed series leaves no entry behind. */
        put_measured(place->store, 600, 700, &model);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM point WHERE series NOT IN (SELECT id FROM series)"), 0);
}

/* Checks that the newest results of a series, or of a component's unindexed results, come first. */
static void assert_newest_first(Reader *reader, const PointFilter *filter, size_t n_expected) {
        scoped(points_freep) Points *points = NULL;
        size_t n = 0, n_of_run = 0;
        int64_t last_series = -1;
        uint64_t last_ms = 0;
        char last_component[16] = "";
        PointRow row;

        assert_int_equal(points_new(&points, reader, filter), 0);
        while (points_next(points, &row) == 0) {
                bool is_first = row.series != last_series || strcmp(row.component, last_component) != 0;

                n_of_run = is_first ? 1 : n_of_run + 1;
                assert_true(is_first || row.time_ms < last_ms);
                assert_true(row.time_ms >= filter->since_ms && row.time_ms < filter->before.time_ms);
                assert_int_equal(row.row, row.time_ms); /* stored in this order */
                last_series = row.series;
                last_ms = row.time_ms;
                (void)snprintf(last_component, sizeof(last_component), "%s", row.component);
                if (n_of_run == 3)
                        points_skip(points);
                n++;
        }
        assert_int_equal(n, n_expected);
}

static void the_newest_come_first_and_reading_can_stop(void **state) {
        PointFilter filter = { .name = "PiMatmul", .since_ms = 20, .before = { 170, 170 } };
        Place *place = *state;
        Property properties[5];
        IndicatorModel model = matmul_model(properties);

        put_measured(place->store, 1, 181, NULL);
        assert_newest_first(place->reader, &filter, 6);
        filter.name = NULL;
        assert_newest_first(place->reader, &filter, 6);

        assert_int_equal(place_teardown(state) + place_setup_volatile(state), 0);
        place = *state;
        put_measured(place->store, 1, 181, &model);
        assert_newest_first(place->reader, &filter, 3 * (size_t)ask_place(place, "SELECT count(*) FROM series"));
}

/* --- plans --------------------------------------------------------------------------------------- */

static void an_indexed_parameter_is_a_search_in_an_index(void **state) {
        const Place *place = *state;

        assert_plan(place, statement_with(" FROM series AS s INDEXED BY"),
                    "SEARCH s USING INDEX series_by_pair (name=? AND component=? AND uid=? AND shape=?)");
        assert_plan(place, statement_with("p.value IN (?6, ?7)"),
                    "SEARCH p USING PRIMARY KEY (name=? AND component=? AND uid=? AND key=? AND value=?)");
        assert_plan(place, statement_with("p.value BETWEEN"),
                    "SEARCH p USING PRIMARY KEY (name=? AND component=? AND uid=? AND key=? AND value>? AND value<?)");
        assert_plan(place, statement_with("FROM point WHERE series = ? AND time_ms"),
                    "SEARCH point USING PRIMARY KEY (series=? AND time_ms>? AND (time_ms,row)<(?,?))");
        assert_plan(place, statement_with("run, document, NULL FROM result INDEXED BY result_by_name"),
                    "SEARCH result USING INDEX result_by_name (name=? AND time_ms>? AND time_ms<?)");
        assert_plan(place, statement_with(" FROM series INDEXED BY series_by_pair"),
                    "SEARCH series USING INDEX series_by_pair (name=?)");
        assert_plan(place, statement_with("WHERE r.row = ?"), "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)");
        assert_plan(place, statement_with("INDEXED BY result_by_batch"),
                    "SEARCH r USING INDEX result_by_batch (batch=?)");
}

/* --- models and batches -------------------------------------------------------------------------- */

static void registered_models_are_there_at_the_next_start(void **state) {
        RegisteredModelRow registered;
        Place *place = *state;
        Property properties[5];
        IndicatorModel model = matmul_model(properties);
        const IndicatorModel *declared[] = { &model };
        Value document = string_value("as declared");
        ModelRow row;

        model.document = &document;
        assert_int_equal(
                store_put(place->store, model_rows_pack_declared(declared, 1, clock_realtime_ns() / NS_PER_MS)), 0);
        for (uint64_t cookie = 1; cookie < 3; cookie++) {
                StoreModels sent = { ONE(&model), .uid = 1000 + (uint32_t)cookie, .by_admin = true };

                assert_int_equal(store_put(place->store, model_rows_pack(&sent, clock_realtime_ns() / NS_PER_MS,
                                                                         cookie_of(cookie))), 0);
                assert_int_equal(outcome_of(place->store, cookie), STORE_DONE);
        }
        assert_int_equal(indicator_reader_list_registered(place->reader), 0);
        assert_int_equal(indicator_reader_next_registered(place->reader, &registered), 0);
        assert_string_equal(registered.document, "\"as declared\"");
        assert_int_equal(registered.uid, 1002);
        assert_true(registered.by_admin);
        assert_int_equal(indicator_reader_next_registered(place->reader, &registered), READER_END);

        assert_int_equal(indicator_reader_list_models(place->reader, "PiMatmul", -1), 0);
        assert_int_equal(indicator_reader_next_model(place->reader, &row), 0);
        assert_null(row.component);
        assert_true(json_text_is_string(json_text_find(json_text_find(row.results, "rate"), "unit"), "GFLOP/s", 7));
        assert_true(
                json_text_is_string(json_text_find(json_text_find(row.results, "elapsed"), "direction"), "lower", 5));

        /* Removing a model does not affect models with another component. */
        assert_int_equal(store_put(place->store,
                                   model_rows_pack_removal("PiMatmul", "tensorflow", MODEL_ROWS_OF_ALL, cookie_of(3))),
                         0);
        assert_int_equal(outcome_of(place->store, 3), STORE_DONE);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM model WHERE NOT is_declared"), 1);
        assert_int_equal(
                store_put(place->store, model_rows_pack_removal("PiMatmul", NULL, MODEL_ROWS_OF_ALL, cookie_of(4))), 0);
        assert_int_equal(outcome_of(place->store, 4), STORE_DONE);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM model WHERE NOT is_declared"), 0);

        /* Models of files are replaced when they are declared again. */
        assert_int_equal(store_put(place->store, model_rows_pack_declared(NULL, 0, clock_realtime_ns() / NS_PER_MS)),
                         0);
        EVENTUALLY(ask_place(place, "SELECT count(*) FROM model") == 0);
}

/* If a user registers models with different names one after the other, only the last is kept. */
static void models_that_are_replaced_leave_nothing_behind(void **state) {
        enum { N_TIMES = 500 };
        Place *place = *state;
        Property properties[5];
        IndicatorModel model = matmul_model(properties);
        Sum expected[N_QUESTIONS_HERE];
        char name[32];

        put_measured(place->store, 1, 60, &model);
        ask_all(place->reader, expected);
        properties[2].name = name;
        for (uint64_t i = 1; i <= N_TIMES; i++) {
                StoreModels registered = { ONE(&model), .uid = 1000 };

                (void)snprintf(name, sizeof(name), "reps_%d", (int)i);
                properties[2].index = INDEX_INT;
                assert_int_equal(store_put(place->store, model_rows_pack(&registered, clock_realtime_ns() / NS_PER_MS,
                                                                         cookie_of(1000 + i))), 0);
                assert_int_equal(outcome_of(place->store, 1000 + i), STORE_DONE);
        }

        assert_in_range(ask_place(place, "SELECT count(*) FROM shape"), 1, 100);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM model AS m JOIN shape AS l ON l.id = m.shape"), 1);
        assert_all_same(place->reader, expected);
        EVENTUALLY(ask_place(place, "SELECT max(indexed_from) FROM indicator") == 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM series AS s JOIN shape AS l ON l.id = s.shape"),
                         ask_place(place, "SELECT count(*) FROM series"));
        assert_all_same(place->reader, expected);
}

static void a_batch_is_found_in_its_order(void **state) {
        Place *place = *state;
        Member exit[] = { { "stderr", string_value("Killed") } };
        Value run = { .type = VALUE_OBJECT, .members = exit, .n_members = 1 };
        RunResults measured;
        BatchRow row;

        for (uint64_t i = 0; i < 5; i++) {
                run_results_make(&measured, 100 + i, "tensorflow", "float32", 512, 300);
                measured.submission.has_batch = true;
                memset(measured.submission.batch, 0xab, 16);
                measured.submission.batch_index = (uint32_t)(4 - i);
                measured.submission.run = &run;
                measured.submission.has_exit_status = true;
                measured.submission.exit_status = i == 3 ? 137 : 0;
                if (i == 3)
                        measured.submission.indicator.document = NULL;
                assert_int_equal(put_one(place->store, &measured.submission, i + 1), STORE_DONE);
        }

        assert_int_equal(result_reader_list_batch(place->reader, measured.submission.batch), 0);
        for (uint64_t i = 0; i < 5; i++) {
                assert_int_equal(result_reader_next_of_batch(place->reader, &row), 0);
                assert_int_equal(row.batch_index, i);
                assert_int_equal(row.exit_status, i == 1 ? 137 : 0);
                assert_true(json_text_is_string(json_text_find(row.run, "stderr"), "Killed", 6));
                assert_int_equal(json_text_kind(json_text_find(row.document, "@result")),
                                 i == 1 ? JSON_KIND_NONE : JSON_KIND_OBJECT);
        }
        assert_int_equal(result_reader_next_of_batch(place->reader, &row), READER_END);
}

static void parse_digest(const char *digits, uint8_t ret[static SHA256_BYTES]) {
        assert_int_equal(strlen(digits), 2 * SHA256_BYTES);
        for (size_t i = 0; i < SHA256_BYTES; i++)
                assert_int_equal(sscanf(digits + 2 * i, "%2hhx", &ret[i]), 1);
}

static void a_specification_is_found_by_its_digest(void **state) {
        Place *place = *state;
        Member member = { "script", string_value("matmul.py") };
        const Value specification = { .type = VALUE_OBJECT, .members = &member, .n_members = 1 };
        uint8_t digest[SHA256_BYTES];
        SpecificationRow found;
        RunResults results;
        ResultRow row;

        for (uint64_t n = 1; n <= 3; n++) {
                run_results_make_nth(&results, n, NULL);
                results.submission.specification = n == 2 ? NULL : &specification;
                assert_int_equal(put_one(place->store, &results.submission, n), STORE_DONE);
        }
        assert_int_equal(result_reader_list(place->reader, &(ResultFilter){}), 0);
        assert_int_equal(result_reader_next(place->reader, &row), 0);
        parse_digest(row.specification_digest, digest);
        assert_int_equal(result_reader_next(place->reader, &row), 0);
        assert_null(row.specification_digest);
        assert_int_equal(result_reader_find(place->reader, row.row, &row), 0);
        assert_int_equal(result_reader_find(place->reader, row.row + 100, &row), READER_END);

        assert_int_equal(result_reader_find_specification(place->reader, digest, &found), 0);
        assert_string_equal(found.document, "{\"script\":\"matmul.py\"}");
        assert_int_equal(found.n_results, 2);
        digest[0] ^= 1;
        assert_int_equal(result_reader_find_specification(place->reader, digest, &found), READER_END);
}

static size_t count_with_script(Place *place, PointFilter filter) {
        static const char *const fields[] = { "run.specification.script" };
        static const char *const numbers[] = { "elapsed" };
        scoped(points_freep) Points *points = NULL;
        size_t n = 0;
        PointRow row;

        filter.name = "PiMatmul";
        filter.fields = fields;
        filter.n_fields = 1;
        filter.numbers = numbers;
        filter.n_numbers = 1;
        assert_int_equal(points_new(&points, place->reader, &filter), 0);
        while (points_next(points, &row) == 0) {
                const char *text;
                JsonText json;

                point_find(&row, fields[0], &json, &text);
                n += json.text && json_text_is_string(json, "matmul.py", 9);
        }
        return n;
}

/* Values of others' specifications are in no answer. */
static void keys_of_specifications_are_for_their_user(void **state) {
        Place *place = *state;
        Member member = { "script", string_value("matmul.py") };
        const Value specification = { .type = VALUE_OBJECT, .members = &member, .n_members = 1 };
        RunResults results;

        for (uint64_t n = 1; n <= 3; n++) {
                run_results_make_nth(&results, n, NULL);
                results.submission.specification = n == 2 ? NULL : &specification;
                assert_int_equal(put_one(place->store, &results.submission, n), STORE_DONE);
        }
        assert_int_equal(count_with_script(place, (PointFilter){ .viewer = 1000 }), 2);
        assert_int_equal(count_with_script(place, (PointFilter){ .viewer = 1001 }), 0);
        assert_int_equal(count_with_script(place, (PointFilter){ .viewer = -1 }), 0);
        assert_int_equal(count_with_script(place, (PointFilter){ .sees_all = true, .viewer = -1 }), 2);
}

/* Stores result n of a user, who writes the component in the given way. */
static void put_written(Store *store, uint64_t n, const char *written, uint32_t uid) {
        Property properties[5];
        IndicatorModel model = matmul_model(properties);
        RunResults results;

        run_results_make_nth(&results, n, &model);
        results.submission.indicator.component = "tensorflow";
        results.submission.indicator.written_component = written;
        assert_int_equal(
                store_put(store, result_rows_pack(&results.submission, 1, &(Peer){ .uid = uid }, 5000, cookie_of(n))),
                0);
        assert_int_equal(outcome_of(store, n), STORE_DONE);
}

static void a_component_is_shown_as_it_was_written_first(void **state) {
        Place *place = *state;
        IndicatorRow row;

        put_written(place->store, 1, "TensorFlow", 1000);
        put_written(place->store, 2, "TENSORFLOW", 1001);
        put_written(place->store, 3, NULL, 1002);
        assert_int_equal(indicator_reader_list(place->reader), 0);
        assert_int_equal(indicator_reader_next(place->reader, &row), 0);
        assert_string_equal(row.component, "TensorFlow");
        assert_int_equal(row.n_results, 3);
        assert_int_equal(indicator_reader_next(place->reader, &row), READER_END);
        assert_int_equal(sum_of(place->reader, (const char *const[]){ "component=tensorFLOW", NULL }, NULL).n, 3);
        assert_int_equal(sum_of(place->reader, NULL, "tensorflow").n, 3);
        assert_int_equal(sum_of(place->reader, (const char *const[]){ "component!=tensorflow", NULL }, NULL).n, 0);
}

static void list_ends_after(Reader *reader, const char *component) {
        IndicatorRow row;

        assert_int_equal(indicator_reader_next(reader, &row), 0);
        assert_string_equal(row.component, component);
        assert_int_equal(indicator_reader_next(reader, &row), READER_END);
}

static void indicators_are_listed_by_name_and_by_their_models(void **state) {
        Place *place = *state;
        Property properties[5];
        IndicatorModel model = matmul_model(properties);
        IndicatorRow row;
        Item item;

        item_make(&item, "number", "test", 1);
        assert_int_equal(put_one(place->store, &item.submission, 1), STORE_DONE);
        put_measured(place->store, 2, 20, NULL);
        assert_int_equal(indicator_reader_list_named(place->reader, "number", "no-such-name"), 0);
        list_ends_after(place->reader, "test");
        assert_int_equal(indicator_reader_list_kpis(place->reader), 0);
        assert_int_equal(indicator_reader_next(place->reader, &row), READER_END);

        item_make(&item, "n", "trainer", 100); /* its result is named as the indicator */
        assert_int_equal(put_one(place->store, &item.submission, 1), STORE_DONE);
        assert_int_equal(indicator_reader_list_kpis(place->reader), 0);
        list_ends_after(place->reader, "trainer");

        model.component = "pytorch";
        assert_int_equal(store_put(place->store,
                                   model_rows_pack(&(StoreModels){ ONE(&model), .uid = 1000 }, 1, cookie_of(5000))),
                         0);
        assert_int_equal(outcome_of(place->store, 5000), STORE_DONE);
        assert_int_equal(indicator_reader_list_kpis(place->reader), 0);
        assert_int_equal(indicator_reader_next(place->reader, &row), 0);
        assert_string_equal(row.component, "pytorch");
        list_ends_after(place->reader, "trainer");
}

static void put_accepted_level(Place *place, uint64_t time_ms, const char *component, uint32_t uid, bool by_admin) {
        static const Value nothing_declared = { .type = VALUE_OBJECT };
        IndicatorModel level = { .name = ACCEPTED_LEVEL_NAME, .component = component, .document = &nothing_declared };
        StoreModels models = { ONE(&level), .uid = uid, .by_admin = by_admin };

        assert_int_equal(store_put(place->store, model_rows_pack(&models, time_ms, cookie_of(time_ms))), 0);
        assert_int_equal(outcome_of(place->store, time_ms), STORE_DONE);
}

static void accepted_levels_of_others_are_not_listed(void **state) {
        Place *place = *state;
        AcceptedRow row;

        put_accepted_level(place, 7001, "of-1000", 1000, false);
        put_accepted_level(place, 7002, "of-2000", 2000, false);
        put_accepted_level(place, 7003, "of-all", 0, true);
        assert_int_equal(indicator_reader_list_accepted(place->reader, 1000), 0);
        assert_int_equal(indicator_reader_next_accepted(place->reader, &row), 0);
        assert_string_equal(row.key, "of-1000");
        assert_int_equal(row.uid, 1000);
        assert_int_equal(row.time_ms, 7001);
        assert_int_equal(row.by_admin, 0);
        assert_int_equal(indicator_reader_next_accepted(place->reader, &row), 0);
        assert_string_equal(row.key, "of-all");
        assert_int_equal(row.by_admin, 1);
        assert_int_equal(indicator_reader_next_accepted(place->reader, &row), READER_END);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_component_is_shown_as_it_was_written_first, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(a_specification_is_found_by_its_digest, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(keys_of_specifications_are_for_their_user, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(an_index_answers_as_the_documents_do, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(results_stored_before_their_model_are_indexed_later,
                                                place_setup_volatile, place_teardown),
                cmocka_unit_test_setup_teardown(a_changed_model_causes_a_new_index, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(results_without_a_model_among_others_are_answered_right,
                                                place_setup_volatile, place_teardown),
                cmocka_unit_test_setup_teardown(a_duplicate_result_adds_nothing_to_the_index, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(removed_results_leave_the_index_too, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(the_newest_come_first_and_reading_can_stop, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(an_indexed_parameter_is_a_search_in_an_index, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(registered_models_are_there_at_the_next_start, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(models_that_are_replaced_leave_nothing_behind, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(indicators_are_listed_by_name_and_by_their_models, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(accepted_levels_of_others_are_not_listed, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(a_batch_is_found_in_its_order, place_setup_volatile, place_teardown),
        };

        return cmocka_run_group_tests_name("points", tests, NULL, NULL);
}
