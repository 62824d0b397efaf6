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
        RequestKind request; /* REQUEST_HELLO, which ingest answers itself: this kind has completions only */
        const char *name;
        /*
         * Decides about a request. 0: *ret is the answer. DESK_PENDING: rows with a cookie of this kind are queued, their completion
         * answers. DESK_FULL: the store has no room, nothing happened; the same request comes again. Or a negative errno.
         */
        int (*place)(void *state, const Request *request, Ticket ticket, Answer *ret);
        /*
         * The rows of a cookie of this kind are stored, or could not be. Always fills *ret, which goes to the cookie's ticket if that is
         * set. 0; DESK_CHANGED: HTTP must show the change before the answer is sent; or a negative errno. NULL: the kind puts no rows.
         */
        int (*complete)(void *state, const StoreDone *done, Answer *ret);
} Kind;

enum {
        DESK_PENDING = 1,
        DESK_FULL,
        DESK_CHANGED,
};

/* Kinds that share a state. */
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
        /* The request that the store had no room for; borrowed from ingest until its next one. Nothing is read meanwhile. */
        Request held;
        Ticket held_ticket;
        bool has_held;
} Desk;

/* Every kind of request must be served by exactly one Kind. */
void desk_init(Desk *desk, const DeskRow *rows, size_t n_rows);

/* After every turn of the loop: has the requests placed that have arrived. 0 or < 0. */
int desk_take_requests(Desk *desk, Ingest *ingest);
/* When store_fd() is readable: has the answers made for what is stored. 0, DESK_CHANGED or < 0. They are sent by ingest_flush(). */
int desk_take_completions(Desk *desk, Store *store, Ingest *ingest);

/* --- for rooms ------------------------------------------------------------------------------------ */

/* What place() returns after store_put(): DESK_PENDING, DESK_FULL or < 0. */
int desk_pending(int r);

/* Fills an answer; path and text: field to complain about and the fix; with STATUS_OK "", or a remark. Returns 0. */
int desk_answer(Answer *ret, Status status, const char *path, const char *text);
/* UNAVAILABLE, with the store's own reason. Returns 0. */
int desk_answer_store_failed(Answer *ret, Store *store);
