/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Damaged tree: pages of a table or an index, found in two independent ways
 *
 * Pages are found by the pointers of interior pages, and by the pointer map, which contains the parent of each page. So a
 * damaged interior page loses no rows, and a damaged page of the map loses no rows if the interior pages are intact.
 */

#include "store/damage/damaged_file.h"

/* Pages with rows, highest rowid first. A page of an index may be an interior page. */
typedef struct DamagedTree {
        uint32_t *pages; /* owned */
        size_t n;
} DamagedTree;

/* Finds the pages. root: page number of a table with rowids, or of an index. 0 or -ENOMEM. */
int damaged_tree_find(const DamagedFile *file, uint32_t root, DamagedTree *ret);
void damaged_tree_deinit(DamagedTree *tree);
