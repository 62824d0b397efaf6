/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/snapshot/recent.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "snapshot/recent.h"

static void add_point(Recent *recent, uint64_t ms, size_t n_cores) {
        static const uint8_t cores[4] = { 1, 2, 3, 4 };
        RecentPoint point = { .end_realtime_ms = ms };

        assert_int_equal(recent_add(recent, &point, cores, n_cores), 0);
}

static size_t count(const Recent *recent) {
        size_t n = 0;

        for (size_t i = 0; i < recent->n_chunks; i++)
                n += recent->n_points[i];
        return n;
}

static void the_last_points_are_kept(void **state) {
        Recent recent = {};

        (void)state;
        for (uint64_t i = 1; i <= 2 * RECENT_POINTS_MAX + 5; i++)
                add_point(&recent, i, 4);
        assert_in_range(count(&recent), RECENT_POINTS_MAX - RECENT_CHUNK_POINTS + 1, RECENT_POINTS_MAX);
        assert_int_equal(recent.chunks[recent.n_chunks - 1]->points[4].end_realtime_ms, 2 * RECENT_POINTS_MAX + 5);
        assert_int_equal(recent.chunks[0]->cores[7], 4);
        recent_deinit(&recent);
        assert_int_equal(recent.n_chunks, 0);
}

static void a_copy_keeps_what_it_had(void **state) {
        Recent recent = {}, copy = {};

        (void)state;
        add_point(&recent, 1, 2);
        recent_share(&recent, &copy);
        for (uint64_t i = 2; i <= RECENT_POINTS_MAX + RECENT_CHUNK_POINTS; i++)
                add_point(&recent, i, 2);
        assert_int_equal(count(&copy), 1);
        assert_int_equal(copy.chunks[0]->points[0].end_realtime_ms, 1);
        recent_share(&recent, &copy);
        assert_int_equal(count(&copy), count(&recent));
        recent_deinit(&recent);
        assert_int_equal(copy.chunks[0]->cores[1], 2);
        recent_deinit(&copy);
}

/* 128 KiB and 600 bytes for each core. */
static void the_memory_is_bounded(void **state) {
        size_t n_cores = 256;

        (void)state;
        assert_true(RECENT_CHUNKS_MAX * (sizeof(RecentChunk) + RECENT_CHUNK_POINTS * n_cores) + sizeof(Recent) <=
                    128 * 1024 + 600 * n_cores);
}

static void another_number_of_cores_begins_a_chunk(void **state) {
        Recent recent = {};

        (void)state;
        add_point(&recent, 1, 2);
        add_point(&recent, 2, 4);
        add_point(&recent, 3, 0);
        assert_int_equal(recent.n_chunks, 3);
        assert_int_equal(recent.chunks[1]->n_cores, 4);
        recent_deinit(&recent);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_last_points_are_kept),
                cmocka_unit_test(a_copy_keeps_what_it_had),
                cmocka_unit_test(the_memory_is_bounded),
                cmocka_unit_test(another_number_of_cores_begins_a_chunk),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
