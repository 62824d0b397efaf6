/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Desk: hands requests to the rooms and brings their answers back
 *
 * A room (jobs, indicators) serves kinds of requests, each described by a Kind. The desk takes requests from ingest in turn, has the
 * room place each, and answers at once or when the store has completed the rows. The desk knows no kind by name.
 */

#include "ingest/ingest.h"
#include "request/request.h"
#include "store/store.h"
#include "util/scoped.h"

typedef struct Kind {
        RequestKind request; /* REQUEST_HELLO, which ingest answers: the kind has completions only */
        const char *name;
        /*
         * Decides about a request. 0: *ret is the answer. DESK_PENDING: rows with a cookie of this kind are queued, and their completion
         * provides the answer. DESK_FULL: the store has no room, nothing changed, and the request is placed again. Or a negative errno.
         */
        int (*place)(void *state, const Request *request, Ticket ticket, Answer *ret);
        /*
         * Completes the rows of a cookie of this kind, which are stored or have failed. Always fills *ret, the answer for the cookie's
         * ticket if set. 0; DESK_CHANGED: HTTP must show the change before the answer is sent; or a negative errno. NULL: no rows are put.
         */
        int (*complete)(void *state, const StoreDone *done, Answer *ret);
} Kind;

enum {
        DESK_PENDING = 1,
        DESK_FULL,
        DESK_CHANGED,
};

/* Kinds with a common state. */
typedef struct DeskRow {
        const Kind *kinds; /* borrowed, as is the state */
        size_t n_kinds;
        void *state; /* first argument of the kinds' functions */
} DeskRow;
#define DESK_ROW(kinds_, state_) ((DeskRow){ .kinds = (kinds_), .n_kinds = N_ELEMENTS(kinds_), .state = (state_) })

#define DESK_ROWS_MAX 16

typedef struct Desk {
        DeskRow rows[DESK_ROWS_MAX];
        size_t n_rows;
        /* Request for which the store had no room; borrowed from ingest until its next request. No request is read meanwhile. */
        Request held;
        Ticket held_ticket;
        bool has_held;
} Desk;

/* Sets the rows. Exactly one Kind must serve each kind of request. */
void desk_init(Desk *desk, const DeskRow *rows, size_t n_rows);

/* Places the requests that have arrived; called after every turn of the loop. 0 or < 0. */
int desk_take_requests(Desk *desk, Ingest *ingest);
/* Answers requests whose rows are complete, when store_fd() is readable; ingest_flush() sends the answers. 0, DESK_CHANGED or < 0. */
int desk_take_completions(Desk *desk, Store *store, Ingest *ingest);

/* --- for rooms ------------------------------------------------------------------------------------ */

/* Converts the result of store_put() into that of place(): DESK_PENDING, DESK_FULL or < 0. */
int desk_pending(int r);

/* Fills an answer. path and text: the invalid field and the fix; with STATUS_OK "", or a remark. Returns 0. */
int desk_answer(Answer *ret, Status status, const char *path, const char *text);
/* Fills an answer UNAVAILABLE with the reason of the store. Returns 0. */
int desk_answer_store_failed(Answer *ret, Store *store);
