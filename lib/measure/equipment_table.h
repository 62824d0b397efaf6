/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Equipment table: counters of the node's equipment of one kind, tracked by name
 *
 * An item counts from its first reading, which may include what it counted before. An item that disappears is kept as
 * long as there is room: a GPU that was lost and a file system that is mounted again continue.
 */

#include <stdint.h>

#include "json/record.h"
#include "measure/counter.h"
#include "measure/equipment.h"

typedef struct EquipmentItem {
        char name[EQUIPMENT_NAME_MAX];
        uint64_t read_ns;                       /* time of the last reading, CLOCK_BOOTTIME */
        Counter counters[EQUIPMENT_VALUES_MAX]; /* of the values that are counters */
} EquipmentItem;

/* Initialize with zeros. */
typedef struct EquipmentTable {
        EquipmentItem *items; /* owned */
        size_t n, n_allocated;
        size_t next; /* expected index of the next item: the order rarely changes */
} EquipmentTable;

void equipment_table_deinit(EquipmentTable *table);
/* Allocates entries for n more items, and drops those that have been gone longest if there are too many. Returns 0 or
 * -ENOMEM. */
int equipment_table_reserve(EquipmentTable *table, size_t n);
/* Returns the entry of an item, which is added if there is none. Call equipment_table_reserve() before. */
EquipmentItem *equipment_table_take(EquipmentTable *table, const char *name, uint64_t now_ns);
/* Continues a table from its record. */
void equipment_table_resume(EquipmentTable *table);

/* The records of the tables, one for each kind. */
extern const Record equipment_table_records[N_EQUIPMENT_KINDS];
