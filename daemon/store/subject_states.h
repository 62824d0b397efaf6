/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Subject states: what the writer keeps for each subject
 *
 * The functions of the writer that call each subject in turn, with its state if it has one.
 */

#include <stdbool.h>

#include "store/table/store_subject.h"
#include "util/scoped.h"

typedef struct SubjectStates SubjectStates;
/* 0 or -ENOMEM. */
int subject_states_new(SubjectStates **ret, struct Shares *shares);
SubjectStates *subject_states_free(SubjectStates *states);
DEFINE_SCOPED(SubjectStates, subject_states_free);

/* 0 or an outcome of database.h, as for all functions here: the transaction must be rolled back. */
int subject_states_apply(SubjectStates *states, Database *database, RowSet *set);
int subject_states_flush(SubjectStates *states, Database *database, bool *ret_has_work);
void subject_states_forget(SubjectStates *states);
int subject_states_mend(Database *database, bool is_late);
int subject_states_find_work(Database *database, bool *ret_has_work);
int subject_states_work(SubjectStates *states, Database *database, bool *ret_has_more);
