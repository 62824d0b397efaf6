/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Observations of a job for tests of recordings
 */

#include <math.h>

#include "node/recording.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define BEGIN (100 * SECOND)
#define REALTIME (UINT64_C(1700000000123) * MS)

/* from_ms, to_ms: since the job began. */
static inline Observation span(uint64_t from_ms, uint64_t to_ms, double cpu) {
        return (Observation){
                .begin_ns = BEGIN + from_ms * MS,
                .end_ns = BEGIN + to_ms * MS,
                .has_cpu = true,
                .has_memory = true,
                .cpu_mean = cpu,
                .memory = 0.25,
                .disk_read_rate = cpu * 1e9,
                .network_sent_rate = 1234567,
        };
}

static inline void add(Recording *recording, uint64_t from_ms, uint64_t to_ms, double cpu) {
        Observation o = span(from_ms, to_ms, cpu);

        assert_int_equal(recording_add(recording, &o), 0);
}

static inline void assert_near(double got, double wanted, double relative) {
        assert_true(fabs(got - wanted) <= relative * fabs(wanted) + 1e-6 * relative);
}
