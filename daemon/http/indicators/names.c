/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void names_deinit(Names *names) {
        for (size_t i = 0; i < names->n; i++)
                free(names->items[i]);
}

bool names_has(const Names *names, const char *name) {
        for (size_t i = 0; i < names->n; i++)
                if (strcmp(names->items[i], name) == 0)
                        return true;
        return false;
}

int names_add(Names *names, const char *name) {
        if (names->n == NAMES_MAX || !*name || names_has(names, name))
                return 0;
        names->items[names->n] = strdup(name);
        if (!names->items[names->n])
                return -ENOMEM;
        names->n++;
        return 0;
}
