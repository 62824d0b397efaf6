/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: records that the store keeps: a meter, a window or a usage
 *
 * Each text is tried as all of them. What is read must be usable like any other, and must be the same when it is
 * written and read once more.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/meter.h"
#include "measure/usage.h"
#include "snapshot/window.h"
#include "util/clock.h"
#include "util/parse.h"

#define BOOT "boot"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void advance(Meter *meter, uint64_t boottime_ns) {
        SampleDisk disks[] = { { .name = "sda", .read_bytes = 5 } };
        SampleNet nets[] = { { .name = "eth0", .class = NET_PHYSICAL, .sent_bytes = 5 } };
        SampleCpu cpus[] = { { .online = true } };
        Sample sample = {
                .boottime_ns = boottime_ns,
                .realtime_ns = boottime_ns,
                .have = (1U << N_SOURCES) - 1,
                .cpus = cpus,
                .n_cpus = 1,
                .n_online = 1,
                .disks = disks,
                .n_disks = 1,
                .nets = nets,
                .n_nets = 1,
        };
        Observation observation;

        assert(meter_advance(meter, &sample, &observation) >= 0);
}

static void fuzz_meter(const char *text) {
        scoped(meter_freep) Meter *meter = NULL;
        scoped(freep) char *once = NULL;
        scoped(freep) char *twice = NULL;
        int r;

        assert(meter_new(&meter, NS_PER_S) == 0);
        r = meter_restore(meter, text, BOOT);
        assert(r == 0 || r == METER_OTHER_BOOT || r == METER_MALFORMED);
        if (r == METER_MALFORMED)
                return;

        assert(meter_save(meter, BOOT, &once) == 0);
        assert(meter_restore(meter, once, BOOT) == 0);
        assert(meter_save(meter, BOOT, &twice) == 0);
        assert(strcmp(once, twice) == 0);

        advance(meter, meter_totals(meter)->boottime_ns + NS_PER_S);
        advance(meter, meter_totals(meter)->boottime_ns + NS_PER_S);
}

static void fuzz_window(const char *text) {
        scoped(freep) char *once = NULL;
        scoped(freep) char *twice = NULL;
        const Totals end = { .boottime_ns = UINT64_MAX };
        Window window;
        MetricSet metrics;
        int r;

        r = record_parse(&window_record, text, &window);
        assert(r == 0 || r == PARSE_MALFORMED);
        if (r != 0)
                return;

        window_metrics(&window.begin, &window.peaks, &end, 8, &metrics);
        assert(record_format(&window_record, &window, &once) == 0);
        assert(record_parse(&window_record, once, &window) == 0);
        assert(record_format(&window_record, &window, &twice) == 0);
        assert(strcmp(once, twice) == 0);
}

static void fuzz_usage(const char *text) {
        scoped(freep) char *once = NULL;
        scoped(freep) char *twice = NULL;
        UsageSet set;
        Usage usage;

        if (record_parse(&usage_record, text, &usage) != 0)
                return;

        usage_metrics(&usage, 8, UINT64_C(1) << 34, &set);
        assert(record_format(&usage_record, &usage, &once) == 0);
        assert(record_parse(&usage_record, once, &usage) == 0);
        assert(record_format(&usage_record, &usage, &twice) == 0);
        assert(strcmp(once, twice) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = malloc(size + 1);

        if (!text)
                return 0;
        if (size > 0)
                memcpy(text, data, size);
        text[size] = '\0';

        fuzz_meter(text);
        fuzz_window(text);
        fuzz_usage(text);
        free(text);
        return 0;
}
