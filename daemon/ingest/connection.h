/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Connection: incoming bytes, unanswered requests and replies of one peer
 *
 * Knows the socket and the framing, but neither the event loop nor the content of frames. Replies leave in the order
 * of the
 * requests: each request takes the next number in a ring, and a reply that comes early waits there for the replies
 * before it.
 *
 * A connection without bytes owns no buffers, so that an idle connection takes only its struct. The memory of a busy
 * connection is limited: by CONNECTION_IN_BYTES or the size of the frame being received, by the ring, and by
 * CONNECTION_OUT_BYTES of replies that the peer does not read; beyond that, no further request is taken from the
 * connection.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "request/request.h"
#include "util/buffer.h"

#define CONNECTION_IN_BYTES_MIN 4096U
#define CONNECTION_IN_BYTES 65536U
#define CONNECTION_OUT_BYTES 65536U

typedef struct ReplySlot {
        uint64_t sequence;
        size_t n_bytes; /* size of the request, as charged to the user */
        uint8_t *reply; /* owned; NULL: not answered yet */
        size_t n_reply;
} ReplySlot;

typedef struct Connection {
        int fd;    /* owned */
        Peer peer; /* its pidfd is owned */
        bool is_at_end;  /* the peer sends nothing more */
        bool is_closing; /* takes no more requests, and ends after the last reply */
        bool is_deaf;    /* replies cannot reach the peer */

        uint8_t *in; /* owned; NULL when empty */
        size_t in_begin, in_end, in_size;
        size_t in_wanted; /* size for the next read: grows with a busy peer */

        Buffer out;
        size_t n_out_sent;

        ReplySlot *slots; /* owned ring, n_slots is a power of two */
        size_t n_slots;
        /* number of the oldest request without a reply in `out`, and number of the next request */
        uint64_t first, next;
} Connection;

/* Takes ownership of fd and peer->pidfd. */
void connection_init(Connection *connection, int fd, const Peer *peer);
void connection_deinit(Connection *connection);

/* Returns the size of the buffer for the next read: the size of the frame being received or, with is_fast, of a busy
 * peer's buffer. */
size_t connection_input_size(const Connection *connection, size_t frame_max_bytes, bool is_fast);
/* Reads the available bytes once, into a buffer of n_wanted bytes, and sets is_at_end. CONNECTION_FULL: there is no
 * room until a frame is consumed. */
enum {
        CONNECTION_FULL = 1,
};
int connection_receive(Connection *connection, size_t n_wanted);

/*
 * Gets the next frame, which must be released with connection_consume() before the next connection_receive(). 0, or
 * an outcome:
 */
enum {
        CONNECTION_NOTHING = 1, /* no complete frame, or no more requests are taken */
        CONNECTION_BUSY,        /* the limit of unanswered requests or of unread replies is reached */
        CONNECTION_TOO_LARGE,   /* the frame is larger than frame_max_bytes */
        CONNECTION_MALFORMED,
};
int connection_peek(const Connection *connection, size_t frame_max_bytes, unsigned in_flight_max, Frame *ret);
void connection_consume(Connection *connection, const Frame *frame);

/* Gives a request of n_bytes a number; it must be answered. 0 or -ENOMEM. */
int connection_expect(Connection *connection, uint64_t sequence, size_t n_bytes, uint64_t *ret_number);
/* Returns the slot of an unanswered request, else NULL. */
const ReplySlot *connection_find(const Connection *connection, uint64_t number);
/* Adds the reply to an unanswered request, which is copied. 0 or -ENOMEM. */
int connection_reply(Connection *connection, uint64_t number, const uint8_t *reply, size_t n);

/* Sends as much as possible. CONNECTION_PENDING: the rest can be sent when the socket is writable. */
enum {
        CONNECTION_PENDING = 1,
};
int connection_send(Connection *connection);
bool connection_has_output(const Connection *connection);

/* Return the number of unanswered requests, and their bytes. */
size_t connection_count_unanswered(const Connection *connection, size_t *ret_n_bytes);

/* Gives up replies: connection_is_over() holds at once. */
void connection_give_up(Connection *connection);
/* True if all requests are answered and only connection_deinit() is left to call. */
bool connection_is_over(const Connection *connection, size_t frame_max_bytes);

/*
 * ConnectionTable: numbers the connections
 *
 * A ticket names a place and its generation. Places are reused, generations are not: a ticket that outlives its
 * connection finds nothing.
 */
typedef struct ConnectionPlace {
        void *item; /* borrowed; NULL: the place is free */
        uint32_t generation;
} ConnectionPlace;

typedef struct ConnectionTable {
        ConnectionPlace *places; /* owned */
        size_t n_places;
} ConnectionTable;

void connection_table_deinit(ConnectionTable *table);
/* Makes room for at least n items. 0 or -ENOMEM. */
int connection_table_fit(ConnectionTable *table, size_t n);

/* Puts an item into a free place. 0 or an outcome. */
enum {
        CONNECTION_TABLE_FULL = 1,
};
int connection_table_add(ConnectionTable *table, void *item, uint32_t *ret_place);
void connection_table_remove(ConnectionTable *table, uint32_t place);

uint32_t connection_table_generation(const ConnectionTable *table, uint32_t place);
/* Returns NULL if the item was removed. */
void *connection_table_find(const ConnectionTable *table, uint32_t place, uint32_t generation);
