/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/identity.h"
#include "util/array.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* Cgroups of a connection's process. Ingest numbers the connections and reuses a number with another generation. */
struct IdentityEntry {
        uint32_t generation;
        bool is_known;
        char *names[2]; /* owned; cgroups in v2 and in v1, in the form of JobInfo.cgroup; NULL: none */
        char *other;    /* owned; id of the last job that was chosen instead of the named job; NULL: none */
};

static void entry_clear(IdentityEntry *entry) {
        free(entry->names[0]);
        free(entry->names[1]);
        free(entry->other);
        *entry = (IdentityEntry){};
}

void identity_init(Identity *identity, const Jobs *jobs, CgroupTree *cgroups) {
        *identity = (Identity){ .jobs = jobs, .cgroups = cgroups };
}

void identity_deinit(Identity *identity) {
        for (size_t i = 0; i < identity->n_entries; i++)
                entry_clear(&identity->entries[i]);
        free(identity->entries);
        *identity = (Identity){};
}

static IdentityEntry *find_entry(Identity *identity, Ticket ticket) {
        size_t n_before = identity->n_entries;

        if (ARRAY_RESERVE(identity->entries, identity->n_entries, ticket.connection + (size_t)1) < 0)
                return NULL;
        if (identity->n_entries > n_before)
                memset(identity->entries + n_before, 0, (identity->n_entries - n_before) * sizeof(*identity->entries));

        return &identity->entries[ticket.connection];
}

/* Returns true if the peer still runs: otherwise its pid may already name another process. */
static bool is_alive(const Peer *peer) {
        struct pollfd pollfd = { .fd = peer->pidfd, .events = POLLIN };

        return peer->pidfd >= 0 && poll(&pollfd, 1, 0) == 0;
}

static void look_up(const Identity *identity, const Peer *peer, IdentityEntry *entry) {
        char name[CGROUP_NAME_MAX];
        CgroupPlace place;

        if (peer->pid <= 0 || cgroup_tree_find_process(identity->cgroups, peer->pid, &place) != 0 || !is_alive(peer))
                return;

        if (place.v2[0])
                entry->names[0] = strdup(place.v2);
        place.v2[0] = '\0';
        if (cgroup_tree_place_name(&place, name) == 0)
                entry->names[1] = strdup(name);
}

/* Returns the job of the cgroup, or of its nearest ancestor that belongs to a job. */
static Job *find_above(const Jobs *jobs, const Peer *peer, const char *from) {
        char name[CGROUP_NAME_MAX];
        Job *job;

        if (!from || snprintf(name, sizeof(name), "%s", from) >= (int)sizeof(name))
                return NULL;

        while ((job = jobs_next_around(jobs, peer->uid, name)) && job->stage != JOB_ACTIVE)
                ;
        return job;
}

/* Returns the entry of the connection with its cgroups looked up. NULL: out of memory. */
static IdentityEntry *find_known(Identity *identity, const Peer *peer, Ticket ticket) {
        IdentityEntry *entry = find_entry(identity, ticket);

        if (entry && (!entry->is_known || entry->generation != ticket.generation)) {
                entry_clear(entry);
                entry->generation = ticket.generation;
                entry->is_known = true;
                look_up(identity, peer, entry);
        }
        return entry;
}

Job *identity_find_job(Identity *identity, const Peer *peer, Ticket ticket) {
        IdentityEntry *entry = identity->jobs->stats.n_with_cgroup > 0 ? find_known(identity, peer, ticket) : NULL;
        Job *job;

        if (!entry)
                return NULL;

        job = find_above(identity->jobs, peer, entry->names[0]);
        return job ?: find_above(identity->jobs, peer, entry->names[1]);
}

bool identity_may_act(Identity *identity, const Peer *peer, Ticket ticket, const Job *job) {
        return peer->is_admin || peer->uid == job->info.uid || identity_find_job(identity, peer, ticket) == job;
}

/* --- jobs named by the environment ------------------------------------------------------------------------ */

static bool is_beneath(const char *name, const char *group) {
        size_t n = strlen(group);

        return name && strncmp(name, group, n) == 0 && (name[n] == '/' || name[n] == '\0');
}

/* True if the job's process runs inside `outer`; a job without a process was begun by a script that exports
 * $PERFD_JOB. */
static bool runs_inside(const Identity *identity, const Job *job, const Job *outer) {
        char name[CGROUP_NAME_MAX];
        CgroupPlace place;

        assert(outer->info.cgroup);

        if (job->info.pid == 0)
                return true;
        return cgroup_tree_find_process(identity->cgroups, job->info.pid, &place) == 0 &&
               cgroup_tree_place_name(&place, name) == 0 && is_beneath(name, outer->info.cgroup);
}

/* True if the named job runs inside `own`, the job of the peer's cgroup, and contains the peer. */
static bool is_nearer(Identity *identity, const Peer *peer, Ticket ticket, const Job *job, const Job *own) {
        const IdentityEntry *entry = find_known(identity, peer, ticket);

        if (!entry)
                return false;
        if (!job->info.cgroup)
                return runs_inside(identity, job, own);
        /* The cgroup of an active job would have been found before. */
        return job->stage != JOB_ACTIVE &&
               (is_beneath(entry->names[0], job->info.cgroup) || is_beneath(entry->names[1], job->info.cgroup));
}

Job *identity_choose_job(Identity *identity, const Peer *peer, Ticket ticket, const char *id, bool is_inherited,
                         bool *ret_is_other) {
        Job *named = id[0] ? jobs_find(identity->jobs, id) : NULL, *own = NULL;
        IdentityEntry *entry;

        *ret_is_other = false;
        if (named && identity->hides_others && !identity_may_act(identity, peer, ticket, named))
                named = NULL; /* as if there were none */
        if (id[0] && !is_inherited)
                return named;

        own = identity_find_job(identity, peer, ticket);
        if (!id[0] || named == own)
                return own;
        if (named && identity_may_act(identity, peer, ticket, named) &&
            (!own || is_nearer(identity, peer, ticket, named, own)))
                return named;
        if (!named && !own)
                return NULL;

        *ret_is_other = true;
        entry = find_known(identity, peer, ticket);
        if (entry) {
                free(entry->other);
                entry->other = own ? strdup(own->info.id) : NULL;
        }
        return own;
}

void identity_explain_other(Identity *identity, Ticket ticket, char *ret) {
        const IdentityEntry *entry = find_entry(identity, ticket);
        const char *other = entry && entry->generation == ticket.generation ? entry->other : NULL;

        if (other)
                (void)snprintf(ret, COMPLAINT_TEXT_MAX,
                               "this process is not in the job that $PERFD_JOB names: recorded for '%s', the job of "
                               "its cgroup", other);
        else
                (void)snprintf(ret, COMPLAINT_TEXT_MAX,
                               "$PERFD_JOB names a job of another user: recorded without a job");
}

int identity_refuse_missing(const char *path, Answer *ret) {
        return desk_answer(ret, STATUS_NOT_FOUND, path, IDENTITY_MISSING);
}

int identity_refuse(const Identity *identity, const char *path, Answer *ret) {
        return identity->hides_others ? identity_refuse_missing(path, ret)
                                      : desk_answer(ret, STATUS_DENIED, path, IDENTITY_FOREIGN);
}
