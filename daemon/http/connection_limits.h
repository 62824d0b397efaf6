/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Guests: the open connections, whose they are, and since when each owes us a request
 *
 * The library closes a connection on which nothing moves, and limits those from one IP address. A peer that
 * sends one byte now and then would keep its place for ever, and on the Unix socket one user could take all
 * places: that is what is missing, and is here.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/scoped.h"

typedef struct ConnectionLimits ConnectionLimits;
typedef struct LimitedConnection LimitedConnection;

/* n_per_uid_max: of connections whose user is known. Caller frees. */
int connection_limits_new(ConnectionLimits **ret, size_t n_max, size_t n_per_uid_max);
ConnectionLimits *connection_limits_free(ConnectionLimits *limits);
DEFINE_SCOPED(ConnectionLimits, connection_limits_free);

/*
 * fd: a connected socket, borrowed until connection_limits_remove(). NULL when there is no place left or the user has too
 * many: then the connection has been ended, and its owner will notice.
 */
LimitedConnection *connection_limits_add(ConnectionLimits *limits, int fd, uint64_t now_ns);
/* It completed a request. NULL is fine for both. */
void connection_limits_renew(ConnectionLimits *limits, LimitedConnection *connection, uint64_t now_ns);
/* To be called before its descriptor is closed. */
void connection_limits_remove(ConnectionLimits *limits, LimitedConnection *connection);

/* Ends every connection that has completed nothing since then. Never waits: when a guest comes or goes just now, does nothing. */
void connection_limits_close_slow(ConnectionLimits *limits, uint64_t since_ns);
size_t connection_limits_count(ConnectionLimits *limits);
