/* SPDX-License-Identifier: Apache-2.0 */
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

/*
 * The job that a request of the peer is about. `id`: as it names it, "" when it does not. An inherited one may be that of
 * another job's environment: whose cgroup the peer is in goes before it, unless the one named is known to be inside that. NULL:
 * none that runs here, or, with *ret_is_other, none that it has anything to do with. *ret_is_other: not the one that is named.
 */
Job *identity_choose_job(Service *service, const Peer *peer, Ticket ticket, const char *id, bool is_inherited, bool *ret_is_other);

/* What became of the last request of the ticket's connection whose job was another than the one named; ret has room for
 * COMPLAINT_TEXT_MAX bytes. */
void identity_explain_other(Service *service, Ticket ticket, char *ret);

/* May the peer speak for the job? Its owner may, an administrator, and whoever is in it. */
bool identity_may(Service *service, const Peer *peer, Ticket ticket, const Job *job);

void identity_deinit(Identity *identity);
