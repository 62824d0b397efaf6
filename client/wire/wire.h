/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Wire: one connection to perfd's socket
 *
 * No function waits beyond its deadline (CLOCK_BOOTTIME) or raises SIGPIPE. Requests are numbered from 1. Replies
 * come in order; an exchange skips late replies to earlier requests.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/wire/protocol.h"
#include "util/buffer.h"

#define WIRE_REPLY_MAX 16384U
#define WIRE_SOCKET_DEFAULT "/run/perfd/perfd.sock"

typedef struct Wire {
        int fd; /* -1: not connected */
        uint64_t n_requests;
        size_t n_in;
        uint8_t in[WIRE_REPLY_MAX];
} Wire;

/* Returns the path of the socket: `path`, else $PERFD_SOCKET, else WIRE_SOCKET_DEFAULT. */
const char *wire_path(const char *path);

void wire_init(Wire *wire);
void wire_deinit(Wire *wire); /* closes the connection; wire_connect() may follow */

static inline bool wire_is_connected(const Wire *wire) {
        return wire->fd >= 0;
}

#define WIRE_ERROR_MAX 384U
/* Writes why perfd cannot be reached at `path`. error: negative errno from one of the functions below. */
void wire_explain(const char *path, int error, char ret[static WIRE_ERROR_MAX]);

/* Returns 0 or a negative errno; -ETIMEDOUT if the deadline passes. */
int wire_connect(Wire *wire, const char *path, uint64_t deadline_ns);

/* Returns the number of the next request: 1, 2, …, counted over all connections. */
uint64_t wire_next_sequence(Wire *wire);

/*
 * Sends a frame, and waits for the reply with the given sequence number. Returns -ECONNRESET if perfd closed the
 * connection, and -EPROTO if the peer does not speak this protocol. Every error closes the connection, except a
 * timeout while waiting for the reply: perfd has the request then, and wire_receive() can still receive the reply.
 */
int wire_exchange(Wire *wire, const Buffer *frame, uint64_t sequence, uint64_t deadline_ns, Reply *ret);
/* Receives the late reply to a request whose exchange timed out. Errors as of wire_exchange(). */
int wire_receive(Wire *wire, uint64_t sequence, uint64_t deadline_ns, Reply *ret);

/*
 * Sends a hello over a separate connection. Returns 0, or a negative errno if nothing answered at `path` before the
 * deadline.
 */
int wire_ask_hello(const char *path, uint64_t deadline_ns, Reply *ret);
