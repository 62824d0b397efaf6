/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/equipment_readers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "sample/host/slow_reader.h"

#define READERS_MAX 2U

/* The readers of each source. A source without a reader has no equipment. */
static const EquipmentReader *const readers[N_SOURCES][READERS_MAX] = {
        [SOURCE_GPU] = { &nvidia_reader, &amdgpu_reader },
        [SOURCE_FABRIC] = { &fabric_reader },
        [SOURCE_NETFS] = { &netfs_reader },
        [SOURCE_ENERGY] = { &rapl_reader },
};

int equipment_reader_new(const EquipmentReader *reader, void **ret, const char *root, int root_fd) {
        char *state = calloc(1, reader->n_bytes);

        if (!state)
                return -ENOMEM;
        *(int *)(void *)(state + reader->root_fd) = root_fd;
        if (reader->prepare)
                reader->prepare(state, root);
        *ret = state;
        return 0;
}

/* The state of a reader that asks a driver is a SlowReader. */
struct EquipmentReaders {
        void *states[N_SOURCES][READERS_MAX];
};

static int new_state(const EquipmentReader *reader, void **ret, const char *root, int root_fd) {
        SlowReader *slow = NULL;
        int r = reader->driver ? slow_reader_new(&slow, reader, root, root_fd)
                               : equipment_reader_new(reader, ret, root, root_fd);

        if (slow)
                *ret = slow;
        return r;
}

static void free_state(const EquipmentReader *reader, void *state) {
        if (reader->driver)
                slow_reader_free(state);
        else
                reader->free(state);
}

int equipment_readers_new(EquipmentReaders **ret, const char *root, int root_fd) {
        EquipmentReaders *equipment = calloc(1, sizeof(*equipment));
        int r = equipment ? 0 : -ENOMEM;

        for (Source source = SOURCE_FIRST_EQUIPMENT; source < N_SOURCES; source++)
                for (size_t i = 0; i < READERS_MAX && readers[source][i] && r == 0; i++)
                        r = new_state(readers[source][i], &equipment->states[source][i], root, root_fd);
        if (r < 0) {
                equipment_readers_free(equipment);
                return r;
        }
        *ret = equipment;
        return 0;
}

EquipmentReaders *equipment_readers_free(EquipmentReaders *equipment) {
        if (!equipment)
                return NULL;
        for (Source source = SOURCE_FIRST_EQUIPMENT; source < N_SOURCES; source++)
                for (size_t i = 0; i < READERS_MAX; i++)
                        if (equipment->states[source][i])
                                free_state(readers[source][i], equipment->states[source][i]);
        free(equipment);
        return NULL;
}

void equipment_readers_ask(EquipmentReaders *equipment, uint64_t now_ns) {
        for (Source source = SOURCE_FIRST_EQUIPMENT; source < N_SOURCES; source++)
                for (size_t i = 0; i < READERS_MAX && readers[source][i]; i++)
                        if (readers[source][i]->driver)
                                slow_reader_ask(equipment->states[source][i], now_ns);
}

int equipment_readers_read(EquipmentReaders *equipment, Source source, Sample *sample, const char **ret_fault) {
        uint64_t *earliest_ns = &sample->equipment.read_ns[source];
        int outcome = EQUIPMENT_NONE;

        assert(source >= SOURCE_FIRST_EQUIPMENT && source < N_SOURCES);
        for (size_t i = 0; i < READERS_MAX && readers[source][i]; i++) {
                size_t n_before = sample->equipment.n;
                const EquipmentReader *reader = readers[source][i];
                void *state = equipment->states[source][i];
                const char *fault = NULL;
                uint64_t read_ns = 0;
                int r;

                r = reader->driver ? slow_reader_read(state, sample, &read_ns, &fault)
                                   : reader->read(state, sample, &fault);
                if (r < 0)
                        return r;
                if (r != 0)
                        sample->equipment.n = n_before;
                else if (read_ns > 0 && (*earliest_ns == 0 || read_ns < *earliest_ns))
                        *earliest_ns = read_ns;
                if (r == EQUIPMENT_FAILED)
                        *ret_fault = fault;
                if (r == 0 || (r == EQUIPMENT_FAILED && outcome == EQUIPMENT_NONE))
                        outcome = r;
        }
        return outcome;
}
