/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Specification rows: specifications of runs, each document stored once
 *
 * The table specification has a row for each digest, the SHA-256 of the document, with the number of its results. A specification is
 * removed with its last result. Its size is charged to the user who sent it first.
 */

#include <stdint.h>

#include "request/request.h"
#include "store/database/database.h"
#include "store/database/pack.h"
#include "store/table/store_subject.h"

extern const StoreTable specification_rows_table;

/* The specifications of the items of a submission, each once: SUBMIT_SPECIFICATIONS_MAX at most. */
typedef struct SpecificationList {
        const Value *items[SUBMIT_SPECIFICATIONS_MAX]; /* borrowed */
        size_t n;
} SpecificationList;

/* Adds a document that the list does not have. document NULL: nothing. */
void specification_rows_add(SpecificationList *list, const Value *document);
/* Returns the number of a document of the list, from 1; 0 for NULL. */
size_t specification_rows_number(const SpecificationList *list, const Value *document);
void specification_rows_pack(const SpecificationList *list, Buffer *out);

/* The specifications of a row set, for one transaction. */
typedef struct SpecificationSet {
        Field documents[SUBMIT_SPECIFICATIONS_MAX]; /* JSON; borrowed from the row set */
        int64_t ids[SUBMIT_SPECIFICATIONS_MAX];     /* 0: not looked up yet */
        size_t n;
} SpecificationSet;

/* Finds the specifications in a row set, and moves `from` behind them. */
void specification_rows_unpack(Unpack *from, SpecificationSet *ret);
/* Finds the id of a specification (number: from 1; 0: *ret is 0), and stores it if it is new. 0 or an outcome of database.h. */
int specification_rows_find(Database *database, SpecificationSet *set, size_t number, uint32_t uid, int64_t *ret);
/* Counts a new result of the specification; 0: none. 0 or an outcome of database.h. */
int specification_rows_count(Database *database, int64_t specification);
/* Removes those specifications of the set that no result refers to. */
int specification_rows_drop_unused(Database *database, const SpecificationSet *set);
