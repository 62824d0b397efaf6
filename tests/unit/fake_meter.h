/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A fake machine and its meter. Include this file after cmocka.h. */

#include "fake_sample.h"
#include "measure/meter.h"

#define BOOT "11111111-2222-3333-4444-555555555555"
#define OTHER_BOOT "99999999-2222-3333-4444-555555555555"

typedef struct Bench {
        Sample now;   /* what the kernel says */
        Sample shown; /* the last sample, as the meter left it */
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
        sample_deinit(&bench->shown);
        meter_free(bench->meter);
}

static inline int look(Bench *bench) {
        assert_int_equal(sample_copy(&bench->now, &bench->shown), 0);
        return meter_advance(bench->meter, &bench->shown, &bench->observation);
}

/* Takes a sample one second later. */
static inline int look_later(Bench *bench) {
        fake_pass(&bench->now, SECOND);
        return look(bench);
}

static inline uint64_t total(const Bench *bench, Total t) {
        return meter_totals(bench->meter)->value[t];
}

/* Restores a meter from the image of another, and checks that it is the same as the one restored from the text. */
static inline void check_image(const Meter *from, const Meter *restored, const char *boot_id, const char *boot_id_now,
                               int outcome) {
        Meter *meter = NULL;
        Buffer image = {};
        char *a = NULL, *b = NULL;

        meter_put_image(from, boot_id, &image);
        assert_int_equal(meter_new(&meter, SECOND), 0);
        assert_int_equal(meter_restore_image(meter, image.text, image.n, boot_id_now), outcome);
        assert_int_equal(meter_save(restored, boot_id, &a), 0);
        assert_int_equal(meter_save(meter, boot_id, &b), 0);
        assert_string_equal(a, b);
        free(a);
        free(b);
        buffer_deinit(&image);
        meter_free(meter);
}

/* Replaces the meter by a new one restored from its checkpoint. */
static inline int restart(Bench *b, const char *boot_id, const char *boot_id_now) {
        Meter *meter = NULL;
        char *text = NULL;
        int r;

        assert_int_equal(meter_save(b->meter, boot_id, &text), 0);
        assert_int_equal(meter_new(&meter, SECOND), 0);
        r = meter_restore(meter, text, boot_id_now);
        check_image(b->meter, meter, boot_id, boot_id_now, r);
        meter_free(b->meter);
        b->meter = meter;
        free(text);
        return r;
}
