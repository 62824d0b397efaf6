/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "http/slots.h"

#define N_READERS 3U
#define N_PUBLICATIONS 20000U
#define N_READ_MIN 1000U

static void nothing_is_there_before_the_first_publication(void **state) {
        scoped(slots_freep) Slots *slots = NULL;

        (void)state;
        assert_int_equal(slots_new(&slots, 1), 0);
        assert_null(slots_acquire(slots));
        slots_release(slots, NULL);
        assert_non_null(slots_begin(slots));
        assert_null(slots_acquire(slots));
}

static void a_slot_in_use_is_left_alone(void **state) {
        scoped(slots_freep) Slots *slots = NULL;
        const Snapshot *read;

        (void)state;
        assert_int_equal(slots_new(&slots, 1), 0);
        slots_publish(slots, slots_begin(slots));
        read = slots_acquire(slots);
        assert_non_null(read);

        for (unsigned i = 0; i < 10; i++) {
                Snapshot *filling = slots_begin(slots);

                assert_non_null(filling);
                assert_ptr_not_equal(filling, read);
                slots_publish(slots, filling);
        }

        /* The one that was current at first is free again: whoever reads the current one now makes it the next. */
        slots_release(slots, read);
        assert_ptr_not_equal(slots_acquire(slots), read);
        assert_ptr_equal(slots_begin(slots), read);
}

static void with_every_slot_in_use_there_is_none_to_fill(void **state) {
        scoped(slots_freep) Slots *slots = NULL;
        const Snapshot *held[2];

        (void)state;
        assert_int_equal(slots_new(&slots, 1), 0);
        for (size_t i = 0; i < N_ELEMENTS(held); i++) {
                Snapshot *filling = slots_begin(slots);

                assert_non_null(filling);
                slots_publish(slots, filling);
                held[i] = slots_acquire(slots);
        }

        assert_null(slots_begin(slots));
        for (size_t i = 0; i < N_ELEMENTS(held); i++)
                slots_release(slots, held[i]);
        assert_non_null(slots_begin(slots));
}

static void one_slot_is_enough_where_nobody_is_slow(void **state) {
        scoped(slots_freep) Slots *slots = NULL;
        Snapshot *only;

        (void)state;
        assert_int_equal(slots_new(&slots, 3), 0);
        only = slots_begin(slots);
        slots_publish(slots, only);
        for (unsigned i = 0; i < 10; i++) {
                slots_release(slots, slots_acquire(slots));
                assert_ptr_equal(slots_begin(slots), only);
                slots_publish(slots, only);
        }
}

static void what_was_abandoned_is_not_waited_for(void **state) {
        scoped(slots_freep) Slots *slots = NULL;
        const Snapshot *read;
        Snapshot *filling;

        (void)state;
        assert_int_equal(slots_new(&slots, 1), 0);
        filling = slots_begin(slots);
        slots_abandon(slots);
        assert_null(slots_acquire(slots));
        slots_publish(slots, slots_begin(slots));

        /* In place: there is none. */
        assert_ptr_equal(slots_begin(slots), filling);
        slots_abandon(slots);
        assert_null(slots_acquire(slots));

        /* Beside one that is read: that stays. */
        slots_publish(slots, slots_begin(slots));
        read = slots_acquire(slots);
        assert_ptr_not_equal(slots_begin(slots), read);
        slots_abandon(slots);
        assert_ptr_equal(slots_acquire(slots), read);
        slots_release(slots, read);
        slots_release(slots, read);
}

static void what_a_slow_reader_made_necessary_is_given_back(void **state) {
        scoped(slots_freep) Slots *slots = NULL;
        Snapshot *first, *second;
        const Snapshot *read;

        (void)state;
        assert_int_equal(slots_new(&slots, 1), 0);
        first = slots_begin(slots);
        assert_int_equal(snapshot_reserve_jobs(first, 10), 0);
        slots_publish(slots, first);
        read = slots_acquire(slots);
        second = slots_begin(slots);
        assert_ptr_not_equal(second, first);
        assert_int_equal(snapshot_reserve_jobs(second, 10), 0);
        slots_publish(slots, second);
        slots_release(slots, read);

        for (unsigned i = 0; i < SLOTS_IDLE_MAX; i++) {
                assert_true(first->n_jobs_allocated > 0);
                assert_ptr_equal(slots_begin(slots), second);
                slots_publish(slots, second);
        }
        assert_int_equal(first->n_jobs_allocated, 0);
        assert_true(second->n_jobs_allocated > 0);
}

typedef struct Race {
        Slots *slots;
        atomic_bool is_over;
        atomic_uint n_torn, n_backwards, n_read;
} Race;

/* Every member that the writer sets says the same number, and the number never goes back. */
static void *on_reader(void *userdata) {
        Race *race = userdata;
        uint64_t last = 0;

        while (!atomic_load(&race->is_over)) {
                const Snapshot *snapshot = slots_acquire(race->slots);
                uint64_t v;

                if (!snapshot)
                        continue;
                v = snapshot->realtime_ns;
                if (snapshot->boottime_ns != v || snapshot->self.n_fds_max != v)
                        atomic_fetch_add(&race->n_torn, 1);
                if (v < last)
                        atomic_fetch_add(&race->n_backwards, 1);
                last = v;
                slots_release(race->slots, snapshot);
                atomic_fetch_add(&race->n_read, 1);
        }

        return NULL;
}

static void readers_see_whole_snapshots_in_order(void **state) {
        scoped(slots_freep) Slots *slots = NULL;
        const struct timespec pause = { .tv_nsec = 20000 };
        pthread_t readers[N_READERS];
        Race race = {};

        (void)state;
        assert_int_equal(slots_new(&slots, N_READERS), 0);
        race.slots = slots;
        for (size_t i = 0; i < N_READERS; i++)
                assert_int_equal(pthread_create(&readers[i], NULL, on_reader, &race), 0);

        for (uint64_t v = 1; v <= N_PUBLICATIONS || atomic_load(&race.n_read) < N_READ_MIN; v++) {
                Snapshot *snapshot = slots_begin(slots);

                assert_non_null(snapshot);
                snapshot->realtime_ns = v;
                snapshot->boottime_ns = v;
                snapshot->self.n_fds_max = v;
                slots_publish(slots, snapshot);
                if (v % 8 == 0) /* or they would hardly ever find one */
                        (void)nanosleep(&pause, NULL);
        }

        atomic_store(&race.is_over, true);
        for (size_t i = 0; i < N_READERS; i++)
                pthread_join(readers[i], NULL);
        assert_int_equal(atomic_load(&race.n_torn), 0);
        assert_int_equal(atomic_load(&race.n_backwards), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nothing_is_there_before_the_first_publication),
                cmocka_unit_test(a_slot_in_use_is_left_alone),
                cmocka_unit_test(with_every_slot_in_use_there_is_none_to_fill),
                cmocka_unit_test(one_slot_is_enough_where_nobody_is_slow),
                cmocka_unit_test(what_was_abandoned_is_not_waited_for),
                cmocka_unit_test(what_a_slow_reader_made_necessary_is_given_back),
                cmocka_unit_test(readers_see_whole_snapshots_in_order),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
