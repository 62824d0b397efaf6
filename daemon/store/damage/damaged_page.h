/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Damaged page: a page of a table or an index, and its rows
 *
 * A page whose cells do not lie on the page has no rows. A row whose parts do not fit together is lost; the other rows of the
 * page are still read.
 */

#include "store/damage/damaged_file.h"
#include "store/database/pack.h"
#include "util/buffer.h"

/* First byte of a page of a tree. */
typedef enum PageType {
        PAGE_DAMAGED = 0,
        PAGE_INDEX_INTERIOR = 0x02,
        PAGE_TABLE_INTERIOR = 0x05,
        PAGE_INDEX_LEAF = 0x0a,
        PAGE_TABLE_LEAF = 0x0d,
} PageType;

PageType damaged_page_type(uint32_t number, const uint8_t page[static DAMAGED_PAGE_BYTES]);
static inline bool page_type_is_interior(PageType type) {
        return type == PAGE_TABLE_INTERIOR || type == PAGE_INDEX_INTERIOR;
}

/* Cells of a page that is not damaged. A cell of an interior page begins with a child; the last child is in the header. */
size_t damaged_page_cells(uint32_t number, const uint8_t page[static DAMAGED_PAGE_BYTES]);
const uint8_t *damaged_page_cell(uint32_t number, const uint8_t page[static DAMAGED_PAGE_BYTES], size_t i);
uint32_t damaged_page_last_child(uint32_t number, const uint8_t page[static DAMAGED_PAGE_BYTES]);

/* Returns the number of rows, 0 for a damaged page. An interior page of an index has rows, too. */
size_t damaged_page_count(uint32_t number, const uint8_t page[static DAMAGED_PAGE_BYTES]);

/* One row of a page. */
typedef struct DamagedRow {
        int64_t rowid;  /* 0 for a row of an index */
        Buffer payload; /* owned; kept from row to row */
} DamagedRow;

/* Reads row i of the page with its overflow pages. 0; DAMAGED_ROW_LOST: a part of the row is damaged; -ENOMEM. */
enum {
        DAMAGED_ROW_LOST = 1,
};
int damaged_page_row(const DamagedFile *file, uint32_t number, const uint8_t page[static DAMAGED_PAGE_BYTES], size_t i, DamagedRow *ret);

/* Reads the columns, whose texts are borrowed from the payload. Returns their number; 0: not a record, or more than n_max
 * columns. */
size_t damaged_page_fields(const DamagedRow *row, Field *ret, size_t n_max);
