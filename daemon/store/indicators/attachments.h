/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Attachments: the software stacks and specifications of results, each stored once
 *
 * The tables stack and specification have a row for each digest, with the number of its results; package has each
 * package of any stack once, and stack_package the packages of each stack. The digest of a specification is the
 * SHA-256 of the document. A row is removed with its last result. Its size is charged to the user who sent it first.
 */

#include <stdint.h>

#include "request/request.h"
#include "store/catalog/catalog.h"
#include "store/catalog/duplicate.h"
#include "store/database/database.h"
#include "store/database/pack.h"
#include "store/table/store_subject.h"

extern const StoreTable attachments_stack_table, attachments_package_table, attachments_list_table,
        attachments_specification_table;

typedef enum Attached {
        ATTACHED_STACK,         /* a SubmissionStack */
        ATTACHED_SPECIFICATION, /* a Value */
        N_ATTACHED,
} Attached;

#define ATTACHMENTS_MAX 64 /* of one kind, in one submission */

/* The attachments of the items of a submission, each once. */
typedef struct AttachmentList {
        struct {
                const void *items[ATTACHMENTS_MAX]; /* borrowed */
                size_t n;
        } of[N_ATTACHED];
} AttachmentList;

/* Adds those of an item that the list does not have. */
void attachments_add(AttachmentList *list, const Submission *item);
/* Returns the number of an attachment of the list, from 1; 0 for NULL. */
size_t attachments_number(const AttachmentList *list, Attached kind, const void *attachment);
void attachments_pack(const AttachmentList *list, Buffer *out);

/* The attachments of a row set, for one transaction. */
typedef struct AttachmentSet {
        struct {
                Unpack begins[ATTACHMENTS_MAX]; /* where the fields of each begin */
                int64_t ids[ATTACHMENTS_MAX];   /* 0: not looked up yet */
                size_t n;
        } of[N_ATTACHED];
} AttachmentSet;

/* Finds the attachments in a row set, and moves `from` behind them. */
void attachments_unpack(Unpack *from, AttachmentSet *ret);
/* Finds the ids of the attachments of an item (numbers: from 1; 0: the id is 0), and stores those that are new. 0 or
 * an outcome of database.h, as for the next. */
int attachments_find(Database *database, AttachmentSet *set, const size_t numbers[static N_ATTACHED], uint32_t uid,
                     int64_t ret_ids[static N_ATTACHED]);
/* Counts a new result of these; 0: none. */
int attachments_count(Database *database, const int64_t ids[static N_ATTACHED]);
/* Removes those of the set that no result refers to. */
int attachments_drop_unused(Database *database, const AttachmentSet *set);

/* Gives the stored result the attachment if it has none; with a stack, its point moves to the series of the stack.
 * n_new_max: as for catalog_find_series(). 0 or an outcome of database.h. */
int attachments_complete(Database *database, Catalog *catalog, const Duplicate *sent, Attached kind, int64_t id,
                         int64_t *n_new_max, DuplicateOutcome *ret);
