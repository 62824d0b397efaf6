/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/indicators/kpi_queue.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "indicators/kpi_queue.h"

static Ticket ticket_of(uint64_t number) {
        return (Ticket){ .connection = 1, .generation = 1, .number = number, .user = 1 };
}

/* Makes n series of a user. */
static LiveKpis make(uint32_t uid, unsigned n) {
        Property property = { .name = "rate", .is_result = true, .direction = DIRECTION_HIGHER };
        const IndicatorModel model = { .name = "A", .properties = &property, .n_properties = 1 };
        Member result[] = { { "rate", { .type = VALUE_INT, .integer = 1 } } };
        const Value results = { .type = VALUE_OBJECT, .members = result, .n_members = 1 };
        LiveKpis kpis = {};
        char component[16];

        for (unsigned i = 0; i < n; i++) {
                const Submission item = { .indicator = { .name = "A", .component = component, .result = &results },
                                          .model = &model };

                (void)snprintf(component, sizeof(component), "c%u", i);
                assert_int_equal(live_kpis_add(&kpis, uid, &item, 1), 1);
        }
        assert_int_equal(kpis.n, n);
        return kpis;
}

static size_t put_of_user(KpiQueue *queue, uint32_t uid, uint64_t number, unsigned n) {
        LiveKpis kpis = make(uid, n);
        size_t n_dropped = kpi_queue_put(queue, ticket_of(number), &kpis);

        assert_int_equal(kpis.n, 0);
        return n_dropped;
}

static size_t put(KpiQueue *queue, uint64_t number, unsigned n) {
        return put_of_user(queue, 1, number, n);
}

static size_t take(KpiQueue *queue, uint64_t number) {
        LiveKpis kpis = kpi_queue_take(queue, ticket_of(number));
        size_t n = kpis.n;

        live_kpis_deinit(&kpis);
        return n;
}

static void requests_are_completed_in_any_order(void **state) {
        KpiQueue queue = {};

        (void)state;
        for (unsigned round = 0; round < 2; round++) {
                for (unsigned i = 1; i <= 4; i++)
                        assert_int_equal(put(&queue, i, i), 0);
                assert_int_equal(put(&queue, 5, 0), 0); /* without KPIs */
                assert_int_equal(take(&queue, 5), 0);
                assert_int_equal(take(&queue, 4), 4);
                assert_int_equal(take(&queue, 1), 1);
                assert_int_equal(take(&queue, 1), 0);
                assert_int_equal(put(&queue, 6, 6), 0);
                assert_int_equal(take(&queue, 3), 3);
                assert_int_equal(take(&queue, 6), 6);
                assert_int_equal(queue.n_series, 2);
                assert_int_equal(take(&queue, 2), 2);
                assert_int_equal(queue.n_series, 0);
        }
        assert_int_equal(put(&queue, 7, 1), 0);
        kpi_queue_deinit(&queue);
}

static void beyond_the_limit_the_largest_request_loses_its_series(void **state) {
        const unsigned n_large = KPI_QUEUE_SERIES_MAX / LIVE_KPIS_MAX;
        KpiQueue queue = {};

        (void)state;
        assert_int_equal(put(&queue, 1, 1), 0);
        for (unsigned i = 0; i + 1 < n_large; i++)
                assert_int_equal(put(&queue, 10 + i, LIVE_KPIS_MAX), 0);
        assert_int_equal(put(&queue, 2, LIVE_KPIS_MAX), LIVE_KPIS_MAX); /* the newest of the largest */
        assert_int_equal(put(&queue, 3, LIVE_KPIS_MAX - 1), 0);
        assert_int_equal(put(&queue, 4, 1), LIVE_KPIS_MAX);
        assert_true(queue.n_series <= KPI_QUEUE_SERIES_MAX);
        assert_int_equal(take(&queue, 2), 0);
        for (unsigned i = 0; i + 2 < n_large; i++)
                assert_int_equal(take(&queue, 10 + i), LIVE_KPIS_MAX);
        assert_int_equal(take(&queue, 10 + n_large - 2), 0);
        assert_int_equal(take(&queue, 1) + take(&queue, 3) + take(&queue, 4), LIVE_KPIS_MAX + 1);
        assert_int_equal(queue.n_series, 0);
        assert_null(queue.first);
}

static void many_small_requests_of_a_user_leave_the_series_of_others(void **state) {
        const unsigned n_small = KPI_QUEUE_SERIES_MAX - LIVE_KPIS_MAX;
        KpiQueue queue = {};

        (void)state;
        assert_int_equal(put_of_user(&queue, 2 + 256, 1, LIVE_KPIS_MAX), 0);
        for (unsigned i = 0; i < n_small; i++)
                assert_int_equal(put_of_user(&queue, 2, 10 + i, 1), 0);
        assert_int_equal(put_of_user(&queue, 3, 2, 5), 5); /* of the user with many: five requests */
        assert_int_equal(take(&queue, 1), LIVE_KPIS_MAX);
        assert_int_equal(take(&queue, 2), 5);
        assert_int_equal(queue.n_series, n_small - 5);
        kpi_queue_deinit(&queue);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(requests_are_completed_in_any_order),
                cmocka_unit_test(beyond_the_limit_the_largest_request_loses_its_series),
                cmocka_unit_test(many_small_requests_of_a_user_leave_the_series_of_others),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
