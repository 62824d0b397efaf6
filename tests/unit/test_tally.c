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

        snapshot_indicators_deinit(&f->snapshot);
        tally_deinit(&f->tally);
        free(f);
        return 0;
}

static void note(Fixture *f, const char *name, const char *component, IndicatorOutcome outcome) {
        tally_count(&f->tally, 1000, name, component, outcome);
}

static uint64_t count(Fixture *f, const char *name, const char *component, IndicatorOutcome outcome) {
        assert_int_equal(tally_publish(&f->tally, &f->snapshot), 0);
        for (size_t i = 0; i < f->snapshot.n; i++)
                if (strcmp(f->snapshot.counts[i].name, name) == 0 &&
                    strcmp(f->snapshot.counts[i].component, component) == 0)
                        return f->snapshot.counts[i].n[outcome];
        return 0;
}

static void results_count_by_indicator_and_outcome(void **state) {
        Fixture *f = *state;

        note(f, "A", "c", INDICATOR_STORED);
        note(f, "A", "c", INDICATOR_FAILED);
        note(f, "A", "c", INDICATOR_STORED);
        note(f, "B", NULL, INDICATOR_STORED);
        assert_int_equal(count(f, "A", "c", INDICATOR_STORED), 2);
        assert_int_equal(count(f, "A", "c", INDICATOR_FAILED), 1);
        assert_int_equal(count(f, "A", "c", INDICATOR_REFUSED), 0);
        assert_int_equal(count(f, "B", "", INDICATOR_STORED), 1);
}

static void users_are_counted_separately(void **state) {
        const IndicatorCount *counts;
        Fixture *f = *state;

        note(f, "A", "c", INDICATOR_STORED);
        tally_count(&f->tally, 1001, "A", "c", INDICATOR_REFUSED);
        assert_int_equal(tally_publish(&f->tally, &f->snapshot), 0);
        counts = f->snapshot.counts;
        assert_int_equal(f->snapshot.n, 2);
        assert_int_equal(counts[0].uid, 1000);
        assert_int_equal(counts[0].n[INDICATOR_STORED], 1);
        assert_int_equal(counts[0].n[INDICATOR_REFUSED], 0);
        assert_int_equal(counts[1].uid, 1001);
        assert_int_equal(counts[1].n[INDICATOR_REFUSED], 1);
}

static void store(Fixture *f, uint32_t uid, const char *name, unsigned number) {
        char text[32];

        (void)snprintf(text, sizeof(text), "%s%u", name, number);
        tally_count(&f->tally, uid, text, "\xff\"\n", INDICATOR_STORED);
}

static void beyond_the_limit_the_least_recently_used_is_replaced(void **state) {
        Fixture *f = *state;
        uint64_t n_stored = 0;

        note(f, "first", NULL, INDICATOR_REFUSED);
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
                store(f, 1000 + 256, "theirs", i);
        for (unsigned i = 0; i < 5 * INDICATOR_SERIES_MAX; i++)
                store(f, 1000, "many", i);
        for (unsigned i = 50; i < 100; i++)
                store(f, 1000 + 256, "theirs", i);
        for (unsigned i = 0; i < 100; i++) {
                char name[32];

                (void)snprintf(name, sizeof(name), "theirs%u", i);
                assert_int_equal(count(f, name, "\xff\"\n", INDICATOR_STORED), 1);
        }
        assert_int_equal(count(f, "many999", "\xff\"\n", INDICATOR_STORED), 1);
}

static void the_series_of_a_user_are_forgotten(void **state) {
        Fixture *f = *state;

        for (unsigned i = 0; i < INDICATOR_SERIES_MAX; i++)
                store(f, 1000 + i % 3, "i", i);
        tally_forget(&f->tally, 1001);
        assert_int_equal(count(f, "i1", "\xff\"\n", INDICATOR_STORED), 0);
        assert_int_equal(count(f, "", "", INDICATOR_STORED), INDICATOR_SERIES_MAX / 3 + 1);
        for (unsigned i = 0; i < INDICATOR_SERIES_MAX; i++)
                if (i % 3 != 1)
                        store(f, 1000 + i % 3, "i", i);
        assert_int_equal(count(f, "i0", "\xff\"\n", INDICATOR_STORED), 2);
        assert_int_equal(count(f, "i198", "\xff\"\n", INDICATOR_STORED), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(results_count_by_indicator_and_outcome),
                TEST(users_are_counted_separately),
                TEST(beyond_the_limit_the_least_recently_used_is_replaced),
                TEST(the_names_of_one_user_do_not_displace_those_of_another),
                TEST(the_series_of_a_user_are_forgotten),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
