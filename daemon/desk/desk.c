/* SPDX-License-Identifier: Apache-2.0 */
#include "desk/desk.h"

#include <assert.h>
#include <stdio.h>

#include "util/clock.h"

/* Limits per iteration of the loop, so that timers are not delayed: number of requests, and time for requests or for
 * completions. */
#define REQUESTS_PER_TURN 256
#define TURN_NS (4 * NS_PER_MS)

/* --- kinds of requests ----------------------------------------------------------------------------- */

/* Returns the kind that serves a request, and its row; NULL if there is none. */
static const Kind *find_by_request(const Desk *desk, RequestKind request, const DeskRow **ret_row) {
        for (const DeskRow *row = desk->rows; row < desk->rows + desk->n_rows; row++)
                for (const Kind *kind = row->kinds; kind < row->kinds + row->n_kinds; kind++)
                        if (kind->request == request) {
                                *ret_row = row;
                                return kind;
                        }
        return NULL;
}

/* Returns the row that contains this kind. */
static const DeskRow *find_by_kind(const Desk *desk, const Kind *kind) {
        for (const DeskRow *row = desk->rows; row < desk->rows + desk->n_rows; row++)
                if (kind >= row->kinds && kind < row->kinds + row->n_kinds)
                        return row;
        return NULL;
}

static size_t count_kinds(const Desk *desk, RequestKind request) {
        size_t n = 0;

        for (const DeskRow *row = desk->rows; row < desk->rows + desk->n_rows; row++)
                for (size_t i = 0; i < row->n_kinds; i++)
                        n += row->kinds[i].request == request;
        return n;
}

void desk_init(Desk *desk, const DeskRow *rows, size_t n_rows) {
        assert(n_rows <= DESK_ROWS_MAX);

        *desk = (Desk){ .n_rows = n_rows };
        for (size_t i = 0; i < n_rows; i++)
                desk->rows[i] = rows[i];
        for (RequestKind request = REQUEST_HELLO + 1; request < N_REQUEST_KINDS; request++)
                assert(count_kinds(desk, request) == 1 && "every kind of request has exactly one Kind");
}

/* --- placing and completing ------------------------------------------------------------------------ */

static int place(const Desk *desk, Ingest *ingest, const Request *request, Ticket ticket) {
        const DeskRow *row = NULL;
        const Kind *kind = find_by_request(desk, request->kind, &row);
        Answer answer = {};
        int r;

        assert(request->kind != REQUEST_HELLO);
        assert(kind && kind->place);
        assert(ticket_is_set(ticket));

        r = kind->place(row->state, request, ticket, &answer);
        assert(r < 0 || r == 0 || r == DESK_PENDING || r == DESK_FULL || r == DESK_MORE);
        if (r == 0)
                ingest_answer(ingest, ticket, &answer);
        return r;
}

/* Outcomes of a step of a turn. */
enum {
        STEP_DONE,
        STEP_IDLE, /* no request */
        STEP_FULL, /* the request waits for space in the store */
        STEP_MORE, /* the request waits for the next turn */
};

static int step_outcome(int r) {
        return r == DESK_FULL ? STEP_FULL : r == DESK_MORE ? STEP_MORE : STEP_DONE;
}

/* Places a part of the kept request. Returns an outcome or a negative errno. */
static int continue_kept(Desk *desk, Ingest *ingest) {
        int r;

        if (!desk->kept.is_set)
                return STEP_IDLE;

        r = place(desk, ingest, &desk->kept.request, desk->kept.ticket);
        if (r < 0)
                return r;
        desk->kept.is_set = r == DESK_FULL || r == DESK_MORE;
        if (!desk->kept.is_set)
                ingest_release(ingest);
        return step_outcome(r);
}

/* Places the held request or the next one. Returns an outcome or a negative errno. */
static int place_next(Desk *desk, Ingest *ingest) {
        DeskRequest *held = &desk->held;
        int r;

        if (!held->is_set) {
                r = ingest_next(ingest, &held->request, &held->ticket);
                if (r < 0)
                        return r;
                if (r == INGEST_IDLE)
                        return STEP_IDLE;
        }

        r = place(desk, ingest, &held->request, held->ticket);
        if (r < 0)
                return r;
        held->is_set = r == DESK_FULL || r == DESK_MORE;
        if (r == DESK_MORE && ingest_keep(ingest, held->ticket)) {
                desk->kept = *held;
                held->is_set = false;
                return STEP_DONE;
        }
        return step_outcome(r);
}

int desk_take_requests(Desk *desk, Ingest *ingest) {
        uint64_t end_ns = clock_boottime_ns() + TURN_NS;
        int r, next = STEP_DONE;

        r = continue_kept(desk, ingest);
        /* Back-pressure: while a request waits, no further one is read. */
        for (unsigned i = 0;
             r >= 0 && r != STEP_FULL && next == STEP_DONE && i < REQUESTS_PER_TURN && clock_boottime_ns() < end_ns;
             i++)
                next = place_next(desk, ingest);
        if (r < 0 || next < 0)
                return r < 0 ? r : next;

        ingest_flush(ingest);
        if (desk->kept.is_set ? r != STEP_FULL : desk->held.is_set ? next == STEP_MORE : ingest_has_requests(ingest))
                ingest_wake(ingest);
        return 0;
}

static int complete(const Desk *desk, Ingest *ingest, const StoreDone *done) {
        const Kind *kind = done->cookie.kind;
        const DeskRow *row = find_by_kind(desk, kind);
        Answer answer = {};
        int r;

        assert(row && kind->complete);

        r = kind->complete(row->state, done, &answer);
        assert(r < 0 || r == 0 || r == DESK_CHANGED || r == DESK_MORE);
        if (r >= 0 && r != DESK_MORE && ticket_is_set(done->cookie.ticket))
                ingest_answer(ingest, done->cookie.ticket, &answer);
        return r;
}

static const DeskRow *find_by_derived(const Desk *desk, const RowKind *derived, const Kind **ret) {
        for (size_t i = 0; i < desk->n_rows; i++)
                for (size_t k = 0; k < desk->rows[i].n_kinds; k++)
                        if (desk->rows[i].kinds[k].derived == derived) {
                                *ret = &desk->rows[i].kinds[k];
                                return &desk->rows[i];
                        }
        return NULL;
}

/* Completes the sets that the store made of another. Nobody waits for them. */
static int complete_derived(const Desk *desk, const RowSet *derived) {
        int r = 0;

        for (; r >= 0 && derived; derived = derived->derived) {
                StoreDone done = { .outcome = derived->outcome, .rows = derived };
                const DeskRow *row = find_by_derived(desk, derived->kind, &done.cookie.kind);
                Answer unused = {};

                assert(row);
                r = done.cookie.kind->complete(row->state, &done, &unused);
                assert(r != DESK_MORE);
        }
        return r;
}

int desk_take_completions(Desk *desk, Store *store, Ingest *ingest) {
        uint64_t end_ns = clock_boottime_ns() + TURN_NS;
        bool has_changed = false;

        /* The descriptor of the store stays readable until store_next_done() finds no completion. */
        while (clock_boottime_ns() < end_ns && (desk->has_held_done || store_next_done(store, &desk->held_done) == 0)) {
                int r;

                r = complete(desk, ingest, &desk->held_done);
                if (r < 0)
                        return r;
                has_changed = has_changed || r == DESK_CHANGED;
                desk->has_held_done = r == DESK_MORE;
                if (desk->has_held_done)
                        break;
                r = desk->held_done.outcome == STORE_DONE ? complete_derived(desk, desk->held_done.rows->derived) : 0;
                if (r < 0)
                        return r;
        }

        return has_changed ? DESK_CHANGED : 0;
}

/* --- functions for rooms -------------------------------------------------------------------------- */

int desk_pending(int r) {
        if (r < 0)
                return r;
        return r == STORE_QUEUE_FULL ? DESK_FULL : DESK_PENDING;
}

int desk_answer(Answer *ret, Status status, const char *path, const char *text) {
        *ret = (Answer){ .status = status };
        (void)snprintf(ret->complaint.path, sizeof(ret->complaint.path), "%s", path);
        (void)snprintf(ret->complaint.text, sizeof(ret->complaint.text), "%s", text);
        return 0;
}

int desk_answer_store_failed(Answer *ret, Store *store) {
        StoreStats stats;
        char text[256];

        store_stats(store, &stats);
        (void)snprintf(text, sizeof(text), "the store cannot write: %s",
                       stats.error[0] ? stats.error : "unknown reason");
        return desk_answer(ret, STATUS_UNAVAILABLE, "", text);
}

/* --- times of senders ------------------------------------------------------------------------------- */


int desk_check_time(uint64_t time_ms, uint64_t now_ms, char ret_text[static COMPLAINT_TEXT_MAX]) {
        char time[CLOCK_TEXT_MAX];

        if (time_ms <= now_ms + CLOCK_AHEAD_MAX_MS)
                return 0;
        if (!clock_is_synchronised())
                return DESK_TIME_UNTRUSTED;

        clock_format_utc(time_ms * NS_PER_MS, time);
        (void)snprintf(ret_text, COMPLAINT_TEXT_MAX,
                       "is %s, more than an hour ahead of this node's synchronised clock; "
                       "correct the clock of the sender, or omit the time",
                       time);
        return DESK_TIME_REFUSED;
}
