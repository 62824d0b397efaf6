/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A fake machine and its meter. Include this file after cmocka.h. */

#include "fake_sample.h"
#include "measure/meter.h"

#define BOOT "11111111-2222-3333-4444-555555555555"
#define OTHER_BOOT "99999999-2222-3333-4444-555555555555"

typedef struct Bench {
        Sample now;
        Meter *meter;
        Observation observation;
} Bench;

static inline void bench_begin(Bench *bench, size_t n_cpus) {
        *bench = (Bench){};
        fake_init(&bench->now, n_cpus);
        assert_int_equal(meter_new(&bench->meter, SECOND), 0);
}

static inline void bench_end(Bench *bench) {
        sample_deinit(&bench->now);
        meter_free(bench->meter);
}

static inline int look(Bench *bench) {
        return meter_advance(bench->meter, &bench->now, &bench->observation);
}

/* Takes a sample one second later. */
static inline int look_later(Bench *bench) {
        fake_pass(&bench->now, SECOND);
        return look(bench);
}

static inline uint64_t total(const Bench *bench, Total t) {
        return meter_totals(bench->meter)->value[t];
}

/* Replaces the meter by a new one restored from its checkpoint. */
static inline int restart(Bench *b, const char *boot_id, const char *boot_id_now) {
        Meter *meter = NULL;
        char *text = NULL;
        int r;

        assert_int_equal(meter_save(b->meter, boot_id, &text), 0);
        assert_int_equal(meter_new(&meter, SECOND), 0);
        r = meter_restore(meter, text, boot_id_now);
        meter_free(b->meter);
        b->meter = meter;
        free(text);
        return r;
}
