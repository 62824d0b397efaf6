/* SPDX-License-Identifier: Apache-2.0 */
/* Specifications in a store, and results that are sent again: completed, compared, and read. */
/* tests: daemon/store/indicators/attachments.c daemon/store/catalog/duplicate.c */

#include "stack_fixture.h"

#include "store/indicators/result_reader.h"
#include "util/sha256.h"

typedef struct Fixture {
        Place *place;
        Arena arena;
        const Value *a, *b;
} Fixture;

static const Value *value_of(Arena *arena, const char *text) {
        const Value *value;
        bool is_canonical;
        ValueError error;

        assert_int_equal(value_parse(text, strlen(text), arena, &value, &is_canonical, &error), 0);
        return value;
}

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        *state = f;
        assert_int_equal(arena_init(&f->arena, 1 << 20), 0);
        f->a = value_of(&f->arena, "{\"script\": \"a\", \"batch_size\": 2}");
        f->b = value_of(&f->arena, "{\"script\":\"b\"}");
        return place_setup_volatile((void **)&f->place);
}

static int tear_down(void **state) {
        Fixture *f = *state;

        assert_int_equal(place_teardown((void **)&f->place), 0);
        arena_deinit(&f->arena);
        free(f);
        return 0;
}

static ResultsStored *put_as(Fixture *f, uint32_t uid, const Submission *items, size_t n) {
        StoreDone done;

        assert_int_equal(
                store_put(f->place->store, result_rows_pack(items, n, &(Peer){ .uid = uid }, 5000, cookie_of(1))), 0);
        assert_true(wait_done(f->place->store, &done, DEADLINE_MS));
        assert_true(done.outcome == STORE_DONE || done.outcome == STORE_DUPLICATE);
        return (ResultsStored *)(uintptr_t)result_rows_stored(done.rows);
}

static const ResultsStored *put(Fixture *f, uint64_t n, const Value *specification) {
        RunResults results;

        run_results_make_nth(&results, n, NULL);
        results.submission.specification = specification;
        return put_as(f, 1000, &results.submission, 1);
}

static void a_specification_is_stored_once_for_many_results(void **state) {
        Fixture *f = *state;
        const Value *again = value_of(&f->arena, " {\"script\":\"a\",\"batch_size\":2}");
        const Value *const documents[] = { f->b, NULL, f->a, again, f->b };
        SpecificationRow row;
        RunResults results[5];
        Submission items[5];
        uint8_t digest[SHA256_BYTES];
        static const char text[] = "{\"script\":\"a\",\"batch_size\":2}";

        for (size_t i = 0; i < 5; i++) {
                run_results_make_nth(&results[i], i + 1, NULL);
                items[i] = results[i].submission;
                items[i].specification = documents[i];
        }
        assert_int_equal(put_as(f, 1000, items, 5)->n_new, 5);
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM specification"), 2);
        assert_int_equal(ask_place(f->place, "SELECT sum(n_results) FROM specification"), 4);
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM result WHERE specification IS NULL AND time_ms = 2"),
                         1);

        sha256_of(text, sizeof(text) - 1, digest);
        assert_int_equal(result_reader_find_specification(f->place->reader, digest, &row), 0);
        assert_string_equal(row.document, text);
        assert_int_equal(row.n_results, 2);
        reader_reset(f->place->reader);
        digest[0] ^= 1;
        assert_int_equal(result_reader_find_specification(f->place->reader, digest, &row), READER_END);
}

static void a_specification_goes_with_its_last_result_and_is_charged_until_then(void **state) {
        Fixture *f = *state;
        int64_t before;

        (void)put(f, 2, f->a);
        (void)put(f, 3, f->a);
        before = ask_place(f->place, "SELECT sum(n_bytes) FROM holder");
        change_place(f->place, "DELETE FROM result WHERE time_ms = 2");
        assert_int_equal(ask_place(f->place, "SELECT n_results FROM specification"), 1);
        change_place(f->place, "DELETE FROM result WHERE time_ms = 3");
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM specification"), 0);
        assert_int_equal(ask_place(f->place, "SELECT sum(n_bytes) FROM holder"),
                         before - (int64_t)strlen("{\"script\":\"a\",\"batch_size\":2}"));
}

static void a_result_without_a_specification_is_completed(void **state) {
        Fixture *f = *state;
        const ResultsStored *stored;

        (void)put(f, 1, NULL);
        stored = put(f, 1, f->a);
        assert_int_equal(stored->n_new, 0);
        assert_true(stored->has_completed_specification);
        assert_false(stored->has_other_specification);
        assert_string_equal(stored->difference, "");
        stored = put(f, 1, f->a);
        assert_false(stored->has_completed_specification || stored->has_other_specification);
        assert_int_equal(ask_place(f->place, "SELECT n_results FROM specification"), 1);

        stored = put(f, 1, f->b);
        assert_true(stored->has_other_specification);
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM specification"), 1); /* no result has the other */
}

static void another_user_completes_and_compares_nothing(void **state) {
        Fixture *f = *state;
        const ResultsStored *stored;
        RunResults results;

        (void)put(f, 1, NULL);
        run_results_make_nth(&results, 1, NULL);
        results.submission.specification = f->a;
        results.result[0].value.number += 1;
        stored = put_as(f, 1001, &results.submission, 1);
        assert_false(stored->has_completed_specification || stored->has_other_specification);
        assert_string_equal(stored->difference, "");
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM specification"), 0);
}

/* Stores `text`, sends `again`, and expects the difference. */
static void check_difference(Fixture *f, uint64_t n, const char *text, const char *again, const char *expected) {
        RunResults results;
        Complaint complaint;

        for (unsigned i = 0; i < 2; i++) {
                run_results_make_nth(&results, n, NULL);
                assert_int_equal(indicator_from_value(value_of(&f->arena, i == 0 ? text : again), DOCUMENT_LIMITS_NONE,
                                                      &results.submission.indicator, &complaint), 0);
                if (i == 0)
                        (void)put_as(f, 1000, &results.submission, 1);
        }
        assert_string_equal(put_as(f, 1000, &results.submission, 1)->difference, expected);
}

#define DOCUMENT(parameters, result)                                                                                   \
        "{\"name\":\"m\",\"component\":\"c\",\"@parameters\":{" parameters "},\"@result\":{" result "}}"

static void what_differs_is_named(void **state) {
        Fixture *f = *state;

        check_difference(f, 1, DOCUMENT("\"a\":1", "\"x\":1.5"), DOCUMENT("\"a\":1", "\"x\":1.5"), "");
        check_difference(f, 2, DOCUMENT("\"a\":1", "\"x\":1.5"), DOCUMENT("\"a\":1", "\"x\":1.2"),
                         "@result.x is 1.5, and is 1.2 now");
        check_difference(f, 3, DOCUMENT("", "\"n\":{\"x\":1,\"y\":2}"), DOCUMENT("", "\"n\":{\"x\":1}"),
                         "@result.n.y is 2, and is missing now");
        check_difference(f, 4, DOCUMENT("", "\"x\":1"), DOCUMENT("\"k\":\"v\"", "\"x\":1"), ""); /* is filled */
        check_difference(f, 5, DOCUMENT("", "\"x\":\"0123456789012345678901234567890123456789é\""),
                         DOCUMENT("", "\"x\":1"),
                         "@result.x is \"012345678901234567890123456789012345678…, and is 1 now");
}

/* Sends a text with the id n. */
static const ResultsStored *send_text(Fixture *f, uint64_t n, const char *text, bool replaces) {
        RunResults results;
        Complaint complaint;

        run_results_make_nth(&results, n, NULL);
        results.submission.replaces = replaces;
        assert_int_equal(indicator_from_value(value_of(&f->arena, text), DOCUMENT_LIMITS_NONE,
                                              &results.submission.indicator, &complaint),
                         0);
        return put_as(f, 1000, &results.submission, 1);
}

static bool has_document(Fixture *f, const char *text) {
        scoped(freep) char *query = NULL;

        assert_true(asprintf(&query, "SELECT count(*) FROM result WHERE document = '%s'", text) > 0);
        return ask_place(f->place, query) == 1;
}

static void what_is_missing_is_filled_and_charged(void **state) {
        Fixture *f = *state;
        const ResultsStored *stored;
        int64_t before;

        (void)send_text(f, 1, DOCUMENT("\"a\":1", "\"n\":{\"x\":1}"), false);
        before = ask_place(f->place, "SELECT n_bytes FROM holder WHERE uid = 1000");
        stored = send_text(f, 1, DOCUMENT("\"a\":2,\"b\":[3]", "\"n\":{\"y\":2}"), false);
        assert_true(stored->has_filled && !stored->has_replaced);
        assert_string_equal(stored->difference, "@parameters.a is 1, and is 2 now");
        assert_true(has_document(f, DOCUMENT("\"a\":1,\"b\":[3]", "\"n\":{\"x\":1,\"y\":2}")));
        assert_int_equal(ask_place(f->place, "SELECT n_bytes FROM holder WHERE uid = 1000"),
                         before + (int64_t)strlen(",\"b\":[3],\"y\":2"));
        stored = send_text(f, 1, DOCUMENT("\"a\":1,\"b\":[3]", "\"n\":{\"x\":1,\"y\":2}"), false);
        assert_false(stored->has_filled || stored->has_replaced);
        assert_string_equal(stored->difference, "");
}

static void the_owner_replaces_a_result(void **state) {
        Fixture *f = *state;
        const ResultsStored *stored;
        RunResults results;

        (void)send_text(f, 1, DOCUMENT("\"a\":1", "\"x\":1"), false);
        stored = send_text(f, 1, DOCUMENT("\"c\":1", "\"x\":2"), true);
        assert_true(stored->has_replaced && !stored->has_filled && stored->n_new == 0);
        assert_string_equal(stored->difference, "");
        assert_true(has_document(f, DOCUMENT("\"c\":1", "\"x\":2")));
        assert_false(send_text(f, 1, DOCUMENT("\"c\":1", "\"x\":2"), true)->has_replaced);

        stored = send_text(f, 1, "{\"name\":\"other\",\"component\":\"c\",\"@parameters\":{},\"@result\":{\"x\":3}}",
                           true);
        assert_false(stored->has_replaced);
        assert_string_equal(stored->difference, "it is a result of another indicator or component");

        run_results_make_nth(&results, 1, NULL);
        results.submission.replaces = true;
        assert_false(put_as(f, 1001, &results.submission, 1)->has_replaced);
        assert_true(has_document(f, DOCUMENT("\"c\":1", "\"x\":2")));
}

static void another_exit_status_differs(void **state) {
        Fixture *f = *state;
        RunResults results;

        (void)put(f, 1, NULL);
        run_results_make_nth(&results, 1, NULL);
        results.submission.has_exit_status = true;
        results.submission.exit_status = 3;
        assert_string_equal(put_as(f, 1000, &results.submission, 1)->difference, "the exit status is 0, and is 3 now");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_specification_is_stored_once_for_many_results),
                TEST(a_specification_goes_with_its_last_result_and_is_charged_until_then),
                TEST(a_result_without_a_specification_is_completed),
                TEST(another_user_completes_and_compares_nothing),
                TEST(what_differs_is_named),
                TEST(what_is_missing_is_filled_and_charged),
                TEST(the_owner_replaces_a_result),
                TEST(another_exit_status_differs),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
