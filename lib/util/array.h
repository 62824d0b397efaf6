/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Array: items of one type that are allocated together
 *
 * The owner has the pointer, and the number of items or of the items that there is room for. Both are zero at first; free(3) releases
 * the items.
 */

#include <stddef.h>

/* Makes room for n items; new ones are not initialized. Room grows by doubling. 0 or -ENOMEM. */
#define ARRAY_RESERVE(items, n_allocated, n) array_reserve((void **)&(items), &(n_allocated), n, sizeof(*(items)))
int array_reserve(void **items, size_t *n_allocated, size_t n, size_t n_item_bytes);

/* Makes room for one item behind the n items of an array that only this macro allocates: room grows at powers of two. 0 or -ENOMEM. */
#define ARRAY_EXTEND(items, n) array_extend((void **)&(items), n, sizeof(*(items)))
int array_extend(void **items, size_t n, size_t n_item_bytes);
