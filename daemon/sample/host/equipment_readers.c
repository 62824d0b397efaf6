/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/equipment_readers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "sample/host/fabric.h"
#include "sample/host/nvidia.h"
#include "sample/host/netfs.h"
#include "sample/host/rapl.h"

/* A source without a reader has no equipment. */
static const EquipmentReader *const readers[N_SOURCES] = {
        [SOURCE_GPU] = &nvidia_reader,
        [SOURCE_FABRIC] = &fabric_reader,
        [SOURCE_NETFS] = &netfs_reader,
        [SOURCE_ENERGY] = &rapl_reader,
};

struct EquipmentReaders {
        void *states[N_SOURCES];
};

int equipment_readers_new(EquipmentReaders **ret, const char *root, int root_fd) {
        EquipmentReaders *equipment = calloc(1, sizeof(*equipment));
        int r = equipment ? 0 : -ENOMEM;

        for (Source source = SOURCE_FIRST_EQUIPMENT; source < N_SOURCES && r == 0; source++)
                if (readers[source] && readers[source]->new)
                        r = readers[source]->new(&equipment->states[source], root, root_fd);
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
                if (equipment->states[source])
                        readers[source]->free(equipment->states[source]);
        free(equipment);
        return NULL;
}

int equipment_readers_read(EquipmentReaders *equipment, Source source, Sample *sample, const char **ret_fault) {
        size_t n_before = sample->equipment.n;
        int r;

        assert(source >= SOURCE_FIRST_EQUIPMENT && source < N_SOURCES);
        if (!readers[source])
                return EQUIPMENT_NONE;
        r = readers[source]->read(equipment->states[source], sample, ret_fault);
        if (r != 0)
                sample->equipment.n = n_before;
        return r;
}
