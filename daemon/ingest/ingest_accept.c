/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/ingest_accept.h"

#include <errno.h>

#include "ingest/ingest_state.h"
#include "ingest/peer.h"
#include "util/peer_groups.h"

/*
 * Requests are served between turns. All peers wait in one queue of the kernel, so that accepting must not be slow. A close can take
 * 0.1 ms, because it frees what the peer has sent.
 */
#define ACCEPTS_PER_TURN 32U
#define CLOSES_PER_TURN 2U
#define BACKOFF_US (1000U * 1000U)

bool ingest_accept_judge(const Ingest *ingest, int fd, const Peer *peer) {
        uint32_t gid = ingest->config.admin_gid;

        return peer->uid == 0 || (gid != INGEST_NO_ADMIN_GID && peer_groups_have(fd, gid));
}

/* Charges a new connection to its user. 0; SHARES_REFUSED with the reason; or -ENOMEM. */
static int charge_client(IngestClient *client, const Peer *peer, char ret_reason[SHARES_REASON_MAX]) {
        const Owner owner = { .type = OWNER_USER, .uid = peer->uid, .is_admin = peer->is_admin };
        Ingest *ingest = client->ingest;
        ShareAccount *account = shares_open_account(ingest->shares, &owner);
        int r;

        if (!account)
                return -ENOMEM;

        r = shares_charge(account, RESOURCE_CONNECTIONS, 1, &client->place_charge);
        if (r != 0)
                shares_explain(account, RESOURCE_CONNECTIONS, ret_reason);
        if (r == 0)
                r = shares_charge(account, RESOURCE_INPUT, 0, &client->input_charge);
        if (r == 0)
                r = turns_join(&ingest->turns, account, &client->turn);
        shares_close_account(account); /* the charges have references */
        return r;
}

/* Undoes charge_client() of a client that was not added. */
static void discard_client(IngestClient **client) {
        if (!*client)
                return;
        turns_leave(&(*client)->ingest->turns, &(*client)->turn);
        shares_release(&(*client)->input_charge);
        shares_release(&(*client)->place_charge);
        free(*client);
}

/* 0; SHARES_REFUSED with the reason; or a negative errno. */
static int add_client(Ingest *ingest, int fd, const Peer *peer, char ret_reason[SHARES_REASON_MAX]) {
        scoped(discard_client) IngestClient *client = calloc(1, sizeof(*client));
        int r;

        if (!client)
                return -ENOMEM;

        client->ingest = ingest;
        client->events = EPOLLIN;
        r = charge_client(client, peer, ret_reason);
        if (r != 0)
                return r;
        if (connection_table_add(&ingest->table, client, &client->place) != 0)
                return -ENOMEM; /* the table is as large as the limit of connections */

        r = poller_set(&ingest->poller, fd, client, 0, EPOLLIN);
        if (r < 0) {
                connection_table_remove(&ingest->table, client->place);
                return r;
        }

        connection_init(&client->connection, fd, peer);
        client->connection.peer.pidfd = peer_get_pidfd(fd, peer);
        ingest->stats.n_connections++;
        ingest->stats.n_connections_total++;
        (void)TAKE(client);
        return 0;
}

static void refuse_peer(Ingest *ingest, int fd_owned, const char *reason) {
        scoped(closep) int fd = fd_owned;
        RefusedConnections *refused = &ingest->refused;

        listener_refuse(fd, reason);
        ingest->stats.n_connections_refused++;
        if (refused->n < REFUSED_MAX && sd_event_source_set_enabled(ingest->sources.refused, SD_EVENT_ONESHOT) >= 0)
                refused->fds[refused->n++] = TAKE_FD(fd);
}

/* Adds the connection or refuses it; takes ownership of fd. */
static void admit(Ingest *ingest, int fd_owned, Peer *peer) {
        scoped(closep) int fd = fd_owned;
        char reason[SHARES_REASON_MAX] = "perfd cannot take this connection now: try again";

        peer->is_admin = ingest_accept_judge(ingest, fd, peer);
        if (connection_table_fit(&ingest->table, shares_limit(ingest->shares, RESOURCE_CONNECTIONS)) == 0 &&
            add_client(ingest, fd, peer, reason) == 0) {
                (void)TAKE_FD(fd);
                return;
        }

        refuse_peer(ingest, TAKE_FD(fd), reason);
}

/* Stops accepting for a while: waiting peers would keep the loop awake. */
static void back_off(Ingest *ingest) {
        ingest->stats.n_connections_refused++;
        ingest->stats.n_exhausted++;
        if (sd_event_source_set_time_relative(ingest->sources.backoff, BACKOFF_US) >= 0 &&
            sd_event_source_set_enabled(ingest->sources.backoff, SD_EVENT_ONESHOT) >= 0)
                (void)sd_event_source_set_enabled(ingest->sources.listen, SD_EVENT_OFF);
}

void ingest_accept_peers(Ingest *ingest) {
        int r = 0;

        for (unsigned i = 0; i < ACCEPTS_PER_TURN && r == 0; i++) {
                Peer peer;
                int fd;

                r = listener_accept(&ingest->listener, &fd, &peer);
                if (r == 0)
                        admit(ingest, fd, &peer);
                else if (r == LISTENER_EXHAUSTED)
                        back_off(ingest);
        }
}

bool ingest_accept_close_refused(Ingest *ingest) {
        RefusedConnections *refused = &ingest->refused;

        for (unsigned i = 0; i < CLOSES_PER_TURN && refused->n > 0; i++)
                close(refused->fds[--refused->n]);
        return refused->n > 0;
}
