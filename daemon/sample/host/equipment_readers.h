/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Equipment: reads what only some nodes have
 *
 * Each source of measure/equipment.h has a reader: a row of the table in equipment.c with functions of a file of its
 * own. A reader keeps its state between the ticks: open files, lists that are made again only now and then.
 */

#include "measure/sample.h"
#include "util/scoped.h"

typedef struct EquipmentReaders EquipmentReaders;

/* root: prefix of paths, "" for the machine itself; root_fd: its directory. Both are borrowed. Returns 0 or -ENOMEM. */
int equipment_readers_new(EquipmentReaders **ret, const char *root, int root_fd);
EquipmentReaders *equipment_readers_free(EquipmentReaders *equipment);

enum {
        EQUIPMENT_NONE = 1, /* the node has no such equipment */
        EQUIPMENT_FAILED,   /* it has, but it cannot be read: *ret_fault says why, a static text or one of the reader */
};
/* Adds the items of a source (from SOURCE_FIRST_EQUIPMENT on) to the sample. Returns 0, an outcome, or -ENOMEM. */
int equipment_readers_read(EquipmentReaders *equipment, Source source, Sample *sample, const char **ret_fault);
