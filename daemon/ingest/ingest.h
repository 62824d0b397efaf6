/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ingest: the Unix socket
 *
 * Owns the listening socket and the connections, cuts bytes into frames, frames into
 * valid Requests, and sends Answers back in the order of the requests. It decides
 * nothing: its parent takes requests with ingest_next() as fast as it can place them and
 * gives each an answer with ingest_answer(), at once or when the disk has it.
 *
 * Back-pressure: what the parent does not take stays in the connection's buffer, then in
 * the kernel's, then in the client's write. A connection holds at most one frame's worth of
 * bytes and `in_flight_max` unanswered requests. Connections, buffers of more than
 * CONNECTION_IN_BYTES_MIN and unanswered requests are charged to the user: a connection beyond the
 * share is refused, buffers and requests wait. Users' requests are taken in turn (turns.h). A peer whose bytes are not a frame of ours
 * gets a last reply that says so, and is closed.
 */

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "ingest/ingest_config.h"
#include "request/request.h"
#include "shares/shares.h"
#include "snapshot/stats.h"
#include "util/scoped.h"

typedef struct Ingest Ingest;

/*
 * listen_fd: a listening SOCK_STREAM Unix socket, taken over in any case. Config and server are copied, shares are borrowed. Caller
 * frees.
 */
int ingest_new(Ingest **ret, sd_event *event, int listen_fd, const IngestConfig *config, const IngestServer *server,
               Shares *shares);
Ingest *ingest_free(Ingest *ingest);
DEFINE_SCOPED(Ingest, ingest_free);

/* New limits for what comes from now on; who is an administrator, for those who are connected as well. */
void ingest_configure(Ingest *ingest, const IngestConfig *config);

/*
 * The next request, users and their connections in turn. Hello, and whatever is
 * not valid, ingest answers itself. *ret is borrowed until the next call.
 * 0, INGEST_IDLE when none is complete (call again after the next turn of the loop), or < 0.
 */
enum {
        INGEST_IDLE = 1,
};
int ingest_next(Ingest *ingest, Request *ret, Ticket *ret_ticket);

/* Answers a request. Order between requests is ingest's business. Ignores tickets whose connection is gone. */
void ingest_answer(Ingest *ingest, Ticket ticket, const Answer *answer);

/* Sends what is ready on every connection. Call once after a batch of ingest_answer(). */
void ingest_flush(Ingest *ingest);

/*
 * Makes the loop turn again at once if there are requests to take: they are in buffers already, and no descriptor
 * will tell of them. For a parent that stops taking before INGEST_IDLE, but not because it cannot place them.
 */
void ingest_wake(Ingest *ingest);

/* Stops accepting and reading; answers still go out. For a clean end. */
void ingest_drain(Ingest *ingest);
/* True when no request is unanswered and no answer unsent. */
bool ingest_is_idle(const Ingest *ingest);

const IngestStats *ingest_stats(const Ingest *ingest);
