#pragma once

/*
 * Identity: which job a peer is in
 *
 * The kernel says it: the socket names the process, the process its cgroup, and the group, or one above it, is a
 * running job's own. Looked up once for each connection, when something depends on it.
 */

#include "state.h"

/* The innermost running job whose cgroup the peer was in when it first needed one; NULL: none, or its process is gone. */
Job *identity_find_job(Service *service, const Peer *peer, Ticket ticket);

/* May the peer speak for the job? Its owner may, an administrator, and whoever is in it. */
bool identity_may(Service *service, const Peer *peer, Ticket ticket, const Job *job);

void identity_deinit(Identity *identity);
