/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/connection_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void connection_table_deinit(ConnectionTable *table) {
        free(table->places);
        *table = (ConnectionTable){};
}

int connection_table_fit(ConnectionTable *table, size_t n) {
        ConnectionPlace *places;

        if (n <= table->n_places)
                return 0;

        places = reallocarray(table->places, n, sizeof(*places));
        if (!places)
                return -ENOMEM;

        for (size_t i = table->n_places; i < n; i++)
                places[i] = (ConnectionPlace){ .generation = 1 };
        table->places = places;
        table->n_places = n;
        return 0;
}

/* Searches for a free place each time: connections are seldom made, and there are some thousands at most. */
int connection_table_add(ConnectionTable *table, void *item, uint32_t *ret_place) {
        assert(item);
        for (size_t i = 0; i < table->n_places; i++)
                if (!table->places[i].item) {
                        assert(table->places[i].generation > 0); /* a ticket of zeros names no request */
                        table->places[i].item = item;
                        *ret_place = (uint32_t)i;
                        return 0;
                }

        return CONNECTION_TABLE_FULL;
}

void connection_table_remove(ConnectionTable *table, uint32_t place) {
        assert(place < table->n_places && table->places[place].item);
        table->places[place].item = NULL;
        table->places[place].generation++;
}

uint32_t connection_table_generation(const ConnectionTable *table, uint32_t place) {
        assert(place < table->n_places && table->places[place].item);
        return table->places[place].generation;
}

void *connection_table_find(const ConnectionTable *table, uint32_t place, uint32_t generation) {
        if (place >= table->n_places || table->places[place].generation != generation)
                return NULL;

        return table->places[place].item;
}
