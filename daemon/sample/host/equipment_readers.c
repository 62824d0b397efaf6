/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/equipment_readers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "sample/host/amdgpu.h"
#include "sample/host/fabric.h"
#include "sample/host/nvidia.h"
#include "sample/host/netfs.h"
#include "sample/host/rapl.h"

#define READERS_MAX 2U

/* The readers of each source. A source without a reader has no equipment. */
static const EquipmentReader *const readers[N_SOURCES][READERS_MAX] = {
        [SOURCE_GPU] = { &nvidia_reader, &amdgpu_reader },
        [SOURCE_FABRIC] = { &fabric_reader },
        [SOURCE_NETFS] = { &netfs_reader },
        [SOURCE_ENERGY] = { &rapl_reader },
};

struct EquipmentReaders {
        void *states[N_SOURCES][READERS_MAX];
};

int equipment_readers_new(EquipmentReaders **ret, const char *root, int root_fd) {
        EquipmentReaders *equipment = calloc(1, sizeof(*equipment));
        int r = equipment ? 0 : -ENOMEM;

        for (Source source = SOURCE_FIRST_EQUIPMENT; source < N_SOURCES; source++)
                for (size_t i = 0; i < READERS_MAX && readers[source][i] && r == 0; i++)
                        r = readers[source][i]->new(&equipment->states[source][i], root, root_fd);
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
                                readers[source][i]->free(equipment->states[source][i]);
        free(equipment);
        return NULL;
}

int equipment_readers_read(EquipmentReaders *equipment, Source source, Sample *sample, const char **ret_fault) {
        int outcome = EQUIPMENT_NONE;

        assert(source >= SOURCE_FIRST_EQUIPMENT && source < N_SOURCES);
        for (size_t i = 0; i < READERS_MAX && readers[source][i]; i++) {
                size_t n_before = sample->equipment.n;
                const char *fault = NULL;
                int r;

                r = readers[source][i]->read(equipment->states[source][i], sample, &fault);
                if (r < 0)
                        return r;
                if (r != 0)
                        sample->equipment.n = n_before;
                if (r == EQUIPMENT_FAILED)
                        *ret_fault = fault;
                if (r == 0 || (r == EQUIPMENT_FAILED && outcome == EQUIPMENT_NONE))
                        outcome = r;
        }
        return outcome;
}
