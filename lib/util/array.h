/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Array: items of one type in a single allocation
 *
 * The owner stores the pointer, and the number of items or the allocated length. Both are initially zero; free(3)
 * releases the items.
 */

#include <stddef.h>

/*
 * Allocates at least n items; new ones are not initialized. The allocation grows by doubling. Returns 0 or -ENOMEM.
 */
#define ARRAY_RESERVE(items, n_allocated, n) array_reserve((void **)&(items), &(n_allocated), n, sizeof(*(items)))
int array_reserve(void **items, size_t *n_allocated, size_t n, size_t n_item_bytes);

/*
 * Allocates one more item after the n items of an array that only this macro allocates; grows at powers of two.
 * Returns 0 or -ENOMEM.
 */
#define ARRAY_EXTEND(items, n) array_extend((void **)&(items), n, sizeof(*(items)))
int array_extend(void **items, size_t n, size_t n_item_bytes);

/* Sorts texts by their bytes. */
void array_sort_texts(const char **texts, size_t n);
