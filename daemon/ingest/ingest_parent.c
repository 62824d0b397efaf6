/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/ingest_parent.h"

#include <assert.h>

#include "util/scoped.h"

static const RequestPidfd no_pidfd = { .lent = -1, .kept = -1 };

static void end_loan(RequestPidfd *pidfd) {
        closep(&pidfd->kept);
        *pidfd = no_pidfd;
}

void ingest_parent_init(Ingest *ingest) {
        ingest->parent = (ParentRequests){ .last = no_pidfd, .kept.pidfd = no_pidfd };
}

void ingest_parent_deinit(Ingest *ingest) {
        end_loan(&ingest->parent.last);
        end_loan(&ingest->parent.kept.pidfd);
        arena_deinit(&ingest->parent.kept.arena);
}

void ingest_parent_end_last(Ingest *ingest) {
        end_loan(&ingest->parent.last);
}

bool ingest_parent_keep(IngestClient *client) {
        Ingest *ingest = client->ingest;
        ParentRequests *parent = &ingest->parent;

        if (parent->kept.is_set)
                return false;

        parent->kept = (KeptRequest){ .is_set = true, .client = client, .pidfd = parent->last };
        parent->last = no_pidfd;
        if (client->large != LARGE_LENT) {
                parent->kept.arena = ingest->arena;
                ingest->arena = (Arena){};
        }
        turns_keep(&ingest->turns, &client->turn, true);
        return true;
}

bool ingest_parent_release(Ingest *ingest) {
        KeptRequest *kept = &ingest->parent.kept;
        IngestClient *client = TAKE(kept->client);
        bool is_of_decoder = !kept->arena.bytes;

        assert(kept->is_set);
        kept->is_set = false;
        end_loan(&kept->pidfd);
        arena_deinit(&kept->arena);
        if (client)
                turns_keep(&ingest->turns, &client->turn, false);
        return is_of_decoder;
}

void ingest_parent_leave(IngestClient *client) {
        ParentRequests *parent = &client->ingest->parent;
        Peer *peer = &client->connection.peer;

        if (peer->pidfd >= 0 && peer->pidfd == parent->last.lent)
                parent->last.kept = TAKE_FD(peer->pidfd);
        else if (peer->pidfd >= 0 && peer->pidfd == parent->kept.pidfd.lent)
                parent->kept.pidfd.kept = TAKE_FD(peer->pidfd);
        if (parent->kept.client == client) {
                parent->kept.client = NULL;
                turns_keep(&client->ingest->turns, &client->turn, false);
        }
}

bool ingest_parent_has_left_decoder(const Ingest *ingest) {
        const KeptRequest *kept = &ingest->parent.kept;
        bool is_kept = kept->is_set && !kept->arena.bytes;

        return ingest->large.is_lent && !is_kept;
}
