/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Damaged schema: location of the rows of a table in a damaged file, and assignment of their values to columns
 *
 * The schema of the damaged file has the roots and the order of columns, which may differ from those of the new file. If the schema is
 * damaged, the schema of the new file is used: files of one version have the same schema. A root of another entry of the damaged file is
 * not used: that file lacks the table.
 */

#include <stdbool.h>
#include <stdint.h>

#include "store/damage/damaged_page.h"
#include "store/database/database.h"

#define DAMAGED_COLUMNS_MAX 32

/* A column of the table in the new file. */
typedef struct DamagedColumn {
        int64_t place; /* in a row of the damaged file; -1: the damaged file does not have the column */
        Field value;   /* of rows without it: a number or null */
} DamagedColumn;

/* A table or an index of the damaged file. */
typedef struct DamagedSource {
        uint32_t root; /* page; 0: there are no rows */
        bool is_index, is_without_rowid;
        DamagedColumn columns[DAMAGED_COLUMNS_MAX]; /* of a table */
        size_t n_columns;
} DamagedSource;

/* name: of a table, whose first column is the rowid if it has rowids; or of an index. database: the new file. 0 or an outcome of
 * database.h. */
int damaged_schema_find(const DamagedFile *file, Database *database, const char *name, DamagedSource *ret);

/* The values of a row, NULL behind the last; texts are borrowed from the row. */
typedef struct DamagedValues {
        Field fields[DAMAGED_COLUMNS_MAX];
} DamagedValues;
/* In the order of the table in the new file; of an index the rowid, then its columns. False: the row is damaged. */
bool damaged_schema_read(const DamagedSource *source, const DamagedRow *row, DamagedValues *ret);
