/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ConnectionTable: numbers the connections
 *
 * A ticket names a place and its generation. Places are reused, generations are not: a ticket that outlives its connection
 * finds nothing.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct ConnectionPlace {
        void *item; /* borrowed; NULL: the place is free */
        uint32_t generation;
} ConnectionPlace;

typedef struct ConnectionTable {
        ConnectionPlace *places; /* owned */
        size_t n_places;
} ConnectionTable;

void connection_table_deinit(ConnectionTable *table);
/* Makes room for at least n items. 0 or -ENOMEM. */
int connection_table_fit(ConnectionTable *table, size_t n);

/* Puts an item into a free place. 0 or an outcome. */
enum {
        CONNECTION_TABLE_FULL = 1,
};
int connection_table_add(ConnectionTable *table, void *item, uint32_t *ret_place);
void connection_table_remove(ConnectionTable *table, uint32_t place);

uint32_t connection_table_generation(const ConnectionTable *table, uint32_t place);
/* Returns NULL if the item was removed. */
void *connection_table_find(const ConnectionTable *table, uint32_t place, uint32_t generation);
