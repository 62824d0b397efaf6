/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Wire: one connection to perfd's socket
 *
 * No function waits beyond its deadline (CLOCK_BOOTTIME) or raises SIGPIPE. Requests are numbered from 1. Replies come in
 * order; the next exchange skips a reply that came too late for its own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/wire/codec.h"
#include "util/buffer.h"

#define WIRE_REPLY_MAX 16384U

typedef struct Wire {
        int fd; /* -1: not connected */
        uint64_t n_requests;
        size_t n_in;
        uint8_t in[WIRE_REPLY_MAX];
} Wire;

/* The path of the socket: `path`, else $PERFD_SOCKET, else /run/perfd/perfd.sock. */
const char *wire_path(const char *path);

void wire_init(Wire *wire);
void wire_deinit(Wire *wire); /* closes the connection; wire_connect() may follow */

static inline bool wire_is_connected(const Wire *wire) {
        return wire->fd >= 0;
}

#define WIRE_ERROR_MAX 384U
/* Why perfd cannot be reached at `path`: error is a negative errno of the functions below. */
void wire_explain(const char *path, int error, char ret[static WIRE_ERROR_MAX]);

/* 0 or a negative errno; -ETIMEDOUT when the deadline passes. */
int wire_connect(Wire *wire, const char *path, uint64_t deadline_ns);

/* The number for the next request: 1, 2, …, over all connections. */
uint64_t wire_next_sequence(Wire *wire);

/*
 * Sends a frame, and waits for the reply to its sequence. -ECONNRESET: perfd closed the connection; -EPROTO: the peer does
 * not speak this protocol. An error closes the connection, except where only the reply did not come in time:
 * then perfd has the request, and the next request comes after it.
 */
int wire_exchange(Wire *wire, const Buffer *frame, uint64_t sequence, uint64_t deadline_ns, Reply *ret);
/* The reply to a request of which only the reply did not come in time. Errors as of wire_exchange(). */
int wire_receive(Wire *wire, uint64_t sequence, uint64_t deadline_ns, Reply *ret);

/* Asks perfd who it is, over a connection of its own. 0, or before the deadline a negative errno: then nobody answers at `path`. */
int wire_ask_hello(const char *path, uint64_t deadline_ns, Reply *ret);
