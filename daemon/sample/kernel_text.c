/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/kernel_text.h"

#include <assert.h>

#include "util/scan.h"

/* Returns the position after the key of the first line at or after p that starts with it; NULL if there is none. */
static const char *find_key(const char *p, const char *key) {
        size_t n_key = strlen(key);

        if (strncmp(p, key + 1, n_key - 1) == 0)
                return p + n_key - 1;
        p = strstr(p, key);
        return p ? p + n_key : NULL;
}

int kernel_text_parse_table(const TextTable *table, const char *text, void *ret, const char **ret_fault) {
        uint64_t values[TEXT_FIELDS_MAX] = {};

        assert(table->n <= TEXT_FIELDS_MAX);
        for (size_t i = 0; i < table->n; i++) {
                const char *p = find_key(text, table->fields[i].key);

                if (!p && !table->fields[i].missing)
                        continue;
                if (!p)
                        return kernel_text_malformed(table->fields[i].missing, ret_fault);

                text = scan_u64(p, &values[i]);
                if (!text || strncmp(text, table->end, strlen(table->end)) != 0 ||
                    values[i] > UINT64_MAX / table->factor)
                        return kernel_text_malformed(table->malformed, ret_fault);
        }

        for (size_t i = 0; i < table->n; i++)
                *(uint64_t *)(void *)((char *)ret + table->fields[i].offset) = values[i] * table->factor;
        return 0;
}
