/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Equipment: reads what only some nodes have
 *
 * Each source of measure/equipment.h has readers: in files of their own, and rows of the table in equipment_readers.c.
 */

#include "sample/host/equipment_reader.h"

typedef struct EquipmentReaders EquipmentReaders;

/* root: prefix of paths, "" for the machine itself; root_fd: its directory. Both are borrowed. Returns 0 or a negative
 * errno. */
int equipment_readers_new(EquipmentReaders **ret, const char *root, int root_fd);
EquipmentReaders *equipment_readers_free(EquipmentReaders *equipment);

/* Asks the drivers, which answer while other sources are read. */
void equipment_readers_ask(EquipmentReaders *equipment, uint64_t now_ns);
/*
 * As EquipmentReader.read(), of a source from SOURCE_FIRST_EQUIPMENT on: 0 if one of its readers has items, with
 * *ret_fault if another failed; *ret_fault is unchanged otherwise. The time of the items is the earliest of a reader.
 */
int equipment_readers_read(EquipmentReaders *equipment, Source source, Sample *sample, const char **ret_fault);
