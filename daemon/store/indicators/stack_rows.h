/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stack rows: software stacks, each stored once
 *
 * The table stack has a row for each digest, with the number of its results; package has each package of any stack once, and
 * stack_package the packages of each stack. A stack is removed with its last result. Its size is charged to the user who sent it first.
 */

#include <stdint.h>

#include "request/request.h"
#include "store/database/database.h"
#include "store/catalog/catalog.h"
#include "store/catalog/duplicate.h"
#include "store/database/pack.h"
#include "store/table/store_subject.h"

extern const StoreTable stack_rows_table, stack_rows_package_table, stack_rows_list_table;

/* The stacks of the items of a submission, each once: SUBMIT_STACKS_MAX at most. */
typedef struct StackList {
        const SubmissionStack *items[SUBMIT_STACKS_MAX]; /* borrowed */
        size_t n;
} StackList;

/* Adds a stack that the list does not have. stack NULL: nothing. */
void stack_rows_add(StackList *list, const SubmissionStack *stack);
/* Returns the number of a stack of the list, from 1; 0 for NULL. */
size_t stack_rows_number(const StackList *list, const SubmissionStack *stack);
void stack_rows_pack(const StackList *list, Buffer *out);

/* The stacks of a row set, for one transaction. */
typedef struct StackSet {
        Unpack begins[SUBMIT_STACKS_MAX]; /* where the fields of each stack begin */
        int64_t ids[SUBMIT_STACKS_MAX];   /* 0: not looked up yet */
        size_t n;
} StackSet;

/* Finds the stacks in a row set, and moves `from` behind them. */
void stack_rows_unpack(Unpack *from, StackSet *ret);
/* Finds the id of a stack (number: from 1; 0: *ret is 0), and stores the stack if it is new. 0 or an outcome of database.h. */
int stack_rows_find(Database *database, StackSet *set, size_t number, uint32_t uid, int64_t *ret);
/* Counts a new result of the stack; 0: none. 0 or an outcome of database.h. */
int stack_rows_count(Database *database, int64_t stack);
/* Removes those stacks of the set that no result refers to. */
int stack_rows_drop_unused(Database *database, const StackSet *set);

/* Gives the stored result the stack if it has none; then its point moves to the series of the stack. n_new_max: as for
 * catalog_find_series(). 0 or an outcome of database.h. */
int stack_rows_complete(Database *database, Catalog *catalog, const Duplicate *sent, int64_t stack, int64_t *n_new_max,
                        DuplicateOutcome *ret);
