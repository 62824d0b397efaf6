/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fixture for tests of equipment by the sampler and the meter, on the copy of a tree. Include cmocka.h before. */

#include "eventually.h"
#include "measure/meter.h"
#include "sample/host/sampler.h"
#include "tree.h"

typedef struct Fixture {
        char root[64];
        Sampler *sampler;
        Meter *meter;
        Sample sample;
        Observation observation;
} Fixture;

static inline int setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        assert_int_equal(meter_new(&f->meter, NS_PER_S), 0);
        *state = f;
        return 0;
}

static inline void start(Fixture *f, const char *tree) {
        tree_copy(tree, f->root);
        assert_int_equal(sampler_new(&f->sampler, f->root, 3600 * NS_PER_S), 0);
}

static inline int teardown(void **state) {
        Fixture *f = *state;

        sampler_free(f->sampler);
        meter_free(f->meter);
        sample_deinit(&f->sample);
        tree_remove(f->root);
        free(f);
        return 0;
}

static inline void read_only_at(Fixture *f, uint64_t s) {
        assert_int_equal(sampler_read(f->sampler, s * NS_PER_S, s * NS_PER_S, &f->sample), 0);
}

static inline void measure(Fixture *f) {
        assert_true(meter_advance(f->meter, &f->sample, &f->observation) >= 0);
}

static inline uint64_t total(const Fixture *f, Total t) {
        return meter_totals(f->meter)->value[t];
}

static inline const SampleEquipment *item(const Fixture *f, const char *name) {
        for (size_t i = 0; i < f->sample.equipment.n; i++)
                if (strcmp(f->sample.equipment.items[i].name, name) == 0)
                        return &f->sample.equipment.items[i];
        fail_msg("no %s", name);
        return NULL;
}

static inline void assert_failed(const Fixture *f, Source source, const char *error) {
        assert_false(sample_has(&f->sample, source));
        assert_false(sample_lacks(&f->sample, source));
        assert_int_equal(f->sample.equipment.n, 0);
        assert_string_equal(sampler_stats(f->sampler)->error[source], error);
}
