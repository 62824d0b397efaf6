/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Desk: dispatches requests to rooms and returns their answers
 *
 * A room (jobs, indicators) serves kinds of requests, each described by a Kind. The desk reads requests from ingest
 * one at a time, has the room place each, and answers at once or when the store has completed the rows. The desk
 * itself names no kind.
 */

#include "ingest/ingest.h"
#include "request/request.h"
#include "store/table/rowset.h"
#include "store/store.h"
#include "util/scoped.h"

typedef struct Kind {
        RequestKind request; /* REQUEST_HELLO, which ingest answers itself: the kind has completions only */
        const char *name;
        /*
         * Handles a request. Returns 0: *ret is the answer; DESK_PENDING: rows with a cookie of this kind are queued,
         * and their completion provides the answer; DESK_FULL: the store has no space, nothing changed, and the
         * request will be placed again; DESK_MORE: the work is too long for one turn of the loop, and the request will
         * be placed again in the next turn to continue it; or a negative errno.
         */
        int (*place)(void *state, const Request *request, Ticket ticket, Answer *ret);
        /*
         * Completes the rows of a cookie of this kind, which were stored or failed. Always fills *ret, the answer for
         * the cookie's ticket if set. Returns 0; DESK_CHANGED if HTTP must show the change before the answer is sent;
         * DESK_MORE, without an answer: as above; or a negative errno. NULL: the kind stores no rows.
         */
        int (*complete)(void *state, const StoreDone *done, Answer *ret);
        /* Or NULL: complete() also gets the sets of this kind that the store made of others (RowSet.derived),
         * without DESK_MORE. */
        const RowKind *derived;
} Kind;

enum {
        DESK_PENDING = 1,
        DESK_FULL,
        DESK_CHANGED,
        DESK_MORE,
};

/* Kinds with a common state. */
typedef struct DeskRow {
        const Kind *kinds; /* borrowed, like the state */
        size_t n_kinds;
        void *state; /* first argument of the kinds' functions */
} DeskRow;
#define DESK_ROW(kinds_, state_) ((DeskRow){ .kinds = (kinds_), .n_kinds = N_ELEMENTS(kinds_), .state = (state_) })

#define DESK_ROWS_MAX 16

/* A request that waits for space in the store or for its next turn; borrowed from ingest. */
typedef struct DeskRequest {
        Request request;
        Ticket ticket;
        bool is_set;
} DeskRequest;

typedef struct Desk {
        DeskRow rows[DESK_ROWS_MAX];
        size_t n_rows;
        DeskRequest held; /* no request is read in the meantime */
        /* of which each turn places a part; while the store has space, others are placed in between */
        DeskRequest kept;
        /* Completion that waits for its next turn; its rows are borrowed from the store until its next completion. */
        StoreDone held_done;
        bool has_held_done;
} Desk;

/* Sets the rows. Exactly one Kind must serve each kind of request. */
void desk_init(Desk *desk, const DeskRow *rows, size_t n_rows);

/* Places the requests that have arrived; called after each iteration of the loop. Returns 0 or a negative errno. */
int desk_take_requests(Desk *desk, Ingest *ingest);
/*
 * Answers requests whose rows are complete; called when store_fd() is readable. ingest_flush() sends the answers.
 * Returns 0, DESK_CHANGED or a negative errno.
 */
int desk_take_completions(Desk *desk, Store *store, Ingest *ingest);

/* --- functions for rooms -------------------------------------------------------------------------- */

/* Converts the result of store_put() to that of place(): DESK_PENDING, DESK_FULL or a negative errno. */
int desk_pending(int r);

/* Fills an answer. path and text: the invalid field and the fix; with STATUS_OK, "" or a remark. Returns 0. */
int desk_answer(Answer *ret, Status status, const char *path, const char *text);
/* Fills an answer UNAVAILABLE with the error of the store. Returns 0. */
int desk_answer_store_failed(Answer *ret, Store *store);

/* A time of a sender that is more than an hour ahead would stay the newest for a long time. */
enum {
        DESK_TIME_UNTRUSTED = 1, /* the clock of this node is not synchronised: use the time of arrival instead */
        DESK_TIME_REFUSED,       /* *ret_text is the reason */
};

/* Checks a time in ms since 1970. Returns 0 if the time is at most an hour ahead, or an outcome. */
int desk_check_time(uint64_t time_ms, uint64_t now_ms, char ret_text[static COMPLAINT_TEXT_MAX]);
