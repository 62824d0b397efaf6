/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Identity: finds the job that a peer belongs to
 *
 * The kernel provides the answer: the socket names the process, the process its cgroup, and the cgroup or one of its
 * ancestors belongs to a running job. The cgroup is looked up once for each connection, when a request first needs
 * the job.
 */

#include "desk/desk.h"
#include "jobs/table/jobs.h"
#include "request/request.h"

typedef struct IdentityEntry IdentityEntry;
typedef struct Identity {
        const Jobs *jobs;     /* borrowed */
        CgroupTree *cgroups;  /* borrowed */
        IdentityEntry *entries; /* owned; indexed by number of the connection */
        size_t n_entries;
        bool hides_others;    /* users do not learn which jobs of others exist */
} Identity;

void identity_init(Identity *identity, const Jobs *jobs, CgroupTree *cgroups);
void identity_deinit(Identity *identity);

/* Returns the innermost running job whose cgroup contains the peer; NULL: no such job, or the process has ended. */
Job *identity_find_job(Identity *identity, const Peer *peer, Ticket ticket);

/*
 * Returns the job that a request of the peer refers to. id: the job that the request names, or "". is_inherited: the
 * id comes from the peer's environment, which another job may have set: the job whose cgroup contains the peer takes
 * precedence, unless the named job is known to run inside that job. NULL: no running job, or, with *ret_is_other, no
 * job that the peer may use. *ret_is_other: the result is not the job that the request names.
 */
Job *identity_choose_job(Identity *identity, const Peer *peer, Ticket ticket, const char *id, bool is_inherited,
                         bool *ret_is_other);

/* Explains why the last request of the ticket's connection got another job than the named job. ret:
 * COMPLAINT_TEXT_MAX bytes. */
void identity_explain_other(Identity *identity, Ticket ticket, char *ret);

#define IDENTITY_MISSING "no such job on this node; it may have expired"
#define IDENTITY_FOREIGN "belongs to another user"
/* Refuse a request that names a job for which the peer may not act, or a job that does not exist: the answers are the
 * same while jobs of others are hidden. path: of the field. Return 0. */
int identity_refuse(const Identity *identity, const char *path, Answer *ret);
int identity_refuse_missing(const char *path, Answer *ret);

/* True if the peer may act for the job: the owner, an administrator, and every process in the job may. */
bool identity_may_act(Identity *identity, const Peer *peer, Ticket ticket, const Job *job);
