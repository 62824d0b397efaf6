/* SPDX-License-Identifier: Apache-2.0 */
#include "client/spdl/spdl_log_write.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/text.h"
#include "client/pipeline/interval_rows.h"
#include "util/scoped.h"

#define MICROSECONDS_MAX 1e-4 /* longer times are written in ms, and from a second on in s */

static double number(const Value *object, const char *key) {
        const Value *value = value_get(object, key);

        return value && value_is_number(value) ? value_number(value) : 0;
}

static int compare_ends(const void *a, const void *b) {
        const Value *const *x = a, *const *y = b;
        double left = number(*x, "end_ms"), right = number(*y, "end_ms");

        return (left > right) - (left < right);
}

static void put_time(Buffer *out, const char *before, double s) {
        double scaled = s < MICROSECONDS_MAX ? 1e6 * s : s < 1 ? 1e3 * s : s;

        buffer_printf(out, "%s%6.1f [%3s]", before, scaled, s < MICROSECONDS_MAX ? "us" : s < 1 ? "ms" : "sec");
}

static void put_tasks(Buffer *out, const Value *interval) {
        buffer_printf(out, "\tCompleted %5.0f tasks (%3.0f failed). ", number(interval, "num_tasks"), number(interval, "num_failures"));
        put_time(out, "Ave task time: ", number(interval, "ave_time"));
        put_time(out, ". P90: ", number(interval, "p90_time"));
        put_time(out, ". P99: ", number(interval, "p99_time"));
        buffer_puts(out, ".\n");
}

static void put_queue(Buffer *out, const Value *interval) {
        const Value *occupancy = value_get_given(interval, "occupancy_rate");

        buffer_printf(out, "_queue]\tProcessed %5.0f items in ", number(interval, "num_items"));
        put_time(out, "", number(interval, "elapsed_s"));
        buffer_printf(out, " (QPS: %6.1f) ", number(interval, "qps"));
        put_time(out, "Ave wait time: put: ", number(interval, "ave_put_time"));
        put_time(out, ", get (by next stage): ", number(interval, "ave_get_time"));
        put_time(out, ". P90: put: ", number(interval, "p90_put_time"));
        put_time(out, ", get: ", number(interval, "p90_get_time"));
        put_time(out, ". P99: put: ", number(interval, "p99_put_time"));
        put_time(out, ", get: ", number(interval, "p99_get_time"));
        if (occupancy)
                buffer_printf(out, ". Occupancy rate: %.0f%%\n", floor(100 * value_number(occupancy)));
        else
                buffer_puts(out, ". Occupancy rate: nan%\n");
}

static void put_line(Buffer *out, const Value *interval) {
        const char *part = value_get_string(interval, "part") ?: "";
        uint64_t end_ms = (uint64_t)number(interval, "end_ms");
        char end[TEXT_MAX];

        text_time(end_ms, end);
        buffer_printf(out, "%s,%03u [%s", end, (unsigned)(end_ms % 1000), value_get_string(interval, "stage") ?: "");
        if (strcmp(part, "queue") == 0) {
                put_queue(out, interval);
                return;
        }
        buffer_putc(out, ']');
        put_tasks(out, interval);
}

int spdl_log_write(const Value *answer, Buffer *out, size_t *ret_n) {
        scoped(interval_rows_deinit) IntervalRows rows = {};
        int r;

        r = interval_rows_init(&rows, answer);
        if (r < 0)
                return r;
        qsort(rows.items, rows.n, sizeof(Value *), compare_ends);
        for (size_t i = 0; i < rows.n; i++)
                put_line(out, rows.items[i]);
        *ret_n = rows.n;
        return buffer_error(out);
}
