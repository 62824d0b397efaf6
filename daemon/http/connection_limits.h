/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits of connections that the HTTP library does not have
 *
 * The library closes idle connections. It does not limit the duration of a request, so that a peer could keep a
 * connection open by sending a byte from time to time, nor the connections of one user, nor the memory of answers
 * that are not read. This module has these limits, and charges each connection and its answer to the caller.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/caller.h"
#include "shares/shares.h"
#include "util/scoped.h"

typedef struct ConnectionLimits ConnectionLimits;
typedef struct LimitedConnection LimitedConnection;

/* shares: borrowed; their limit of HTTP connections at this time is the number of places. Caller frees. */
int connection_limits_new(ConnectionLimits **ret, Shares *shares);
size_t connection_limits_max(const ConnectionLimits *limits);
ConnectionLimits *connection_limits_free(ConnectionLimits *limits);
DEFINE_SCOPED(ConnectionLimits, connection_limits_free);

/* A connection beyond a limit. */
typedef struct RefusedConnection {
        int fd; /* owned */
        Owner owner;
        bool is_full; /* the limit of all connections is reached; false: the share of the owner is used up */
} RefusedConnection;

/*
 * fd: a connected socket, borrowed until connection_limits_remove(). admin_gid: of the administrators' group. NULL
 * if a limit is
 * reached: *ret has the descriptor then, for connection_limits_refuse().
 */
LimitedConnection *connection_limits_add(ConnectionLimits *limits, int fd, uint32_t admin_gid, uint64_t now_ns,
                                         RefusedConnection *ret);
/* Tells the client with status 429 which limit is reached, and closes the descriptor. */
void connection_limits_refuse(ConnectionLimits *limits, const RefusedConnection *refused);
/* The account of a connection; borrowed until connection_limits_remove(). */
ShareAccount *connection_limits_account(const LimitedConnection *connection);
/*
 * Charges the memory of the answer of a connection, which has one answer at a time, to its account until
 * connection_limits_release_answer(), the next answer, or the end of the connection. Small answers are part of the
 * connection.
 */
#define CONNECTION_LIMITS_ANSWER_FREE 4096U
enum {
        CONNECTION_LIMITS_REFUSED = 1, /* the share of RESOURCE_ANSWERS is used up */
};
int connection_limits_charge_answer(LimitedConnection *connection, size_t n_bytes);
/* NULL does nothing. */
void connection_limits_release_answer(LimitedConnection *connection);
/* Returns the caller of a connection, as an administrator if a member of the current group; the account stays the
 * same. */
Caller connection_limits_caller(const LimitedConnection *connection, uint32_t admin_gid);
/* Call when the connection has completed a request. NULL does nothing, here and below. */
void connection_limits_renew(ConnectionLimits *limits, LimitedConnection *connection, uint64_t now_ns);
/* Call before the descriptor is closed. */
void connection_limits_remove(ConnectionLimits *limits, LimitedConnection *connection);

/* Shuts down connections that have completed no request since then. Never waits: does nothing while the lock is
 * held. */
void connection_limits_close_slow(ConnectionLimits *limits, uint64_t since_ns);
size_t connection_limits_count(ConnectionLimits *limits);
