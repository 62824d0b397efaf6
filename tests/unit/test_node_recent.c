/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "http/node/node_recent.h"
#include "util/clock.h"
#include "util/scoped.h"

/* Points of two cores, of which the second goes offline in the last point. */
static void fill(Snapshot *snapshot) {
        static const uint8_t cores[][2] = { { 10, 90 }, { 20, 80 }, { 30, RECENT_UNKNOWN } };

        *snapshot = (Snapshot){ .node.interval_ns = NS_PER_S };
        for (size_t i = 0; i < 3; i++) {
                RecentPoint point = { .end_realtime_ms = 1000 * (i + 1) };

                for (Series series = 0; series < N_SERIES; series++)
                        point.values[series] = series == 0 ? (float)i + 0.5F : NAN;
                assert_int_equal(recent_add(&snapshot->node.recent, &point, cores[i], 2), 0);
        }
}

static const char *answer(const Snapshot *snapshot, const char *since, Response *response) {
        const Target target = { .parameters = { { "since_ms", since } }, .n_parameters = since ? 1 : 0 };

        buffer_clear(response->body);
        response->status = 0;
        node_recent_answer(&target, &(Sources){ .snapshot = snapshot }, response);
        assert_int_equal(buffer_error(response->body), 0);
        return response->body->text ?: "";
}

static void points_since_a_time_are_listed(void **state) {
        scoped(buffer_deinit) Buffer body = {};
        Response response = { .body = &body };
        Snapshot snapshot;

        (void)state;
        fill(&snapshot);
        assert_non_null(strstr(answer(&snapshot, NULL, &response),
                               "{\"interval_ms\":1000,\"times_ms\":[1000,2000,3000],\"series\":{"));
        assert_non_null(strstr(body.text, "\":[0.5,1.5,2.5],\""));
        assert_non_null(strstr(body.text, "\":[null,null,null]"));
        assert_non_null(strstr(body.text, "\"cores\":[[10,20,30],[90,80,null]]}"));
        assert_non_null(strstr(answer(&snapshot, "2000", &response), "\"times_ms\":[3000]"));
        assert_non_null(strstr(body.text, "\"cores\":[[30],[null]]}"));
        assert_non_null(strstr(answer(&snapshot, "3000", &response), "\"times_ms\":[],"));
        (void)answer(&snapshot, "-1", &response);
        assert_int_equal(response.status, 400);
        recent_deinit(&snapshot.node.recent);
}

static void equipment_has_series_only_where_it_is(void **state) {
        scoped(buffer_deinit) Buffer body = {};
        Response response = { .body = &body };
        Snapshot snapshot;

        (void)state;
        fill(&snapshot);
        assert_null(strstr(answer(&snapshot, NULL, &response), "gpu"));
        assert_null(strstr(body.text, "\"power\""));
        assert_non_null(strstr(body.text, "\"pressure_io\":[null,null,null]},"));
        snapshot.node.recent.chunks[0]->points[1].values[SERIES_GPU_POWER] = 250;
        assert_non_null(strstr(answer(&snapshot, NULL, &response),
                               "\"pressure_io\":[null,null,null],\"gpu_power\":[null,250,null]},"));
        assert_null(strstr(answer(&snapshot, "2000", &response), "gpu"));
        recent_deinit(&snapshot.node.recent);
}

static void each_point_is_one_event(void **state) {
        scoped(buffer_deinit) Buffer out = {}, body = {};
        Response response = { .body = &body };
        Snapshot snapshot = {};
        uint64_t position = 0;

        (void)state;
        node_recent_stream(&(Target){}, &(Sources){ .snapshot = &snapshot }, &response);
        assert_non_null(response.events);

        /* Nothing is there yet. */
        response.events(&snapshot, &position, &out);
        assert_string_equal(out.text, "retry: 2000\n\n");

        fill(&snapshot);
        buffer_clear(&out);
        response.events(&snapshot, &position, &out);
        assert_non_null(strstr(out.text, "event: sample\ndata: {\"interval_ms\":1000,\"times_ms\":[3000],"));
        assert_non_null(strstr(out.text, "\"cores\":[[30],[null]]}\n\n"));
        assert_int_equal(position, 3000);

        buffer_clear(&out);
        response.events(&snapshot, &position, &out);
        assert_int_equal(out.n, 0);
        recent_deinit(&snapshot.node.recent);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(points_since_a_time_are_listed),
                cmocka_unit_test(equipment_has_series_only_where_it_is),
                cmocka_unit_test(each_point_is_one_event),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
