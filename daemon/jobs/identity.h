/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Identity: which job a peer is in
 *
 * The kernel knows: the socket names the process, the process its cgroup, and the cgroup, or one above it, is a
 * running job's own. Looked up once for each connection, when a request first needs it.
 */

#include "jobs/jobs.h"
#include "request/request.h"

typedef struct IdentityEntry IdentityEntry;
typedef struct Identity {
        const Jobs *jobs;     /* borrowed */
        CgroupTree *cgroups;  /* borrowed */
        IdentityEntry *entries; /* owned; by number of the connection */
        size_t n_entries;
} Identity;

void identity_init(Identity *identity, const Jobs *jobs, CgroupTree *cgroups);
void identity_deinit(Identity *identity);

/* The innermost running job whose cgroup the peer was in when its place was first needed; NULL: none, or the process is gone. */
Job *identity_find_job(Identity *identity, const Peer *peer, Ticket ticket);

/*
 * The job that a request of the peer is about. id: as the request names it, or "". is_inherited: the id comes from the peer's
 * environment, which may be another job's: the job whose cgroup the peer is in takes precedence, unless the named job is known to
 * be inside that. NULL: no job that runs here, or, with *ret_is_other, no job that the peer may use. *ret_is_other: the result is
 * not the job that the request names.
 */
Job *identity_choose_job(Identity *identity, const Peer *peer, Ticket ticket, const char *id, bool is_inherited, bool *ret_is_other);

/* Explains the job chosen for the last request of the ticket's connection that named another. ret: room for COMPLAINT_TEXT_MAX bytes. */
void identity_explain_other(Identity *identity, Ticket ticket, char *ret);

/* Whether the peer may act for the job: its owner, an administrator, and every process in the job may. */
bool identity_may_act(Identity *identity, const Peer *peer, Ticket ticket, const Job *job);
