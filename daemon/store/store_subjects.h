/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Store subjects: the states of the subjects in the writer
 *
 * These functions call each subject in turn.
 */

#include <stdbool.h>

#include "store/store_subject.h"
#include "util/scoped.h"

/* The subjects' states, for the writer. */
typedef struct StoreSubjects StoreSubjects;
/* 0 or -ENOMEM. */
int store_subjects_new(StoreSubjects **ret, struct Shares *shares);
StoreSubjects *store_subjects_free(StoreSubjects *subjects);
DEFINE_SCOPED(StoreSubjects, store_subjects_free);

/* 0 or an outcome of database.h, as for all functions here: the transaction must be rolled back. */
int store_subjects_apply(StoreSubjects *subjects, Database *database, RowSet *set);
int store_subjects_flush(StoreSubjects *subjects, Database *database);
void store_subjects_forget(StoreSubjects *subjects);
int store_subjects_undo(Database *database);
int store_subjects_interrupt(Database *database);
bool store_subjects_take_work(StoreSubjects *subjects);
int store_subjects_find_work(Database *database, bool *ret_has_work);
int store_subjects_work(StoreSubjects *subjects, Database *database, bool *ret_has_more);
