/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits of connections that the HTTP library does not have
 *
 * The library closes idle connections and limits connections from one IP address. It does not limit the duration of a
 * request, so that a peer could keep a connection by sending a byte now and then, nor the connections of one user of the
 * Unix socket. Both limits are here.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/scoped.h"

typedef struct ConnectionLimits ConnectionLimits;
typedef struct LimitedConnection LimitedConnection;

/* n_per_uid_max: limit for each user, where the user is known. Caller frees. */
int connection_limits_new(ConnectionLimits **ret, size_t n_max, size_t n_per_uid_max);
ConnectionLimits *connection_limits_free(ConnectionLimits *limits);
DEFINE_SCOPED(ConnectionLimits, connection_limits_free);

/*
 * fd: a connected socket, borrowed until connection_limits_remove(). NULL if a limit is reached: the socket has been shut
 * down, which its owner notices.
 */
LimitedConnection *connection_limits_add(ConnectionLimits *limits, int fd, uint64_t now_ns);
/* Call when the connection has completed a request. NULL does nothing here and below. */
void connection_limits_renew(ConnectionLimits *limits, LimitedConnection *connection, uint64_t now_ns);
/* Call before the descriptor is closed. */
void connection_limits_remove(ConnectionLimits *limits, LimitedConnection *connection);

/* Shuts down connections that have completed no request since then. Never waits: does nothing while the lock is held. */
void connection_limits_close_slow(ConnectionLimits *limits, uint64_t since_ns);
size_t connection_limits_count(ConnectionLimits *limits);
