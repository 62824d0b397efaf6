/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Event streams: server-sent events of the connections of a thread
 *
 * The responses have no end. A response is suspended while there is no event, and resumed by the thread of its
 * connection, which http_tick() wakes after each snapshot: the loop never waits for a client. What a client has not
 * read yet is at most one event and a small buffer of the kernel; without progress for the limit of idle connections,
 * the connection is closed.
 */

#include <microhttpd.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "http/connection_limits.h"
#include "http/exchange.h"
#include "snapshot/publisher.h"

typedef struct EventStream EventStream;

typedef struct EventStreams {
        ConnectionLimits *limits;      /* borrowed */
        LIST_HEAD(, EventStream) list; /* used by the thread only */
        atomic_size_t n;               /* length of the list */
        atomic_bool is_ending;         /* the streams end when they are resumed */
} EventStreams;

/* Charges a stream to the account of the connection. 0 with *ret; EVENT_STREAMS_REFUSED: the share of
 * RESOURCE_STREAMS is used up; or -ENOMEM. */
enum {
        EVENT_STREAMS_REFUSED = 1,
};
int event_streams_respond(EventStreams *streams, WriteEvent *write, Publisher *publisher,
                          struct MHD_Connection *connection, struct MHD_Response **ret);

/* Resumes all streams, so that they send what is new, or end. */
void event_streams_resume(EventStreams *streams);
