/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void table_deinit(Table *table) {
        free(table->places);
        *table = (Table){};
}

int table_fit(Table *table, size_t n) {
        Place *places;

        if (n <= table->n_places)
                return 0;

        places = reallocarray(table->places, n, sizeof(*places));
        if (!places)
                return -ENOMEM;

        for (size_t i = table->n_places; i < n; i++)
                places[i] = (Place){ .generation = 1 };
        table->places = places;
        table->n_places = n;
        return 0;
}

/* A search each time: connections come seldom beside what they send, and there are some thousands at most. */
int table_add(Table *table, void *item, uint32_t uid, uint32_t *ret_place) {
        for (size_t i = 0; i < table->n_places; i++)
                if (!table->places[i].item) {
                        table->places[i].item = item;
                        table->places[i].uid = uid;
                        *ret_place = (uint32_t)i;
                        return 0;
                }

        return TABLE_FULL;
}

void table_remove(Table *table, uint32_t place) {
        assert(table->places[place].item);
        table->places[place].item = NULL;
        table->places[place].generation++;
}

uint32_t table_generation(const Table *table, uint32_t place) {
        return table->places[place].generation;
}

void *table_find(const Table *table, uint32_t place, uint32_t generation) {
        if (place >= table->n_places || table->places[place].generation != generation)
                return NULL;

        return table->places[place].item;
}

unsigned table_count_uid(const Table *table, uint32_t uid) {
        unsigned n = 0;

        for (size_t i = 0; i < table->n_places; i++)
                n += table->places[i].item && table->places[i].uid == uid;

        return n;
}
