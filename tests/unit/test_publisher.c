/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "heap.h"
#include "snapshot/publisher.h"

#define N_READERS 3U
#define N_PUBLICATIONS 20000U
#define N_READ_MIN 1000U

static void no_snapshot_is_current_before_the_first_publication(void **state) {
        scoped(publisher_freep) Publisher *publisher = NULL;
        Snapshot *filling;

        (void)state;
        assert_int_equal(publisher_new(&publisher), 0);
        assert_null(publisher_acquire(publisher));
        publisher_release(publisher, NULL);
        filling = publisher_begin(publisher);
        assert_non_null(filling);
        assert_null(publisher_acquire(publisher));
        publisher_publish(publisher, filling);
        assert_ptr_equal(publisher_acquire(publisher), filling);
        publisher_release(publisher, filling);
}

static void an_acquired_snapshot_is_not_filled_again(void **state) {
        scoped(publisher_freep) Publisher *publisher = NULL;
        const Snapshot *read;

        (void)state;
        assert_int_equal(publisher_new(&publisher), 0);
        publisher_publish(publisher, publisher_begin(publisher));
        read = publisher_acquire(publisher);
        assert_non_null(read);

        for (unsigned i = 0; i < 10; i++) {
                Snapshot *filling = publisher_begin(publisher);

                assert_non_null(filling);
                assert_ptr_not_equal(filling, read);
                publisher_publish(publisher, filling);
        }
        publisher_release(publisher, read);
}

static void two_snapshots_take_turns_while_readers_are_quick(void **state) {
        scoped(publisher_freep) Publisher *publisher = NULL;
        Snapshot *first, *second;

        (void)state;
        assert_int_equal(publisher_new(&publisher), 0);
        first = publisher_begin(publisher);
        publisher_publish(publisher, first);
        second = publisher_begin(publisher);
        assert_ptr_not_equal(first, second);
        publisher_publish(publisher, second);
        for (unsigned i = 0; i < 10; i++) {
                const Snapshot *read = publisher_acquire(publisher);
                Snapshot *filling = publisher_begin(publisher);

                assert_ptr_equal(read, i % 2 ? first : second);
                assert_ptr_equal(filling, i % 2 ? second : first);
                publisher_release(publisher, read);
                publisher_publish(publisher, filling);
        }
}

static void an_abandoned_snapshot_leaves_the_current_one(void **state) {
        scoped(publisher_freep) Publisher *publisher = NULL;
        Snapshot *current, *abandoned;

        (void)state;
        assert_int_equal(publisher_new(&publisher), 0);
        current = publisher_begin(publisher);
        publisher_publish(publisher, current);
        abandoned = publisher_begin(publisher);
        publisher_abandon(publisher, abandoned);
        assert_ptr_equal(publisher_acquire(publisher), current);
        publisher_release(publisher, current);
        assert_ptr_equal(publisher_begin(publisher), abandoned);
        publisher_abandon(publisher, abandoned);
}

/* The sanitizers' allocators have a counter of their own. */
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);

static size_t allocated_bytes(void) {
        if (__sanitizer_get_current_allocated_bytes)
                return __sanitizer_get_current_allocated_bytes();
        return (size_t)heap_look().uordblks + (size_t)heap_look().hblkhd;
}

/* Allocates space for jobs worth a megabyte in each snapshot, so that a leak is noticeable. */
static Snapshot *begin_large(Publisher *publisher) {
        Snapshot *snapshot = publisher_begin(publisher);

        assert_non_null(snapshot);
        assert_int_equal(
                snapshot_jobs_begin(&snapshot->jobs, &(JobsSize){ .n_peaks = (1U << 20) / sizeof(WindowPeaks) }), 0);
        return snapshot;
}

static void snapshots_of_slow_readers_are_freed(void **state) {
        scoped(publisher_freep) Publisher *publisher = NULL;
        const Snapshot *held[8];
        size_t before, n_bytes;

        (void)state;
        assert_int_equal(publisher_new(&publisher), 0);
        before = allocated_bytes();
        for (size_t i = 0; i < N_ELEMENTS(held); i++) {
                publisher_publish(publisher, begin_large(publisher));
                held[i] = publisher_acquire(publisher);
        }
        n_bytes = allocated_bytes() - before;
        assert_true(n_bytes > 7U << 20);
        for (size_t i = 0; i < N_ELEMENTS(held); i++)
                publisher_release(publisher, held[i]);

        publisher_publish(publisher, begin_large(publisher));
        n_bytes = allocated_bytes() - before;
        assert_true(n_bytes > 1U << 20);
        assert_true(n_bytes < 3U << 20);
}

static void large_arrays_are_freed_unless_somebody_reads_them(void **state) {
        scoped(publisher_freep) Publisher *publisher = NULL;
        const Snapshot *read;
        size_t before;

        (void)state;
        assert_int_equal(publisher_new(&publisher), 0);
        before = allocated_bytes();
        publisher_publish(publisher, begin_large(publisher));
        read = publisher_acquire(publisher);
        publisher_publish(publisher, begin_large(publisher));
        publisher_trim(publisher);
        assert_true(allocated_bytes() - before > 2000000);
        assert_non_null(read->jobs.peaks);

        publisher_release(publisher, read);
        publisher_trim(publisher);
        assert_true(allocated_bytes() - before > 1000000);
        assert_true(allocated_bytes() - before < 1500000);
        publisher_publish(publisher, begin_large(publisher));
        assert_true(allocated_bytes() - before > 2000000);
}

static void small_arrays_are_kept(void **state) {
        scoped(publisher_freep) Publisher *publisher = NULL;
        const WindowPeaks *peaks;
        Snapshot *snapshot;

        (void)state;
        assert_int_equal(publisher_new(&publisher), 0);
        snapshot = publisher_begin(publisher);
        assert_int_equal(snapshot_jobs_begin(&snapshot->jobs, &(JobsSize){ .n_peaks = 20 }), 0);
        peaks = snapshot->jobs.peaks;
        publisher_abandon(publisher, snapshot);
        publisher_trim(publisher);
        snapshot = publisher_begin(publisher);
        assert_ptr_equal(snapshot->jobs.peaks, peaks);
        publisher_abandon(publisher, snapshot);
}

#define N_LARGE 1000U /* windows, which are not kept */

typedef struct Race {
        Publisher *publisher;
        atomic_bool is_over;
        atomic_uint n_torn, n_backwards, n_read;
} Race;

/* All members that the writer sets have the same number, which never decreases. */
static void *on_reader(void *userdata) {
        Race *race = userdata;
        uint64_t last = 0;

        while (!atomic_load(&race->is_over)) {
                const Snapshot *snapshot = publisher_acquire(race->publisher);
                uint64_t v;

                if (!snapshot)
                        continue;
                v = snapshot->node.realtime_ns;
                if (snapshot->node.boottime_ns != v || snapshot->self.n_fds_max != v ||
                    snapshot->jobs.peaks[0].n_observations != v)
                        atomic_fetch_add(&race->n_torn, 1);
                if (v < last)
                        atomic_fetch_add(&race->n_backwards, 1);
                last = v;
                publisher_release(race->publisher, snapshot);
                atomic_fetch_add(&race->n_read, 1);
        }

        return NULL;
}

static void readers_see_whole_snapshots_in_order(void **state) {
        scoped(publisher_freep) Publisher *publisher = NULL;
        const struct timespec pause = { .tv_nsec = 20000 };
        pthread_t readers[N_READERS];
        Race race = {};

        (void)state;
        assert_int_equal(publisher_new(&publisher), 0);
        race.publisher = publisher;
        for (size_t i = 0; i < N_READERS; i++)
                assert_int_equal(pthread_create(&readers[i], NULL, on_reader, &race), 0);

        for (uint64_t v = 1; v <= N_PUBLICATIONS || atomic_load(&race.n_read) < N_READ_MIN; v++) {
                Snapshot *snapshot = publisher_begin(publisher);

                assert_non_null(snapshot);
                snapshot->node.realtime_ns = v;
                snapshot->node.boottime_ns = v;
                snapshot->self.n_fds_max = v;
                assert_int_equal(
                        snapshot_jobs_begin(&snapshot->jobs, &(JobsSize){ .n_peaks = v % 16 == 0 ? N_LARGE : 1 }), 0);
                (void)snapshot_jobs_copy_peaks(&snapshot->jobs, &(WindowPeaks){ .n_observations = v });
                publisher_publish(publisher, snapshot);
                if (v % 2 == 0)
                        publisher_trim(publisher);
                if (v % 8 == 0) /* otherwise readers would rarely find a snapshot */
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
                cmocka_unit_test(no_snapshot_is_current_before_the_first_publication),
                cmocka_unit_test(an_acquired_snapshot_is_not_filled_again),
                cmocka_unit_test(two_snapshots_take_turns_while_readers_are_quick),
                cmocka_unit_test(an_abandoned_snapshot_leaves_the_current_one),
                cmocka_unit_test(snapshots_of_slow_readers_are_freed),
                cmocka_unit_test(large_arrays_are_freed_unless_somebody_reads_them),
                cmocka_unit_test(small_arrays_are_kept),
                cmocka_unit_test(readers_see_whole_snapshots_in_order),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
