/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Table: places for connections
 *
 * A ticket names a place and its generation. Places are used again, generations are not, so
 * a ticket that outlives its connection finds nothing.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct Place {
        void *item; /* borrowed; NULL: free */
        uint32_t generation;
        uint32_t uid;
} Place;

typedef struct Table {
        Place *places; /* owned */
        size_t n_places;
} Table;

void table_deinit(Table *table);
/* Makes room for at least n items. 0 or -ENOMEM. */
int table_fit(Table *table, size_t n);

/* Puts an item of this user where there is room. */
enum {
        TABLE_FULL = 1,
};
int table_add(Table *table, void *item, uint32_t uid, uint32_t *ret_place);
void table_remove(Table *table, uint32_t place);

uint32_t table_generation(const Table *table, uint32_t place);
/* NULL when it is gone. */
void *table_find(const Table *table, uint32_t place, uint32_t generation);
unsigned table_count_uid(const Table *table, uint32_t uid);
