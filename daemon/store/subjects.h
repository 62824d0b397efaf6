/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Subjects: the list of subjects, and what the writer keeps for each
 *
 * The rest of the machinery walks the list or calls these functions, which ask each subject in turn.
 */

#include <stdbool.h>

#include "store/subject.h"
#include "util/scoped.h"

/* The subjects, up to NULL; for walks over their tables and statements. */
const Subject *const *subjects_all(void);
/* Checks that each statement fits the schema. 0 or an outcome of database.h. */
int subjects_check_statements(Database *database);

/* The subjects' states, for the writer. */
typedef struct Subjects Subjects;
/* 0 or -ENOMEM. */
int subjects_new(Subjects **ret);
Subjects *subjects_free(Subjects *subjects);
DEFINE_SCOPED(Subjects, subjects_free);

/* 0 or an outcome of database.h, as all of these: the transaction is to be rolled back. */
int subjects_apply(Subjects *subjects, Database *database, RowSet *set);
int subjects_flush(Subjects *subjects, Database *database);
void subjects_forget(Subjects *subjects);
int subjects_interrupt(Database *database);
bool subjects_take_work(Subjects *subjects);
int subjects_find_work(Database *database, bool *ret_has_work);
int subjects_work(Subjects *subjects, Database *database, bool *ret_has_more);
