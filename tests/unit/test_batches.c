/* SPDX-License-Identifier: Apache-2.0 */
/* Which row sets are stored in one transaction, and in which order. */
/* tests: daemon/store/batches.c daemon/store/table/rowset.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/batches.h"

#define BYTES_MAX (1U << 20)
#define PART ((size_t)ROWSET_SMALL_ROWS_MAX)

/* Cuts sets of so many rows, with 100 bytes a row, into batches, and checks the numbers of sets in these. */
static void check_cuts(const size_t *n_rows, size_t n, const size_t *expected) {
        Batches batches = {};
        RowSet sets[8] = {};
        size_t i = 0;

        assert_true(n <= N_ELEMENTS(sets));
        for (size_t k = 0; k < n; k++)
                sets[k] = (RowSet){ .n_rows = n_rows[k],
                                    .n_bytes = 100 * n_rows[k],
                                    .next = k + 1 < n ? &sets[k + 1] : NULL };
        batches_add(&batches, sets, 1);
        while (!batches_are_empty(&batches)) {
                RowBatch batch = batches_next(&batches, BYTES_MAX, true, 1);
                size_t n_sets = 0, n_sum = 0;

                for (const RowSet *set = batch.sets; set; set = set->next) {
                        n_sets++;
                        n_sum += set->n_rows;
                }
                assert_false(batch.is_part);
                assert_int_equal(batch.n_rows, n_sum);
                assert_int_equal(batch.n_bytes, 100 * n_sum);
                assert_int_equal(n_sets, expected[i++]);
        }
        assert_int_equal(expected[i], 0);
}

#define CHECK_CUTS(rows, ...)                                                                                          \
        check_cuts((const size_t[])rows, N_ELEMENTS(((const size_t[])rows)), (const size_t[]){ __VA_ARGS__, 0 })
#define ROWS(...) { __VA_ARGS__ }

static void sets_are_stored_together_up_to_the_limits(void **state) {
        (void)state;
        CHECK_CUTS(ROWS(1, 1, 1), 3);
        CHECK_CUTS(ROWS(1000, 1000, 1000, 1000, 1000), 4, 1);
        CHECK_CUTS(ROWS(3000, 1096, 1), 2, 1);
        CHECK_CUTS(ROWS(20000, 1), 1, 1); /* also beyond the limit of bytes */
}

static void a_large_set_does_not_join_small_ones(void **state) {
        (void)state;
        CHECK_CUTS(ROWS(1, 1, 1000, 1000), 2, 2);
        CHECK_CUTS(ROWS(1000, 1, 1), 3); /* these wait for the first anyway */
        CHECK_CUTS(ROWS(PART / 2, PART / 2 - 1, 1, 2 * PART, 1), 3, 2);
        CHECK_CUTS(ROWS(PART + 1, 2 * PART), 2);
        CHECK_CUTS(ROWS(PART, PART + 1), 1, 1);
}

/* --- several users ------------------------------------------------------------------------------- */

static const RowKind in_parts = { .has_parts = true, .may_wait = true }, whole = {};
static const RowKind waiting = { .may_wait = true };

static RowSet set_of(uint64_t user, const RowKind *kind, size_t n_rows) {
        return (RowSet){ .cookie.ticket.user = user, .kind = kind, .n_rows = n_rows, .n_bytes = 100 * n_rows };
}

static void add(Batches *batches, RowSet *sets, size_t n, uint64_t now_ns) {
        for (size_t i = 0; i < n; i++)
                sets[i].next = i + 1 < n ? &sets[i + 1] : NULL;
        batches_add(batches, sets, now_ns);
}

/* Takes the next batch, which must begin with this set; "stores" its part. Returns the number of its sets. */
static size_t take(Batches *batches, const RowSet *first, size_t n_rows, uint64_t now_ns) {
        RowBatch batch = batches_next(batches, BYTES_MAX, true, now_ns);
        RowPart *part = &batch.sets->part;
        size_t n = 0;

        assert_ptr_equal(batch.sets, first);
        assert_int_equal(batch.n_rows, n_rows);
        for (const RowSet *set = batch.sets; set; set = set->next)
                n++;
        if (!batch.is_part)
                return n;

        part->n_end = part->n_done + n_rows;
        part->offset_end = 100 * part->n_end;
        if (part->n_end < batch.sets->n_rows)
                batches_continue(batches, batch.sets);
        return n;
}

static void small_sets_of_others_go_between_the_parts_of_a_large_set(void **state) {
        RowSet sets[] = { set_of(1, &in_parts, 2 * PART + 44), set_of(1, &in_parts, 1), set_of(2, &whole, 1),
                          set_of(3, &in_parts, 2) };
        RowSet later[] = { set_of(2, &whole, 5) };
        Batches batches = {};

        (void)state;
        add(&batches, sets, 4, 1);
        assert_int_equal(take(&batches, &sets[2], 3, 1), 2);
        assert_int_equal(take(&batches, &sets[0], PART, 1), 1);
        assert_int_equal(take(&batches, &sets[0], PART, 1), 1);
        add(&batches, later, 1, 1);
        assert_int_equal(take(&batches, &later[0], 5, 1), 1);
        assert_int_equal(take(&batches, &sets[0], 44, 1), 1);
        assert_int_equal(take(&batches, &sets[1], 1, 1), 1); /* the user's own order */
        assert_true(batches_are_empty(&batches));
}

static void a_large_set_goes_on_while_others_always_wait(void **state) {
        RowSet sets[] = { set_of(1, &in_parts, 2 * PART), set_of(2, &whole, 50), set_of(3, &whole, 50),
                          set_of(2, &whole, 50) };
        Batches batches = {};

        (void)state;
        add(&batches, sets, 4, 1);
        assert_int_equal(take(&batches, &sets[1], 50, 1), 1); /* one small batch at a time */
        assert_int_equal(take(&batches, &sets[0], PART, 1), 1);
        assert_int_equal(take(&batches, &sets[2], 50, 1), 1);
        assert_int_equal(take(&batches, &sets[0], PART, 1), 1);
        assert_int_equal(take(&batches, &sets[3], 50, 1), 1);
}

/* Takes a part of the set, joins what came meanwhile, and gives the rest of the set back. Returns the number of sets
 * that join. */
static size_t take_joining(Batches *batches, const RowSet *first, RowSet *later, size_t n_later, RowBatch *ret) {
        RowBatch part = batches_next(batches, BYTES_MAX, true, 1);
        size_t n = 0;

        assert_ptr_equal(part.sets, first);
        assert_true(part.is_part);
        add(batches, later, n_later, 1);
        *ret = batches_join(batches, part.sets);
        for (const RowSet *set = ret->sets; set; set = set->next)
                n++;
        part.sets->part.n_end = part.sets->part.n_done + PART;
        batches_continue(batches, part.sets);
        return n;
}

/* Adds a small set of user 2, which is stored, and a large set of user 1, whose first part is the next batch. */
static void begin_parts(Batches *batches, RowSet sets[static 2], size_t n_rows) {
        sets[0] = set_of(2, &whole, 1);
        sets[1] = set_of(1, &in_parts, n_rows);
        add(batches, sets, 2, 1);
        assert_int_equal(take(batches, &sets[0], 1, 1), 1);
}

static void small_sets_of_others_that_come_during_a_part_join_it(void **state) {
        RowSet later[] = { set_of(1, &in_parts, 1), set_of(2, &whole, 5), set_of(3, &in_parts, 2),
                           set_of(2, &in_parts, 2 * PART) };
        Batches batches = {};
        RowSet sets[2];
        RowBatch joining;

        (void)state;
        begin_parts(&batches, sets, 3 * PART);
        assert_int_equal(take_joining(&batches, &sets[1], later, N_ELEMENTS(later), &joining), 2);
        assert_ptr_equal(joining.sets, &later[1]);
        assert_int_equal(joining.n_rows, 7);
        assert_int_equal(joining.n_bytes, 700);
        assert_int_equal(take(&batches, &sets[1], PART, 1), 1);
        assert_int_equal(take(&batches, &sets[1], PART, 1), 1);
        assert_int_equal(take(&batches, &later[0], 1, 1), 1);
        assert_int_equal(take(&batches, &later[3], PART, 1), 1);
}

static void rows_on_which_others_may_depend_do_not_join(void **state) {
        RowSet later[] = { set_of(2, &whole, 1), set_of(1, &whole, 1), set_of(2, &whole, 1) },
               of_nobody[] = { set_of(0, &whole, 1) };
        Batches batches = {};
        RowSet sets[2];
        RowBatch joining;

        (void)state;
        begin_parts(&batches, sets, 3 * PART);
        assert_int_equal(take_joining(&batches, &sets[1], later, N_ELEMENTS(later), &joining), 1);
        assert_int_equal(take_joining(&batches, &sets[1], of_nobody, 1, &joining), 0);
        assert_int_equal(take(&batches, &sets[1], PART, 1), 1);
        assert_int_equal(take(&batches, &later[1], 3, 1), 3);
}

static void sets_that_could_not_join_are_the_first_again(void **state) {
        RowSet later[] = { set_of(2, &whole, 1), set_of(3, &whole, 1), set_of(1, &in_parts, 1) };
        Batches batches = {};
        RowSet sets[2];
        RowBatch joining;

        (void)state;
        begin_parts(&batches, sets, 2 * PART);
        assert_int_equal(take_joining(&batches, &sets[1], later, N_ELEMENTS(later), &joining), 2);
        batches_give_back(&batches, joining.sets);
        assert_int_equal(take(&batches, &later[0], 2, 1), 2);
        assert_int_equal(take(&batches, &sets[1], PART, 1), 1);
        assert_int_equal(take(&batches, &later[2], 1, 1), 1);
}

/* A report of events alone has no rows that could be cut. */
static void a_large_set_without_rows_is_stored_at_once(void **state) {
        RowSet sets[] = { set_of(1, &in_parts, 0), set_of(2, &whole, 1) };
        Batches batches = {};

        (void)state;
        sets[0].n_bytes = 2 * ROWSET_SMALL_BYTES_MAX;
        add(&batches, sets, 2, 1);
        assert_int_equal(take(&batches, &sets[1], 1, 1), 1);
        assert_int_equal(take(&batches, &sets[0], 0, 1), 1);
        assert_true(batches_are_empty(&batches));
}

static void small_sets_of_others_go_before_large_ones_without_parts(void **state) {
        RowSet sets[] = { set_of(1, &waiting, 200), set_of(1, &waiting, 300), set_of(2, &whole, 1),
                          set_of(1, &whole, 1) };
        RowSet later[] = { set_of(3, &whole, 2), set_of(1, &waiting, 400) };
        Batches batches = {};

        (void)state;
        add(&batches, sets, 4, 1);
        assert_int_equal(take(&batches, &sets[2], 1, 1), 1);
        add(&batches, later, 2, 1);
        assert_int_equal(take(&batches, &sets[0], 200, 1), 1); /* the users in turn */
        /* the user's set behind, on which others may depend, keeps its place */
        assert_int_equal(take(&batches, &sets[1], 300, 1), 1);
        assert_int_equal(take(&batches, &sets[3], 3, 1), 2);
        assert_int_equal(take(&batches, &later[1], 400, 1), 1);
        assert_true(batches_are_empty(&batches));
}

static void large_sets_of_a_user_who_is_alone_are_stored_together(void **state) {
        RowSet sets[] = { set_of(1, &waiting, 200), set_of(1, &waiting, 300) };
        Batches batches = {};

        (void)state;
        add(&batches, sets, 2, 1);
        assert_int_equal(take(&batches, &sets[0], 500, 1), 2);
}

static void rows_on_which_others_may_depend_keep_their_place(void **state) {
        RowSet of_user[] = { set_of(1, &in_parts, PART + 7), set_of(1, &whole, 1), set_of(2, &whole, 1) };
        RowSet of_nobody[] = { set_of(1, &in_parts, PART + 7), set_of(0, &whole, 1), set_of(2, &whole, 1) };
        Batches batches = {};

        (void)state;
        add(&batches, of_user, 3, 1);
        assert_int_equal(take(&batches, &of_user[0], PART, 1), 1);
        assert_int_equal(take(&batches, &of_user[0], 7, 1), 1);
        assert_int_equal(take(&batches, &of_user[1], 2, 1), 2);
        add(&batches, of_nobody, 3, 1);
        assert_int_equal(take(&batches, &of_nobody[0], PART, 1), 1);
        assert_int_equal(take(&batches, &of_nobody[0], 7, 1), 1);
        assert_int_equal(take(&batches, &of_nobody[1], 2, 1), 2);
}

static void the_sets_of_a_user_who_is_alone_are_not_split(void **state) {
        RowSet other[] = { set_of(2, &whole, 1) }, large[] = { set_of(1, &in_parts, 1000) },
               more[] = { set_of(1, &in_parts, 1000) };
        Batches batches = {};

        (void)state;
        add(&batches, other, 1, 1);
        assert_int_equal(take(&batches, &other[0], 1, 1), 1);
        add(&batches, large, 1, 2);
        assert_int_equal(take(&batches, &large[0], PART, 2), 1);
        assert_int_equal(take(&batches, &large[0], 1000 - PART, 2 + BATCHES_SHARED_NS), 1); /* the rest at once */
        add(&batches, more, 1, 2 + BATCHES_SHARED_NS);
        assert_int_equal(take(&batches, &more[0], 1000, 2 + BATCHES_SHARED_NS), 1);
}

static void a_set_whose_parts_are_lost_begins_again(void **state) {
        RowSet sets[] = { set_of(1, &in_parts, 2 * PART + 44), set_of(2, &whole, 1) };
        Batches batches = {};

        (void)state;
        add(&batches, sets, 2, 1);
        (void)take(&batches, &sets[1], 1, 1);
        (void)take(&batches, &sets[0], PART, 1);
        batches_begin_again(&batches);
        assert_int_equal(sets[0].part.n_done, 0);
        (void)take(&batches, &sets[0], PART, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sets_are_stored_together_up_to_the_limits),
                cmocka_unit_test(a_large_set_does_not_join_small_ones),
                cmocka_unit_test(small_sets_of_others_go_between_the_parts_of_a_large_set),
                cmocka_unit_test(a_large_set_goes_on_while_others_always_wait),
                cmocka_unit_test(small_sets_of_others_that_come_during_a_part_join_it),
                cmocka_unit_test(rows_on_which_others_may_depend_do_not_join),
                cmocka_unit_test(sets_that_could_not_join_are_the_first_again),
                cmocka_unit_test(a_large_set_without_rows_is_stored_at_once),
                cmocka_unit_test(small_sets_of_others_go_before_large_ones_without_parts),
                cmocka_unit_test(large_sets_of_a_user_who_is_alone_are_stored_together),
                cmocka_unit_test(rows_on_which_others_may_depend_keep_their_place),
                cmocka_unit_test(the_sets_of_a_user_who_is_alone_are_not_split),
                cmocka_unit_test(a_set_whose_parts_are_lost_begins_again),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
