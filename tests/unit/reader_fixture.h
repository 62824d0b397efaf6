/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fixture for the tests of a reader of equipment: a copy of a tree, and what is read of it. Include cmocka.h before. */

#include "sample/host/equipment_reader.h"
#include "tree.h"

typedef struct Fixture {
        char root[64];
        int root_fd;
        const EquipmentReader *reader;
        void *state; /* of the reader */
        Sample sample;
        const char *fault;
} Fixture;

static inline int fixture_new(void **state, const EquipmentReader *reader, const char *tree) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        tree_copy(tree, f->root);
        f->root_fd = open(f->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        f->reader = reader;
        *state = f;
        return equipment_reader_new(reader, &f->state, f->root, f->root_fd);
}

static inline int fixture_free(void **state) {
        Fixture *f = *state;

        f->reader->free(f->state);
        close(f->root_fd);
        sample_deinit(&f->sample);
        tree_remove(f->root);
        free(f);
        return 0;
}

static inline int read_after(Fixture *f, uint64_t ns) {
        f->sample.boottime_ns += ns;
        f->sample.equipment.n = 0;
        return f->reader->read(f->state, &f->sample, &f->fault);
}
