/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Table salvage: what is special about the rows of a table when they are copied from a damaged file
 *
 * The SQL is about the row `old` of the damaged file. Rows that are there already are not stored again.
 */

#include <stdbool.h>

#include "store/database/statement.h"

/* A column that gets another value than in the damaged file. */
typedef struct SalvagedValue {
        const char *column, *sql;
} SalvagedValue;

typedef struct TableSalvage {
        bool is_first;               /* copied before other rows are stored, because other rows refer to it */
        /* of another table, or NULL: condition of rows that are copied then, too, without `values` */
        const char *needed;
        const char *condition;       /* or NULL: which rows may be stored */
        const SalvagedValue *values; /* or NULL: an array that ends with {} */
        /* or NULL: values that indexes lack, of a row of which only these are left; else "", 0 or null */
        const SalvagedValue *restored;
        /* condition by which such a row is known; the first column of the table is `row` */
        const char *is_restored;
        /* They run for each row, whose columns are ?1, ?2 and so on: before it is stored, and after a row that was
         * new; after: an array that ends with {}. finish: after the rows that are copied first. Or NULL. */
        const Statement *before, *after, *finish;
} TableSalvage;
