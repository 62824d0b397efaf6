/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Phase leftover: removes the phases of removed jobs that had many, in steps (leftover.h) */

#include "store/database.h"
#include "store/store_subject.h"

extern const StoreTable phase_leftover_table;

#define PHASES_AT_ONCE "512" /* phases of a job that are removed together with it */

/* SQL of a trigger that runs when the job old.row is removed. */
#define PHASE_LEFTOVER_NOTE                                                                              \
        " INSERT INTO phase_leftover SELECT old.row WHERE old.n_phases > " PHASES_AT_ONCE ";"             \
        " DELETE FROM phase WHERE job = old.row AND old.n_phases <= " PHASES_AT_ONCE ";"

/* Checks whether rows remain to be removed. 0 or an outcome of database.h, as the next. */
int phase_leftover_find(Database *database, bool *ret_has_work);
/* Removes some rows, inside a transaction. */
int phase_leftover_step(Database *database, bool *ret_has_more);
