/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Damaged tree: pages of a table or an index, found in two independent ways
 *
 * By the pointers of interior pages, and by the pointer map, which says for each page what its parent is. So a damaged interior page
 * costs no rows, and a damaged page of the map costs nothing where the interior pages are sound.
 */

#include "store/damaged_file.h"

/* Pages with rows, highest rowid first. A page of an index may be an interior page. */
typedef struct DamagedTree {
        uint32_t *pages; /* owned */
        size_t n;
} DamagedTree;

/* root: page number of a table with rowids, or of an index. 0 or -ENOMEM. */
int damaged_tree_find(const DamagedFile *file, uint32_t root, DamagedTree *ret);
void damaged_tree_deinit(DamagedTree *tree);
