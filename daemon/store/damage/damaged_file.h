/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Damaged file: a connection of SQLite that reads a damaged database file, and never changes it
 *
 * SQLite gets each page from here: from the file, or from the valid part of the write-ahead log beside it. When
 * SQLite cannot follow a tree, each of its pages can be shown in place of the root, so that SQLite reads the rows of
 * that page alone. The pointer map of a file with auto_vacuum tells to which tree a page belongs. See
 * https://www.sqlite.org/fileformat2.html.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "util/scoped.h"

#define DAMAGED_PAGE_BYTES 4096

typedef struct DamagedFile DamagedFile;

/* 0; DAMAGED_FILE_FOREIGN: a database with another application id, or of another page size; or a negative errno. */
enum {
        DAMAGED_FILE_FOREIGN = 1,
};
int damaged_file_open(DamagedFile **ret, const char *path, uint32_t application_id);
DamagedFile *damaged_file_free(DamagedFile *file);
DEFINE_SCOPED(DamagedFile, damaged_file_free);

/* Borrowed until the schema is replaced. Its statements must be finalized before the file is freed. */
sqlite3 *damaged_file_database(const DamagedFile *file);
bool damaged_file_has_schema(const DamagedFile *file);
/* Replaces a schema that SQLite cannot read by that of an empty database: files of one version have the same schema.
 * image: of the whole empty database, n bytes, from malloc(); owned by the file from now on. */
int damaged_file_set_schema(DamagedFile *file, char *image, size_t n);

/* Shows a page in place of a root; 0, 0: shows the root itself. No statement may be running. */
void damaged_file_show(DamagedFile *file, uint32_t root, uint32_t page);

/* First byte of a page of a tree. */
enum {
        DAMAGED_INDEX_INTERIOR = 0x02,
        DAMAGED_TABLE_INTERIOR = 0x05,
        DAMAGED_INDEX_LEAF = 0x0a,
        DAMAGED_TABLE_LEAF = 0x0d,
};

/*
 * Returns the next page after `page` in the tree of the root, by the pointer map, or a leaf that may belong to any
 * tree, and whose first row has n_columns columns; 0: none. n_columns 0: only pages of the tree.
 */
uint32_t damaged_file_next(const DamagedFile *file, uint32_t root, size_t n_columns, uint32_t page, uint8_t *ret_type);
/* Returns the number of pages that are missing at the end of the file. */
uint32_t damaged_file_missing(const DamagedFile *file);
