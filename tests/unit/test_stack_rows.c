/* SPDX-License-Identifier: Apache-2.0 */
/* Software stacks in a store: stored once, completed, kept, removed, and read. */
/* tests: daemon/store/indicators/attachments.c daemon/store/indicators/stack_facts.c
 * daemon/store/indicators/stack_reader.c */

#include "stack_fixture.h"

#include "store/indicators/model_rows.h"
#include "store/indicators/stack_facts.h"
#include "store/indicators/stack_reader.h"

#define WITH_NUMPY(version) "{\"packages\":[{\"name\":\"numpy\",\"version\":\"" version "\"},{\"name\":\"six\"}]}"

typedef struct Fixture {
        Place *place;
        Arena arena;
        SubmissionStack a, b; /* numpy 1 and 2, and the same other package */
        Property properties[5];
        IndicatorModel model;
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        *state = f;
        assert_int_equal(arena_init(&f->arena, 1 << 20), 0);
        f->a = stack_of(&f->arena, WITH_NUMPY("1"));
        f->b = stack_of(&f->arena, WITH_NUMPY("2"));
        f->model = matmul_model(f->properties);
        assert_int_equal(place_setup_volatile((void **)&f->place), 0);
        assert_int_equal(
                store_put(f->place->store,
                          model_rows_pack(&(StoreModels){ .models = (const IndicatorModel *const[]){ &f->model },
                                                          .n_models = 1,
                                                          .uid = 1000 },
                                          1, cookie_of(5000))),
                0);
        assert_int_equal(outcome_of(f->place->store, 5000), STORE_DONE);
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        assert_int_equal(place_teardown((void **)&f->place), 0);
        arena_deinit(&f->arena);
        free(f);
        return 0;
}

static const ResultsStored *put(Fixture *f, uint64_t n, const SubmissionStack *stack) {
        return put_with_stack(f->place->store, n, &f->model, stack);
}

static uint64_t n_of_numpy(Fixture *f, const char *condition) {
        return sum_of(f->place->reader, (const char *const[]){ condition, NULL }, NULL).n;
}

/* --- storing ------------------------------------------------------------------------------------- */

static void a_stack_is_stored_once_for_many_results(void **state) {
        Fixture *f = *state;
        SubmissionStack again = stack_of(&f->arena,
                                         "{\"packages\":[{\"name\":\"SIX\"},{\"name\":\"numpy\",\"version\":\"1\"}]}");

        for (uint64_t n = 1; n <= 3; n++)
                assert_int_equal(put(f, n, n == 2 ? &again : &f->a)->n_new, 1);
        (void)put(f, 4, &f->b);
        (void)put(f, 5, NULL);
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM stack"), 2);
        assert_int_equal(ask_place(f->place, "SELECT max(n_results) FROM stack"), 3);
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM package"), 3); /* six is shared */
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM stack_package"), 4);
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM result WHERE stack IS NULL"), 1);
}

static void one_submission_may_have_several_stacks(void **state) {
        Fixture *f = *state;
        const SubmissionStack *const stacks[] = { &f->b, NULL, &f->a, &f->b };
        RunResults results[4];
        Submission items[4];

        for (size_t i = 0; i < 4; i++) {
                run_results_make_nth(&results[i], i + 1, &f->model);
                items[i] = results[i].submission;
                items[i].stack = stacks[i];
        }
        assert_int_equal(
                store_put(f->place->store, result_rows_pack(items, 4, &(Peer){ .uid = 1000 }, 5000, cookie_of(1))), 0);
        assert_int_equal(outcome_of(f->place->store, 1), STORE_DONE);
        assert_int_equal(n_of_numpy(f, "package.numpy=1"), 1);
        assert_int_equal(n_of_numpy(f, "package.numpy=2"), 2);
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM stack"), 2);
}

static void a_stack_goes_with_its_last_result(void **state) {
        Fixture *f = *state;

        (void)put(f, 1, &f->a);
        (void)put(f, 2, &f->a);
        (void)put(f, 3, &f->b);
        assert_int_equal(ask_place(f->place,
                                   "SELECT (SELECT sum(n_bytes) FROM holder) - (SELECT sum(n_bytes) FROM stack)"
                                   " - (SELECT sum(256 + length(CAST(document AS BLOB))) FROM result)"),
                         0);
        change_place(f->place, "DELETE FROM result WHERE time_ms = 1");
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM stack"), 2);
        change_place(f->place, "DELETE FROM result WHERE time_ms = 2");
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM stack"), 1);
        assert_int_equal(
                ask_place(f->place, "SELECT count(*) FROM stack_package AS s JOIN stack ON stack.id = s.stack"), 2);
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM stack_package"), 2);
        change_place(f->place, "DELETE FROM result");
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM stack"), 0);

        (void)put(f, 4, &f->a); /* the packages are still there, or again */
        assert_int_equal(n_of_numpy(f, "package.numpy=1"), 1);
}

/* --- results that were stored before ------------------------------------------------------------- */

static void a_result_without_a_stack_is_completed(void **state) {
        Fixture *f = *state;
        const ResultsStored *stored;
        Sum before, after;

        (void)put(f, 1, NULL);
        (void)put(f, 2, NULL);
        before = sum_of(f->place->reader, NULL, NULL);
        stored = put(f, 1, &f->a);
        assert_int_equal(stored->n_new, 0);
        assert_true(stored->has_completed_stack);
        assert_false(stored->has_other_stack);
        assert_int_equal(ask_place(f->place, "SELECT n_results FROM stack"), 1);
        assert_int_equal(n_of_numpy(f, "package.numpy=1"), 1);
        after = sum_of(f->place->reader, NULL, NULL);
        assert_int_equal(after.n, 2); /* the point has moved, and is there once */
        assert_true(fabs(after.rates - before.rates) < 1e-9);

        stored = put(f, 1, &f->a);
        assert_false(stored->has_completed_stack || stored->has_other_stack);
        stored = put(f, 1, NULL);
        assert_false(stored->has_completed_stack || stored->has_other_stack);
        assert_int_equal(ask_place(f->place, "SELECT n_results FROM stack"), 1);
}

static void a_result_that_is_not_indexed_is_completed(void **state) {
        Fixture *f = *state;

        for (unsigned i = 0; i < 2; i++) {
                Item item;

                item_make(&item, "Other", "c", 1);
                item.submission.has_exit_status = true;
                item.submission.exit_status = 1;
                item.submission.indicator.document = NULL;
                item.submission.indicator.result = NULL;
                item.submission.stack = i == 0 ? NULL : &f->a;
                assert_int_equal(put_one(f->place->store, &item.submission, i), i == 0 ? STORE_DONE : STORE_DUPLICATE);
        }
        assert_int_equal(ask_place(f->place, "SELECT n_results FROM stack"), 1);
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM result WHERE stack = (SELECT id FROM stack)"), 1);
}

static void a_stack_that_contradicts_is_reported_and_the_stored_one_stays(void **state) {
        Fixture *f = *state;
        const ResultsStored *stored;

        (void)put(f, 1, &f->a);
        stored = put(f, 1, &f->b);
        assert_true(stored->has_other_stack);
        assert_false(stored->has_completed_stack);
        assert_int_equal(n_of_numpy(f, "package.numpy=1"), 1);
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM stack"), 1); /* no result has the other */
}

static void another_user_does_not_complete_a_result(void **state) {
        Fixture *f = *state;
        RunResults results;

        (void)put(f, 1, NULL);
        run_results_make_nth(&results, 1, &f->model);
        results.submission.stack = &f->a;
        assert_int_equal(store_put(f->place->store, result_rows_pack(&results.submission, 1, &(Peer){ .uid = 1001 },
                                                                     5000, cookie_of(2))),
                         0);
        (void)outcome_of(f->place->store, 2);
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM result WHERE stack IS NOT NULL"), 0);
        assert_int_equal(ask_place(f->place, "SELECT count(*) FROM stack"), 0);
}

/* --- reading ------------------------------------------------------------------------------------- */

static void stacks_and_their_packages_are_listed(void **state) {
        Fixture *f = *state;
        char digits[2 * STACK_DIGEST_BYTES + 1];
        PackageRow package;
        StackRow row;
        int64_t id;

        (void)put(f, 1, &f->a);
        (void)put(f, 2, &f->b);
        digits_of(&f->a, digits);
        assert_int_equal(stack_reader_list(f->place->reader, ""), 0);
        assert_int_equal(stack_reader_next(f->place->reader, &row), 0);
        assert_string_not_equal(row.digest, digits); /* the newest first */
        assert_int_equal(stack_reader_next(f->place->reader, &row), 0);
        assert_string_equal(row.digest, digits);
        assert_int_equal(row.n_results, 1);
        assert_int_equal(row.n_packages, 2);
        id = row.id;
        assert_int_equal(stack_reader_next(f->place->reader, &row), READER_END);

        digits[12] = '\0';
        assert_int_equal(stack_reader_list(f->place->reader, digits), 0);
        assert_int_equal(stack_reader_next(f->place->reader, &row), 0);
        assert_int_equal(row.id, id);
        assert_int_equal(stack_reader_next(f->place->reader, &row), READER_END);

        assert_int_equal(stack_reader_list_packages(f->place->reader, id), 0);
        assert_int_equal(stack_reader_next_package(f->place->reader, &package), 0);
        assert_string_equal(package.name, "numpy");
        assert_string_equal(package.version, "1");
        assert_int_equal(stack_reader_next_package(f->place->reader, &package), 0);
        assert_string_equal(package.name, "six");
        assert_string_equal(package.version, "");
        assert_int_equal(stack_reader_next_package(f->place->reader, &package), READER_END);
}

static size_t count_names(Reader *reader, const char *name, const char *last) {
        const char *found;
        size_t n = 0;

        assert_int_equal(stack_reader_list_names(reader, name), 0);
        for (; stack_reader_next_name(reader, &found) == 0; n++)
                last = strcmp(found, last) == 0 ? "" : last;
        assert_true(n == 0 || !*last);
        return n;
}

static void names_of_packages_are_listed_once(void **state) {
        Fixture *f = *state;

        (void)put(f, 1, &f->a);
        (void)put(f, 2, &f->b);
        assert_int_equal(count_names(f->place->reader, NULL, "numpy"), 2);
        assert_int_equal(count_names(f->place->reader, "NumPy", "numpy"), 1);
        assert_int_equal(count_names(f->place->reader, "scipy", ""), 0);
}

static void facts_are_looked_up_by_their_keys(void **state) {
        static const char text[] = "{\"base_image\":\"ubi8\",\"os\":{\"name\":\"rhel\",\"version\":\"8.2\"},"
                                   "\"python\":{\"name\":\"cpython\",\"version\":\"3.8\"},"
                                   "\"packages\":[{\"name\":\"numpy\",\"version\":\"1\",\"source\":\"https://"
                                   "x\",\"hash\":\"sha256:0123456789abcdef\","
                                   "\"build\":\"cp38\"},{\"name\":\"bare\",\"source\":\"s\"},{\"name\":\"my.build\","
                                   "\"version\":\"7\",\"kind\":\"rpm\"},"
                                   "{\"name\":\"kernel\",\"version\":\"2\",\"kind\":\"rpm\"},{\"name\":\"kernel\","
                                   "\"version\":\"1\",\"kind\":\"rpm\"}]}";
        static const struct {
                const char *key, *value;
        } expected[] = {
                { "base_image", "ubi8" },
                { "os", "rhel 8.2" },
                { "python", "3.8" },
                { "package_manager", NULL },
                { "package.numpy", "1" },
                { "package.NumPy", "1" },
                { "package.numpy.build", "1 https://x sha256:0123456789ab cp38" },
                { "package.bare", "" },
                { "package.bare.build", "s" },
                { "package.my.build", NULL }, /* the build of "my" */
                { "package.\"my.build\"", "7" },
                { "package.\"my.build\".build", "7" },
                { "package.kernel", "1, 2" },
                { "package.scipy", NULL },
        };
        Fixture *f = *state;
        SubmissionStack stack = stack_of(&f->arena, text);
        scoped(stack_facts_freep) StackFacts *facts = NULL;
        char digits[2 * STACK_DIGEST_BYTES + 1];
        StackRow row;

        (void)put(f, 1, &stack);
        assert_int_equal(stack_facts_new(&facts, f->place->reader), 0);
        assert_int_equal(stack_reader_list(f->place->reader, ""), 0);
        assert_int_equal(stack_reader_next(f->place->reader, &row), 0);
        for (size_t i = 0; i < 2 * N_ELEMENTS(expected); i++) { /* the second time from what was kept */
                size_t k = i % N_ELEMENTS(expected);
                const char *value = stack_facts_get(facts, row.id, expected[k].key);

                if (!value != !expected[k].value || (value && strcmp(value, expected[k].value) != 0))
                        fail_msg("%s is %s", expected[k].key, value ?: "unknown");
        }
        digits_of(&stack, digits);
        digits[16] = '\0';
        assert_string_equal(stack_facts_get(facts, row.id, "stack"), digits);
        assert_null(stack_facts_get(facts, 0, "os"));
        assert_null(stack_facts_get(facts, row.id + 1, "os"));
        assert_int_equal(stack_facts_error(facts), 0);
        reader_reset(f->place->reader);
}

static void a_look_up_after_the_time_limit_finds_nothing(void **state) {
        Fixture *f = *state;
        scoped(stack_facts_freep) StackFacts *facts = NULL;
        Reader *hasty;

        (void)put(f, 1, &f->a);
        assert_int_equal(reader_new(&hasty, store_path(f->place->store), store_wal_barrier(f->place->store), 1), 0);
        assert_int_equal(stack_facts_new(&facts, hasty), 0);
        assert_int_equal(stack_reader_list(hasty, ""), 0);
        assert_null(stack_facts_get(facts, 1, "package.numpy"));
        assert_int_equal(stack_facts_error(facts), READER_TIMEOUT);
        assert_null(stack_facts_get(facts, 1, "stack")); /* the query has ended */
        assert_int_equal(stack_facts_error(facts), READER_TIMEOUT);
        reader_free(hasty);
}

static void other_keys_are_not_facts_of_stacks(void **state) {
        (void)state;
        assert_true(stack_facts_has_key("stack"));
        assert_true(stack_facts_has_key("package.x"));
        assert_false(stack_facts_has_key("package."));
        assert_false(stack_facts_has_key("packages"));
        assert_false(stack_facts_has_key("os.name"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_stack_is_stored_once_for_many_results),
                TEST(one_submission_may_have_several_stacks),
                TEST(a_stack_goes_with_its_last_result),
                TEST(a_result_without_a_stack_is_completed),
                TEST(a_result_that_is_not_indexed_is_completed),
                TEST(a_stack_that_contradicts_is_reported_and_the_stored_one_stays),
                TEST(another_user_does_not_complete_a_result),
                TEST(stacks_and_their_packages_are_listed),
                TEST(names_of_packages_are_listed_once),
                TEST(facts_are_looked_up_by_their_keys),
                TEST(a_look_up_after_the_time_limit_finds_nothing),
                cmocka_unit_test(other_keys_are_not_facts_of_stacks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
