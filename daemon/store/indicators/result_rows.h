/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Result rows: row sets of submitted results. */

#include "request/request.h"
#include "shares/resource.h"
#include "store/catalog/duplicate.h"
#include "store/table/rowset.h"
#include "store/table/store_subject.h"

/*
 * Packs all items of one submission into one row set: all are stored, or none. arrived_ms: time for items without
 * one. The sender must be an administrator or the owner of every job that the items name and that was begun here,
 * else STORE_DENIED. An inherited job that has ended here is left out. STORE_QUOTA: a sender who is not an
 * administrator has no share left for the names or series of the items. Copies everything, documents as JSON text.
 * For store_put(); NULL: out of memory.
 */
RowSet *result_rows_pack(const Submission *items, size_t n_items, const Peer *sender, uint64_t arrived_ms,
                         StoreCookie cookie);

/*
 * Packs the items in parts: result_rows_packer_note() for each item, result_rows_packer_begin(),
 * result_rows_packer_add() for each item, and result_rows_packer_finish(). The items' documents are borrowed until
 * then.
 */
typedef struct ResultPacker ResultPacker;
ResultPacker *result_rows_packer_new(void); /* NULL: out of memory; caller frees */
ResultPacker *result_rows_packer_free(ResultPacker *packer);
void result_rows_packer_note(ResultPacker *packer, const Submission *item);
void result_rows_packer_begin(ResultPacker *packer, const Peer *sender);
void result_rows_packer_add(ResultPacker *packer, const Submission *item, uint64_t arrived_ms);
/* Returns the size of the row set. */
size_t result_rows_packer_size(const ResultPacker *packer);
/* As result_rows_pack(); frees the packer, which may be NULL. */
RowSet *result_rows_packer_finish(ResultPacker *packer, StoreCookie cookie);

/* Outcome of the results of a row set. */
typedef struct ResultsStored {
        size_t n_new;      /* results that were not stored before */
        uint32_t uid;      /* the sender; with STORE_QUOTA */
        Resource refused;  /* resource of which the sender has no share left; with STORE_QUOTA */
        bool has_left_job; /* an inherited job has ended: these results belong to no job */
        bool has_completed_stack; /* a result that was stored before without a software stack got one */
        bool has_other_stack;     /* a result that was stored before has another software stack, which is kept */
        bool has_completed_specification, has_other_specification; /* as with stacks */
        /* a result that was stored before got missing members of the document, or another content */
        bool has_filled, has_replaced;
        /* first difference of a result that was stored before, which is kept; "": none */
        char difference[DUPLICATE_TEXT_MAX];
        /* a bit for each result, lowest bit of the first byte first: set if the result was stored before */
        uint8_t old[];
} ResultsStored;
/* Borrowed from the set, which must contain results. */
const ResultsStored *result_rows_stored(const RowSet *set);

/* The results of a row set that was stored, in their order. */
typedef struct ResultWalk {
        const RowSet *set; /* borrowed */
        Unpack items;
        size_t i;
        uint32_t uid; /* the sender */
} ResultWalk;
typedef struct StoredResult {
        const char *name, *component; /* borrowed from the set; component: "" for none */
        bool has_failed, is_new;
        JsonText document; /* borrowed from the set */
        uint64_t time_ms;
} StoredResult;
ResultWalk result_rows_walk(const RowSet *set);
/* False: there is no further result. */
bool result_rows_next(ResultWalk *walk, StoredResult *ret);

extern const RowKind result_rows_kind;

/* The subject: results, the indicators that they are of, models, and the index of results. */
extern const StoreSubject store_indicators;
