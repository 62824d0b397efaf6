/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Damaged file: rows of a database file, read page by page without SQLite
 *
 * SQLite stops at the first damaged page of a table's tree. This module finds the leaf pages of a tree by two independent ways: the
 * pointers of interior pages, and the pointer map of a file with auto_vacuum, which says for each page what its parent is. A damaged
 * page costs its own rows only. The formats are described in https://www.sqlite.org/fileformat2.html. The write-ahead log beside the
 * file is read as well. Nothing is written.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/pack.h"
#include "util/buffer.h"

#define DAMAGED_PAGE_BYTES 4096

typedef struct DamagedFile {
        int fd, wal_fd;
        uint32_t n_pages;
        struct PageFact *facts; /* owned; of each page, from page 1 on */
} DamagedFile;

/* 0; DAMAGED_FILE_FOREIGN: a database with another application id, or of another page size; or a negative errno. */
enum {
        DAMAGED_FILE_FOREIGN = 1,
};
int damaged_file_open(DamagedFile *file, const char *path, uint32_t application_id);
void damaged_file_close(DamagedFile *file);

/* Pages with rows, highest rowid first. A page of an index may be an interior page. */
typedef struct DamagedLeaves {
        uint32_t *pages; /* owned */
        size_t n;
} DamagedLeaves;

/* root: page number of a table with rowids, or of an index. 0 or -ENOMEM. */
int damaged_file_find_leaves(const DamagedFile *file, uint32_t root, DamagedLeaves *ret);
void damaged_leaves_deinit(DamagedLeaves *leaves);

/* One row of a page. */
typedef struct DamagedRow {
        int64_t rowid;  /* 0 for a row of an index */
        Buffer payload; /* owned; kept from row to row */
} DamagedRow;

/* False for a page that cannot be read or has no rows. */
bool damaged_file_read(const DamagedFile *file, uint32_t number, uint8_t ret[static DAMAGED_PAGE_BYTES]);
/* Number of rows on a page that was read, 0 for a damaged page. */
size_t damaged_page_count(uint32_t number, const uint8_t page[static DAMAGED_PAGE_BYTES]);
/* Row i of the page with its overflow pages. 0; DAMAGED_ROW_LOST: a part of the row is damaged; -ENOMEM. */
enum {
        DAMAGED_ROW_LOST = 1,
};
int damaged_file_row(const DamagedFile *file, uint32_t number, const uint8_t page[static DAMAGED_PAGE_BYTES], size_t i, DamagedRow *ret);

/* The columns, whose texts are borrowed from the payload. Returns their number; 0: no record, or more than n_max columns. */
size_t damaged_row_fields(const DamagedRow *row, Field *ret, size_t n_max);
