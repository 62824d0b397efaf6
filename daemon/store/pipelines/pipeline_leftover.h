/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline leftover: removes the rows of pipelines whose jobs were removed, in steps (leftover.h)
 *
 * A job may have half a million intervals.
 */

#include "store/database.h"
#include "store/store_subject.h"

extern const StoreTable pipeline_leftover_table;

/* SQL of a trigger that runs when the job old.row is removed. */
#define PIPELINE_LEFTOVER_NOTE                                                                           \
        " INSERT INTO pipeline_leftover SELECT old.row WHERE EXISTS (SELECT 1 FROM pipeline WHERE job = old.row)" \
        " OR EXISTS (SELECT 1 FROM pipeline_series WHERE job = old.row);"

/* Checks whether rows remain to be removed. 0 or an outcome of database.h, as the next. */
int pipeline_leftover_find(Database *database, bool *ret_has_work);
/* Removes some rows, inside a transaction. */
int pipeline_leftover_step(Database *database, bool *ret_has_more);
