/* SPDX-License-Identifier: Apache-2.0 */
#include "util/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int array_reserve(void **items, size_t *n_allocated, size_t n, size_t n_item_bytes) {
        size_t n_new = *n_allocated ? *n_allocated : 8;
        void *bigger;

        if (n <= *n_allocated)
                return 0;
        if (n > PTRDIFF_MAX / 2 / n_item_bytes)
                return -ENOMEM; /* larger than any object */
        while (n_new < n)
                n_new *= 2;

        bigger = reallocarray(*items, n_new, n_item_bytes);
        if (!bigger)
                return -ENOMEM;

        *items = bigger;
        *n_allocated = n_new;
        return 0;
}

int array_extend(void **items, size_t n, size_t n_item_bytes) {
        size_t n_allocated = 0;

        return (n & (n - 1)) == 0 ? array_reserve(items, &n_allocated, n < 8 ? 8 : 2 * n, n_item_bytes) : 0;
}

static int compare_texts(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void array_sort_texts(const char **texts, size_t n) {
        qsort(texts, n, sizeof(*texts), compare_texts);
}
