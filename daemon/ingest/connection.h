/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Connection: one peer's bytes in, its unanswered requests, its replies out
 *
 * Knows the socket and the framing, but neither the event loop nor what frames mean.
 * Replies leave in the order of the requests: each request takes the next number in a
 * ring, a reply that comes early waits there for those before it.
 *
 * A connection without bytes owns no buffers, so an idle one costs its struct. What a busy
 * one holds is bounded: by CONNECTION_IN_BYTES or the frame it is receiving, by the ring,
 * and by CONNECTION_OUT_BYTES of replies it does not read, beyond which no further request
 * is taken from it.
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
        size_t n_bytes; /* of the request, as charged to the user */
        uint8_t *reply; /* owned; NULL: not answered yet */
        size_t n_reply;
} ReplySlot;

typedef struct Connection {
        int fd;    /* owned */
        Peer peer; /* its pidfd is owned */
        bool is_at_end;  /* the peer sends no more */
        bool is_closing; /* takes no more requests, ends after the last reply */
        bool is_deaf;    /* replies cannot reach the peer */

        uint8_t *in; /* owned; NULL when empty */
        size_t in_begin, in_end, in_size;
        size_t in_wanted; /* size to try next: grows with a busy peer */

        Buffer out;
        size_t n_out_sent;

        ReplySlot *slots; /* owned ring, n_slots is a power of two */
        size_t n_slots;
        uint64_t first, next; /* numbers of the oldest request without a reply in `out`, and of the next one */
} Connection;

/* Takes fd and peer->pidfd over. */
void connection_init(Connection *connection, int fd, const Peer *peer);
void connection_deinit(Connection *connection);

/* Size of the buffer for the next read: that of the frame that is arriving, or with is_fast, what a busy peer uses. */
size_t connection_input_size(const Connection *connection, size_t frame_max_bytes, bool is_fast);
/*
 * Reads once what is there, into a buffer of n_wanted bytes, and sets is_at_end. CONNECTION_FULL: there is no room until a frame is
 * consumed.
 */
enum {
        CONNECTION_FULL = 1,
};
int connection_receive(Connection *connection, size_t n_wanted);

/*
 * The next frame, to be given back with connection_consume() before the next connection_receive().
 * 0, or an outcome:
 */
enum {
        CONNECTION_NOTHING = 1, /* no complete one, or none is taken any more */
        CONNECTION_BUSY,        /* has as many unanswered requests or unread replies as it may */
        CONNECTION_TOO_LARGE,   /* announces a frame of more than frame_max_bytes */
        CONNECTION_MALFORMED,
};
int connection_peek(const Connection *connection, size_t frame_max_bytes, unsigned in_flight_max, Frame *ret);
void connection_consume(Connection *connection, const Frame *frame);

/* A number for a request of n_bytes that will be answered. 0 or -ENOMEM. */
int connection_expect(Connection *connection, uint64_t sequence, size_t n_bytes, uint64_t *ret_number);
/* The slot of a request that is still to be answered, else NULL. */
const ReplySlot *connection_find(const Connection *connection, uint64_t number);
/* The reply to an expected request, copied. 0 or -ENOMEM. */
int connection_reply(Connection *connection, uint64_t number, const uint8_t *reply, size_t n);

/* Sends what can be sent. CONNECTION_PENDING: the rest when the socket is writable. */
enum {
        CONNECTION_PENDING = 1,
};
int connection_send(Connection *connection);
bool connection_has_output(const Connection *connection);

/* Number of requests that were taken and not answered, and their bytes. */
size_t connection_count_unanswered(const Connection *connection, size_t *ret_n_bytes);

/* Nothing can be said any more: connection_is_over() at once. */
void connection_give_up(Connection *connection);
/* True when all requests are answered and there is nothing left to do but connection_deinit(). */
bool connection_is_over(const Connection *connection, size_t frame_max_bytes);
