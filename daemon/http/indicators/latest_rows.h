#pragma once

/* Newest: of rows that come in no order, those that a page of a list shows */

#include <stdbool.h>
#include <stddef.h>

#include "http/pagination.h"

#define NEWEST_MAX (PAGE_ROWS_MAX + 1U)

typedef struct Newest {
        PageKey keys[NEWEST_MAX]; /* a heap, the oldest on top; later sorted */
        size_t n, n_max;
} Newest;

/* n_max: NEWEST_MAX at most. */
void newest_init(Newest *newest, size_t n_max);
/* False when it is older than n_max others: so are all that are older than it. */
bool newest_add(Newest *newest, PageKey key);
/* The newest first. Nothing can be added afterwards. */
void newest_sort(Newest *newest);
