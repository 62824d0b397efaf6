/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "indicators/tally.h"

typedef struct Fixture {
        Tally tally;
        IndicatorsSnapshot snapshot;
} Fixture;

static int set_up(void **state) {
        *state = calloc(1, sizeof(Fixture));
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        indicators_snapshot_deinit(&f->snapshot);
        tally_deinit(&f->tally);
        free(f);
        return 0;
}

static Submission item(const char *name, const char *component, int exit_status) {
        return (Submission){ .indicator = { .name = name, .component = component }, .has_exit_status = true, .exit_status = exit_status };
}

static void note(Fixture *f, Submission one) {
        assert_int_equal(tally_add(&f->tally, 1000, &one, 1), 0);
}

static uint64_t count(Fixture *f, const char *name, const char *component, IndicatorOutcome outcome) {
        assert_int_equal(tally_publish(&f->tally, &f->snapshot), 0);
        for (size_t i = 0; i < f->snapshot.n; i++)
                if (strcmp(f->snapshot.counts[i].name, name) == 0 && strcmp(f->snapshot.counts[i].component, component) == 0)
                        return f->snapshot.counts[i].n[outcome];
        return 0;
}

static void results_count_when_they_are_on_disk(void **state) {
        Fixture *f = *state;

        note(f, item("A", "c", 0));
        note(f, item("A", "c", 1));
        assert_int_equal(count(f, "A", "c", INDICATOR_STORED), 0);
        tally_count_stored(&f->tally, NULL);
        assert_int_equal(count(f, "A", "c", INDICATOR_STORED), 1);
        assert_int_equal(count(f, "A", "c", INDICATOR_FAILED), 0);
        tally_count_stored(&f->tally, NULL);
        assert_int_equal(count(f, "A", "c", INDICATOR_FAILED), 1);
        assert_int_equal(count(f, "A", "c", INDICATOR_STORED), 1);
}

static void duplicates_and_what_the_store_failed_to_write_do_not_count(void **state) {
        Fixture *f = *state;

        note(f, item("A", "c", 0));
        note(f, item("B", "c", 0));
        tally_discard(&f->tally);
        tally_count_stored(&f->tally, NULL);
        assert_int_equal(count(f, "A", "c", INDICATOR_STORED), 0);
        assert_int_equal(count(f, "B", "c", INDICATOR_STORED), 1);
}

static void what_was_not_put_is_forgotten(void **state) {
        Fixture *f = *state;
        const Submission two[] = { item("A", "c", 0), item("B", "c", 0) };

        note(f, item("A", "c", 0));
        assert_int_equal(tally_add(&f->tally, 1000, two, 2), 0);
        tally_cancel_last(&f->tally);
        note(f, item("C", NULL, 0));
        tally_count_stored(&f->tally, NULL);
        tally_count_stored(&f->tally, NULL);
        assert_int_equal(count(f, "A", "c", INDICATOR_STORED), 1);
        assert_int_equal(count(f, "B", "c", INDICATOR_STORED), 0);
        assert_int_equal(count(f, "C", "", INDICATOR_STORED), 1);
}

static void a_submission_may_be_of_several_indicators(void **state) {
        Fixture *f = *state;
        const Submission many[] = { item("A", "c", 0), item("A", "c", 0), item("A", "c", 9), item("B", "d", 0), item("A", "c", 0) };

        for (unsigned i = 0; i < 100; i++)
                assert_int_equal(tally_add(&f->tally, 1000, many, 5), 0);
        for (unsigned i = 0; i < 99; i++)
                tally_count_stored(&f->tally, NULL);
        assert_int_equal(count(f, "A", "c", INDICATOR_STORED), 99 * 3);
        tally_count_stored(&f->tally, &(uint8_t){ 1 << 0 | 1 << 1 | 1 << 3 });
        assert_int_equal(count(f, "A", "c", INDICATOR_STORED), 99 * 3 + 1);
        assert_int_equal(count(f, "A", "c", INDICATOR_FAILED), 99 + 1);
        assert_int_equal(count(f, "B", "d", INDICATOR_STORED), 99);
}

static void of_a_submission_that_was_there_in_part_the_new_ones_count(void **state) {
        Fixture *f = *state;
        Submission items[20];

        for (unsigned i = 0; i < 20; i++)
                items[i] = item(i < 10 ? "A" : "B", "c", 0);
        assert_int_equal(tally_add(&f->tally, 1000, items, 20), 0);
        note(f, item("C", "c", 0));
        tally_count_stored(&f->tally, (const uint8_t[]){ 0xff, 0x07, 0x08 }); /* results 1 to 11, and the last */
        assert_int_equal(count(f, "A", "c", INDICATOR_STORED), 0);
        assert_int_equal(count(f, "B", "c", INDICATOR_STORED), 8);
        tally_count_stored(&f->tally, NULL);
        assert_int_equal(count(f, "C", "c", INDICATOR_STORED), 1);
}

static void store(Fixture *f, uint32_t uid, const char *name, unsigned number) {
        char text[32];
        Submission one = item(text, "\xff\"\n", 0);

        (void)snprintf(text, sizeof(text), "%s%u", name, number);
        assert_int_equal(tally_add(&f->tally, uid, &one, 1), 0);
        tally_count_stored(&f->tally, NULL);
}

static void beyond_the_limit_the_one_unused_for_longest_goes(void **state) {
        Fixture *f = *state;
        uint64_t n_stored = 0;

        tally_count_refused(&f->tally, 1000, "first", NULL);
        for (unsigned i = 0; i < 10 * INDICATOR_SERIES_MAX; i++) {
                store(f, 1000, "i", i);
                store(f, 1000, "used", 0);
        }
        assert_int_equal(count(f, "first", "", INDICATOR_REFUSED), 0);
        assert_int_equal(count(f, "", "", INDICATOR_REFUSED), 1);
        assert_int_equal(count(f, "used0", "\xff\"\n", INDICATOR_STORED), 10 * INDICATOR_SERIES_MAX);
        assert_int_equal(count(f, "i0", "\xff\"\n", INDICATOR_STORED), 0);
        assert_int_equal(count(f, "i1801", "\xff\"\n", INDICATOR_STORED), 1);
        assert_int_equal(count(f, "i1999", "\xff\"\n", INDICATOR_STORED), 1);
        assert_int_equal(f->snapshot.n, INDICATOR_SERIES_MAX + 1);
        for (size_t i = 0; i < f->snapshot.n; i++)
                n_stored += f->snapshot.counts[i].n[INDICATOR_STORED];
        assert_int_equal(n_stored, 20 * INDICATOR_SERIES_MAX);
}

static void the_names_of_one_user_do_not_displace_those_of_another(void **state) {
        Fixture *f = *state;

        for (unsigned i = 0; i < 50; i++)
                store(f, 1001, "theirs", i);
        for (unsigned i = 0; i < 5 * INDICATOR_SERIES_MAX; i++)
                store(f, 1000, "many", i);
        for (unsigned i = 50; i < 100; i++)
                store(f, 1001, "theirs", i);
        for (unsigned i = 0; i < 100; i++) {
                char name[32];

                (void)snprintf(name, sizeof(name), "theirs%u", i);
                assert_int_equal(count(f, name, "\xff\"\n", INDICATOR_STORED), 1);
        }
        assert_int_equal(count(f, "many999", "\xff\"\n", INDICATOR_STORED), 1);
}

static void a_series_that_the_store_has_yet_to_complete_stays(void **state) {
        Fixture *f = *state;
        char name[32];

        for (unsigned i = 0; i < INDICATOR_SERIES_MAX + 10; i++) {
                (void)snprintf(name, sizeof(name), "queued%u", i);
                note(f, item(name, "c", 0));
        }
        for (unsigned i = 0; i < INDICATOR_SERIES_MAX + 10; i++)
                tally_count_stored(&f->tally, NULL);
        assert_int_equal(count(f, "queued0", "c", INDICATOR_STORED), 1);
        assert_int_equal(count(f, "", "", INDICATOR_STORED), 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(results_count_when_they_are_on_disk),
                TEST(duplicates_and_what_the_store_failed_to_write_do_not_count),
                TEST(what_was_not_put_is_forgotten),
                TEST(a_submission_may_be_of_several_indicators),
                TEST(of_a_submission_that_was_there_in_part_the_new_ones_count),
                TEST(beyond_the_limit_the_one_unused_for_longest_goes),
                TEST(the_names_of_one_user_do_not_displace_those_of_another),
                TEST(a_series_that_the_store_has_yet_to_complete_stays),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
