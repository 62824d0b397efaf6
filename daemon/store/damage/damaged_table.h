/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Damaged table: the rows of one table of a damaged file
 *
 * SQLite reads the table from its end to its beginning, newest rows first. After an error it reads from the
 * beginning as well, then each page of the table alone: a row may be read several times. At last it reads the
 * indexes of the table, from both ends, those with most columns first: they tell which rows there were.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/damage/damaged_file.h"
#include "store/database/database.h"

#define DAMAGED_COLUMNS_MAX 32
#define DAMAGED_SOURCES_MAX 12 /* a table and its indexes */

/* One way through the rows: SQLite reads pages from both ends of a tree, or of a single page. */
typedef enum DamagedPass {
        PASS_DOWN,
        PASS_UP,
        PASS_PAGE_DOWN,
        PASS_PAGE_UP,
} DamagedPass;

typedef struct DamagedTable {
        DamagedFile *file;
        Database *database; /* the new one */
        const char *name, *where;
        sqlite3_stmt *down, *up;            /* owned; of the source that is being read */
        char *indexes[DAMAGED_SOURCES_MAX]; /* owned; from 1 on; names */
        size_t source;                      /* 0: the table, otherwise an index */
        bool has_rowids, is_damaged;
        uint32_t root, page;
        DamagedPass pass;
        uint32_t n_pages_lost; /* pages of the table on which rows could not be read */
} DamagedTable;

/*
 * database: a new database, which has the table; its first column is the rowid if it has rowids. where: NULL, or SQL
 * of a condition about
 * the row `old`. Both and the name are borrowed. 0, also when the damaged file lacks the table; an outcome of
 * database.h; or -ENOMEM.
 */
int damaged_table_open(DamagedTable *table, DamagedFile *file, Database *database, const char *name, const char *where);
void damaged_table_close(DamagedTable *table);

/*
 * Reads the next row, in the order of the columns of the new table; texts are borrowed until the next call. A column
 * that the damaged file lacks has its default. The row of an index has only the rowid and the columns of the index.
 * *ret_n: number of columns; 0: there are no more rows. 0 or -ENOMEM.
 */
int damaged_table_next(DamagedTable *table, Field ret[static DAMAGED_COLUMNS_MAX], size_t *ret_n);
