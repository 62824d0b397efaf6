/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ingest: the submission socket
 *
 * Owns the listening socket and the connections, divides bytes into frames, decodes frames into valid Requests, and
 * sends Answers in the order of the requests. Ingest makes no decisions: its parent takes requests with
 * ingest_next() as fast as it can place them, and answers each with ingest_answer(), at once or when the data are on
 * disk.
 *
 * Back-pressure: requests that the parent does not take remain in the connection's buffer, then in the kernel's,
 * then in the client's write. A connection holds at most the bytes of one frame and `in_flight_max` unanswered
 * requests. Connections, buffers of more than CONNECTION_IN_BYTES_MIN and unanswered requests are charged to the
 * user: a connection beyond the share is refused, buffers and requests wait. Users' requests are taken in turn
 * (turns.h). A peer whose bytes are not a perfd frame gets a last reply with the reason, and is closed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "document/indicator.h"
#include "request/request.h"
#include "shares/shares.h"
#include "snapshot/stats.h"
#include "util/scoped.h"

typedef struct IngestConfig {
        size_t frame_max_bytes;
        unsigned in_flight_max; /* limit of unanswered requests of one connection */
        DocumentLimits documents;
        uint32_t admin_gid;     /* group whose members may act for the jobs of others, as root may */
} IngestConfig;

#define INGEST_NO_ADMIN_GID UINT32_MAX /* no group: only root acts for others */

/* Identity of this server in its reply to hello. */
typedef struct IngestServer {
        const char *name, *node; /* borrowed */
        bool durable;            /* an acknowledged row survives a power failure */
} IngestServer;

/* Refused connections that are not closed yet; a further one is closed at once, which takes longer. */
#define INGEST_REFUSED_MAX 256U

typedef struct Ingest Ingest;

/* listen_fd: a listening SOCK_STREAM Unix socket, which ingest owns even on failure. Config and server are copied,
 * shares are
 * borrowed. Caller frees. */
int ingest_new(Ingest **ret, sd_event *event, int listen_fd, const IngestConfig *config, const IngestServer *server,
               Shares *shares);
Ingest *ingest_free(Ingest *ingest);
DEFINE_SCOPED(Ingest, ingest_free);

/* Sets limits for later connections and requests, and the administrators also for existing connections. */
void ingest_configure(Ingest *ingest, const IngestConfig *config);

/*
 * Returns the next request, from users and their connections in turn. Ingest itself answers hello and invalid
 * requests. *ret is borrowed until the next call. 0, INGEST_IDLE if no request is complete (call again after the
 * next turn of the loop), or < 0.
 */
enum {
        INGEST_IDLE = 1,
};
int ingest_next(Ingest *ingest, Request *ret, Ticket *ret_ticket);
/*
 * Keeps the last request, whose ticket this is, until ingest_release(); requests of other users are taken in the
 * meantime. False: another request is kept, or the connection has ended.
 */
bool ingest_keep(Ingest *ingest, Ticket ticket);
void ingest_release(Ingest *ingest);

/* Answers a request. Ingest keeps the order of answers. Ignores tickets of closed connections. */
void ingest_answer(Ingest *ingest, Ticket ticket, const Answer *answer);

/* Sends answers on all connections. Call once after several ingest_answer(). */
void ingest_flush(Ingest *ingest);

/* True if there are requests to take. They are already in buffers, so no descriptor reports them. */
bool ingest_has_requests(Ingest *ingest);
/* Makes the loop turn again at once, for a parent that stops before INGEST_IDLE although it can go on. */
void ingest_wake(Ingest *ingest);

/* Stops accepting and reading; answers are still sent. For an orderly shutdown. */
void ingest_drain(Ingest *ingest);
/* True if all requests are answered and all answers are sent. */
bool ingest_is_idle(const Ingest *ingest);

const IngestStats *ingest_stats(const Ingest *ingest);
