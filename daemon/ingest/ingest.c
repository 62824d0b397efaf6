/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/ingest.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/queue.h>

#include "ingest/codec/codec.h"
#include "ingest/connection.h"
#include "ingest/decoder.h"
#include "ingest/listener.h"
#include "ingest/peer.h"
#include "ingest/poller.h"
#include "ingest/turns.h"
#include "util/arena.h"
#include "util/clock.h"
#include "util/peer_groups.h"

#define EVENTS_PER_TURN 64
/* Limits of ingest_next() in one turn of the loop, so that no sample is late: requests handed out, and time for
 * those that are refused. */
#define TURN_BYTES_MAX (512U * 1024U)
#define REFUSALS_NS (4 * NS_PER_MS)

/*
 * Requests are served between turns. All peers wait in one queue of the kernel, so that accepting must not be slow.
 * A close can take 0.1 ms, because it frees what the peer has sent.
 */
#define ACCEPTS_PER_TURN 32U
#define CLOSES_PER_TURN 2U
#define BACKOFF_US (1000U * 1000U)

/* Refused connections that are not closed yet. */
typedef struct RefusedConnections {
        int fds[INGEST_REFUSED_MAX]; /* owned */
        size_t n;
} RefusedConnections;

/* A connection in the loop. */
typedef struct IngestClient {
        Connection connection;
        Ingest *ingest;
        uint32_t place;   /* index in the table */
        uint32_t events;  /* events for which the poller waits */
        TurnEntry turn;
        Charge place_charge, input_charge;
        bool is_full;     /* not read until a frame is consumed */
        bool is_starved;  /* not read until the user has room for a larger buffer */
        bool is_unsent, is_waiting; /* is_waiting: for EPOLLOUT */
        /* State of a large frame: waits for the decoder, is there, waits decoded for the turn of the user, or is the
         * parent's request. */
        enum { LARGE_NONE, LARGE_WAITING, LARGE_DECODING, LARGE_DECODED, LARGE_LENT } large;
        TAILQ_ENTRY(IngestClient) unsent, starved, large_order;
} IngestClient;

/* Owned sources of the event loop. */
typedef struct IngestSources {
        sd_event_source *listen, *poller, *decoder, *backoff, *wake, *refused;
} IngestSources;

/* Process of a returned request. */
typedef struct RequestPidfd {
        int lent; /* the connection's; -1: none */
        int kept; /* owned; if the connection has ended meanwhile; -1: none */
} RequestPidfd;

/* Large frames, which the decoder's thread decodes one at a time. */
typedef struct LargeFrames {
        Decoder decoder;
        IngestClient *client; /* whose frame the decoder has; NULL: none, or the connection has ended */
        bool is_lent;         /* the decoded frame is in a returned request, or no longer needed */
        TAILQ_HEAD(, IngestClient) waiting; /* for the decoder */
} LargeFrames;

/* A request that the parent keeps beyond the next one. */
typedef struct KeptRequest {
        bool is_set;
        IngestClient *client; /* NULL: the connection has ended */
        Arena arena;          /* owned; of the request. Not set: the decoder has it */
        RequestPidfd pidfd;
} KeptRequest;

/* Requests that the parent has. */
typedef struct ParentRequests {
        RequestPidfd last; /* of the last request, unless kept */
        KeptRequest kept;
} ParentRequests;

/* Clients that wait for a larger buffer. */
typedef struct StarvedClients {
        TAILQ_HEAD(, IngestClient) list;
        bool has_freed_input; /* buffers were released since these clients last tried */
} StarvedClients;

/* Frames that the event loop decodes itself. */
typedef struct SmallFrames {
        Arena arena;
        Decoded decoded;
} SmallFrames;

struct Ingest {
        IngestConfig config;
        IngestServer server;
        sd_event *event;
        Listener listener;
        Poller poller; /* of the connections' descriptors */
        IngestSources sources;
        RefusedConnections refused;
        bool is_draining;

        ConnectionTable table;     /* owns the IngestClients */
        Shares *shares; /* borrowed */
        Turns turns;
        StarvedClients starved;
        TAILQ_HEAD(, IngestClient) unsent; /* clients with replies that were not sent yet */

        ParentRequests parent;

        LargeFrames large;
        SmallFrames small;
        size_t n_turn_bytes;
        IngestStats stats;
};

/* --- replies ---------------------------------------------------------------------------------- */

static void client_set_unsent(IngestClient *client, bool is_unsent) {
        if (client->is_unsent == is_unsent)
                return;

        client->is_unsent = is_unsent;
        if (is_unsent)
                TAILQ_INSERT_TAIL(&client->ingest->unsent, client, unsent);
        else
                TAILQ_REMOVE(&client->ingest->unsent, client, unsent);
}

static void client_put_reply(IngestClient *client, uint64_t number, Status status, const uint8_t *reply, size_t n) {
        const ReplySlot *slot = connection_find(&client->connection, number);

        assert(slot);
        turns_answered(&client->ingest->turns, &client->turn, slot->n_bytes);
        if (connection_reply(&client->connection, number, reply, n) < 0)
                connection_give_up(&client->connection);

        client->ingest->stats.n_in_flight--;
        client->ingest->stats.n_answers[status]++;
        client_set_unsent(client, true);
}

static void client_answer(IngestClient *client, uint64_t number, uint64_t sequence, const Answer *answer) {
        uint8_t reply[CODEC_REPLY_MAX];
        size_t n = codec_encode_answer(sequence, answer, reply);

        client_put_reply(client, number, answer->status, reply, n);
}

static void client_answer_hello(IngestClient *client, uint64_t number, uint64_t sequence) {
        const Ingest *ingest = client->ingest;
        const Greeting greeting = {
                .server = ingest->server.name,
                .node = ingest->server.node,
                .durable = ingest->server.durable,
                .frame_max_bytes = (uint32_t)ingest->config.frame_max_bytes,
                .in_flight_max = ingest->config.in_flight_max,
        };
        uint8_t reply[CODEC_REPLY_MAX];
        size_t n = codec_encode_hello_reply(sequence, &greeting, reply);

        client_put_reply(client, number, STATUS_OK, reply, n);
}

/* Accounts for a request that costs n_bytes, and gives the request a number. 0, or < 0: the connection is given up. */
static int client_expect(IngestClient *client, uint64_t sequence, size_t n_bytes, uint64_t *ret_number) {
        int r;

        r = connection_expect(&client->connection, sequence, n_bytes, ret_number);
        if (r < 0) {
                connection_give_up(&client->connection);
                return r;
        }

        client->ingest->stats.n_in_flight++;
        turns_taken(&client->ingest->turns, &client->turn, n_bytes, clock_boottime_ns());
        return 0;
}

/*
 * Bytes after a malformed frame cannot be understood: sends a last reply, after the replies that are still due.
 * outcome: CONNECTION_TOO_LARGE or CONNECTION_MALFORMED.
 */
static void client_send_protocol_error(IngestClient *client, int outcome) {
        Ingest *ingest = client->ingest;
        Answer answer = { .status = STATUS_INVALID };
        char *text = answer.complaint.text;
        uint64_t number;

        if (outcome == CONNECTION_TOO_LARGE) {
                answer.status = STATUS_TOO_LARGE;
                snprintf(text, sizeof(answer.complaint.text),
                         "a request may have up to %zu bytes ([limits] frame_size): send less at once",
                         ingest->config.frame_max_bytes);
        } else
                snprintf(text, sizeof(answer.complaint.text),
                         "not a perfd frame: a request is a varint length and a perfd.v1.Request (perfd-protocol(7))");

        ingest->stats.n_protocol_errors++;
        if (client_expect(client, 0, CODEC_WORK_REQUEST, &number) == 0)
                client_answer(client, number, 0, &answer);
        client->connection.is_closing = true;
}

/* --- requests of the parent ------------------------------------------------------------------- */

/*
 * The last request, and one that the parent keeps beyond the next: a request may live longer than its connection.
 * The pidfd of its process must not be closed meanwhile, since its number could be reused; a connection lends it to
 * one request only, because the user of a kept request has no other.
 */

static const RequestPidfd no_pidfd = { .lent = -1, .kept = -1 };

static void end_loan(RequestPidfd *pidfd) {
        closep(&pidfd->kept);
        *pidfd = no_pidfd;
}

static void parent_init(Ingest *ingest) {
        ingest->parent = (ParentRequests){ .last = no_pidfd, .kept.pidfd = no_pidfd };
}

static void parent_deinit(Ingest *ingest) {
        end_loan(&ingest->parent.last);
        end_loan(&ingest->parent.kept.pidfd);
        arena_deinit(&ingest->parent.kept.arena);
}

/* The parent needs the last request no longer, unless it is kept. */
static void parent_end_last(Ingest *ingest) {
        end_loan(&ingest->parent.last);
}

/* Keeps the last request, which is of this client. False: another request is kept. */
static bool parent_keep(IngestClient *client) {
        Ingest *ingest = client->ingest;
        ParentRequests *parent = &ingest->parent;

        if (parent->kept.is_set)
                return false;

        parent->kept = (KeptRequest){ .is_set = true, .client = client, .pidfd = parent->last };
        parent->last = no_pidfd;
        if (client->large != LARGE_LENT) {
                parent->kept.arena = ingest->small.arena;
                ingest->small.arena = (Arena){};
        }
        turns_keep(&ingest->turns, &client->turn, true);
        return true;
}

/* Releases the kept request. True if the decoder has its frame. */
static bool parent_release(Ingest *ingest) {
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

/* Call before a connection is closed. */
static void parent_leave(IngestClient *client) {
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

/* True if the decoder has a frame whose request the parent needs no longer. */
static bool parent_has_left_decoder(const Ingest *ingest) {
        const KeptRequest *kept = &ingest->parent.kept;
        bool is_kept = kept->is_set && !kept->arena.bytes;

        return ingest->large.is_lent && !is_kept;
}

/* --- connections --------------------------------------------------------------------------------- */

static void client_set_starved(IngestClient *client, bool is_starved) {
        if (client->is_starved == is_starved)
                return;

        client->is_starved = is_starved;
        if (is_starved)
                TAILQ_INSERT_TAIL(&client->ingest->starved.list, client, starved);
        else
                TAILQ_REMOVE(&client->ingest->starved.list, client, starved);
}

/* Charges the part of a buffer beyond the smallest size. False: the share is used up, and the charge is unchanged. */
static bool client_charge_input(IngestClient *client, size_t n_buffer) {
        size_t n = n_buffer > CONNECTION_IN_BYTES_MIN ? n_buffer : 0;

        if (n == client->input_charge.amount)
                return true;
        client->ingest->starved.has_freed_input |= n < client->input_charge.amount;
        return shares_resize(&client->input_charge, n) == 0;
}

/* A decoded frame is released by ingest_next(), or by the parent that has it. */
static void client_leave_decoder(IngestClient *client) {
        LargeFrames *large = &client->ingest->large;

        assert(client->large != LARGE_DECODING || !large->client);
        if (client->large == LARGE_WAITING)
                TAILQ_REMOVE(&large->waiting, client, large_order);
        if (client->large == LARGE_DECODED || client->large == LARGE_LENT) {
                large->is_lent = true;
                large->client = NULL;
        }
}

static void client_free(IngestClient *client) {
        Ingest *ingest = client->ingest;
        size_t n_unanswered, n_bytes;

        parent_leave(client);
        client_set_unsent(client, false);
        client_set_starved(client, false);
        client_leave_decoder(client);
        (void)poller_set(&ingest->poller, client->connection.fd, client, client->events, 0);

        connection_table_remove(&ingest->table, client->place);
        ingest->stats.n_connections--;
        n_unanswered = connection_count_unanswered(&client->connection, &n_bytes);
        ingest->stats.n_in_flight -= n_unanswered;
        if (n_unanswered > 0)
                turns_answered(&ingest->turns, &client->turn, n_bytes);
        turns_leave(&ingest->turns, &client->turn);
        ingest->starved.has_freed_input = true;
        shares_release(&client->input_charge);
        shares_release(&client->place_charge);

        connection_deinit(&client->connection);
        free(client);
}

/* Nothing is freed while the decoder has the client's frame. */
static bool client_is_over(const IngestClient *client) {
        const Connection *connection = &client->connection;

        if (client->large == LARGE_DECODING || (client->large == LARGE_DECODED && !connection->is_closing))
                return false;
        return connection_is_over(connection, client->ingest->config.frame_max_bytes);
}

static bool client_is_ready(const IngestClient *client) {
        const IngestConfig *config = &client->ingest->config;
        Frame unused;
        int r;

        if (client->large != LARGE_NONE)
                return client->large == LARGE_DECODED;
        r = connection_peek(&client->connection, config->frame_max_bytes, config->in_flight_max, &unused);
        return r != CONNECTION_NOTHING && r != CONNECTION_BUSY;
}

static int client_listen(IngestClient *client) {
        const Connection *connection = &client->connection;
        bool is_reading = !connection->is_at_end && !connection->is_closing && !client->is_full &&
                          !client->is_starved && !client->ingest->is_draining;
        uint32_t events = (is_reading ? EPOLLIN : 0) | (client->is_waiting ? EPOLLOUT : 0);
        int r;

        r = poller_set(&client->ingest->poller, connection->fd, client, client->events, events);
        if (r == 0)
                client->events = events;
        return r;
}

/* Decides after each operation on a connection which events it waits for, or ends it. */
static void client_settle(IngestClient *client) {
        if (client_is_over(client) || (client_listen(client) < 0 && client->large != LARGE_DECODING))
                client_free(client);
        else
                turns_set_ready(&client->ingest->turns, &client->turn, client_is_ready(client));
}

static void client_send(IngestClient *client) {
        client->is_waiting = connection_send(&client->connection) == CONNECTION_PENDING;
        client_set_unsent(client, false);
}

static void client_read(IngestClient *client) {
        size_t frame_max_bytes = client->ingest->config.frame_max_bytes;
        Connection *connection = &client->connection;
        size_t n_wanted = connection_input_size(connection, frame_max_bytes, true);
        int r;

        /* Releases a buffer that only serves speed first. */
        if (n_wanted > connection->in_size && !client_charge_input(client, n_wanted)) {
                n_wanted = connection_input_size(connection, frame_max_bytes, false);
                if (n_wanted > connection->in_size && !client_charge_input(client, n_wanted)) {
                        client_set_starved(client, true);
                        return;
                }
        }

        r = connection_receive(connection, n_wanted);
        if (r < 0)
                connection_give_up(connection);
        client->is_full = r == CONNECTION_FULL;
        (void)client_charge_input(client, connection->in_size);
}

/*
 * Lets clients that wait for a buffer read, after others have freed theirs. A client whose user's share is still
 * used up costs one question, since a user may have thousands of these.
 */
static void ingest_feed_starved(Ingest *ingest) {
        size_t frame_max_bytes = ingest->config.frame_max_bytes;
        IngestClient *client, *next;

        if (!ingest->starved.has_freed_input)
                return;
        ingest->starved.has_freed_input = false;
        for (client = TAILQ_FIRST(&ingest->starved.list); client; client = next) {
                next = TAILQ_NEXT(client, starved);
                if (!shares_has_room(&client->input_charge,
                                     connection_input_size(&client->connection, frame_max_bytes, false)))
                        continue;
                client_set_starved(client, false);
                client_settle(client);
        }
}

static void client_serve(IngestClient *client, uint32_t events) {
        /* After a hang-up, reading finds remaining bytes, and sending finds out whether the peer still reads. */
        if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
                client_send(client);
        if ((events & ~(uint32_t)EPOLLOUT) && (client->events & EPOLLIN))
                client_read(client);

        client_settle(client);
}

/* Each client has at most one event, and handling an event ends no other client. */
static int on_poller(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        struct epoll_event events[EVENTS_PER_TURN];
        Ingest *ingest = userdata;
        int n = poller_take(&ingest->poller, events, EVENTS_PER_TURN);

        (void)source, (void)fd, (void)revents;
        for (int i = 0; i < n; i++) {
                IngestClient *client = events[i].data.ptr;

                assert(client->ingest == ingest);
                client_serve(client, events[i].events);
        }
        return n < 0 ? n : 0;
}

/* --- large frames -------------------------------------------------------------------------------- */

/* Hands a frame to the decoder. The connection's next frame waits for the outcome, as requests of a connection are
 * taken in order. */
static int client_put_large(IngestClient *client, const Frame *frame) {
        Ingest *ingest = client->ingest;
        int r;

        if (!decoder_is_free(&ingest->large.decoder)) {
                client->large = LARGE_WAITING;
                TAILQ_INSERT_TAIL(&ingest->large.waiting, client, large_order);
                return 0;
        }

        r = decoder_put(&ingest->large.decoder, frame, &client->connection.peer, ingest->config.documents);
        if (r < 0)
                return r;
        connection_consume(&client->connection, frame);
        (void)client_charge_input(client, client->connection.in_size);
        client->is_full = false;
        client->large = LARGE_DECODING;
        ingest->large.client = client;
        return 0;
}

/* Lets users with large frames compete for the decoder. */
static void ingest_release_decoder(Ingest *ingest) {
        IngestClient *client = TAKE(ingest->large.client);

        ingest->large.is_lent = false;
        decoder_release(&ingest->large.decoder);
        if (client) {
                client->large = LARGE_NONE;
                client_settle(client);
        }
        while ((client = TAILQ_FIRST(&ingest->large.waiting))) {
                TAILQ_REMOVE(&ingest->large.waiting, client, large_order);
                client->large = LARGE_NONE;
                client_settle(client);
        }
}

static int on_decoded(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Ingest *ingest = userdata;
        eventfd_t n;

        (void)source, (void)revents;
        if (eventfd_read(fd, &n) < 0)
                return 0;
        assert(ingest->large.client && ingest->large.client->large == LARGE_DECODING);
        ingest->large.client->large = LARGE_DECODED;
        client_settle(ingest->large.client);
        return 0;
}

/* --- accepting -------------------------------------------------------------------------------- */

/*
 * A connection is charged to its user; a connection beyond the share gets the reason and is closed. The kernel then
 * frees what the peer has sent, which takes longer than to accept and refuse a connection. So it is closed when the
 * loop has nothing else to do, unless INGEST_REFUSED_MAX others wait for that.
 */

/* Checks the current group. */
static bool is_administrator(const Ingest *ingest, int fd, const Peer *peer) {
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
        if (refused->n < INGEST_REFUSED_MAX &&
            sd_event_source_set_enabled(ingest->sources.refused, SD_EVENT_ONESHOT) >= 0)
                refused->fds[refused->n++] = TAKE_FD(fd);
}

/* Adds the connection or refuses it; takes ownership of fd. */
static void admit(Ingest *ingest, int fd_owned, Peer *peer) {
        scoped(closep) int fd = fd_owned;
        char reason[SHARES_REASON_MAX] = "perfd cannot take this connection now: try again";

        peer->is_admin = is_administrator(ingest, fd, peer);
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

/* Accepts waiting peers, up to a limit for each turn of the loop. */
static void accept_peers(Ingest *ingest) {
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

/* Closes refused connections, up to a limit for each turn of the loop. Returns true if there are more. */
static bool close_refused(Ingest *ingest) {
        RefusedConnections *refused = &ingest->refused;

        for (unsigned i = 0; i < CLOSES_PER_TURN && refused->n > 0; i++)
                close(refused->fds[--refused->n]);
        return refused->n > 0;
}

static int on_backoff_end(sd_event_source *source, uint64_t usec, void *userdata) {
        Ingest *ingest = userdata;

        (void)source;
        (void)usec;
        if (!ingest->is_draining)
                (void)sd_event_source_set_enabled(ingest->sources.listen, SD_EVENT_ON);
        return 0;
}

static int on_listen(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        (void)source;
        (void)fd;
        (void)events;
        accept_peers(userdata);
        return 0;
}

static int on_refused(sd_event_source *source, void *userdata) {
        return close_refused(userdata) ? sd_event_source_set_enabled(source, SD_EVENT_ONESHOT) : 0;
}

/* Does nothing: after this turn of the loop, the parent calls ingest_next(). */
static int on_wake(sd_event_source *source, void *userdata) {
        (void)source;
        (void)userdata;
        return 0;
}

/* --- start --------------------------------------------------------------------------------------- */

static int ingest_attach(Ingest *ingest) {
        int r;

        r = sd_event_add_io(ingest->event, &ingest->sources.listen, ingest->listener.fd, EPOLLIN, on_listen, ingest);
        if (r >= 0)
                r = sd_event_add_io(ingest->event, &ingest->sources.poller, ingest->poller.fd, EPOLLIN, on_poller,
                                    ingest);
        if (r >= 0)
                r = sd_event_add_io(ingest->event, &ingest->sources.decoder, ingest->large.decoder.done_fd, EPOLLIN,
                                    on_decoded, ingest);
        if (r >= 0)
                r = sd_event_add_time_relative(ingest->event, &ingest->sources.backoff, CLOCK_MONOTONIC, 0, 0,
                                               on_backoff_end, ingest);
        if (r >= 0)
                r = sd_event_add_defer(ingest->event, &ingest->sources.wake, on_wake, ingest);
        if (r >= 0)
                r = sd_event_add_defer(ingest->event, &ingest->sources.refused, on_refused, ingest);
        if (r >= 0)
                r = sd_event_source_set_priority(ingest->sources.refused, SD_EVENT_PRIORITY_IDLE);
        if (r < 0)
                return r;

        (void)sd_event_source_set_enabled(ingest->sources.backoff, SD_EVENT_OFF);
        (void)sd_event_source_set_enabled(ingest->sources.wake, SD_EVENT_OFF);
        (void)sd_event_source_set_enabled(ingest->sources.refused, SD_EVENT_OFF);
        (void)sd_event_source_set_description(ingest->sources.listen, "ingest-listen");
        (void)sd_event_source_set_description(ingest->sources.poller, "ingest-connections");
        (void)sd_event_source_set_exit_on_failure(ingest->sources.poller, true);
        (void)sd_event_source_set_description(ingest->sources.decoder, "ingest-decoder");
        (void)sd_event_source_set_description(ingest->sources.backoff, "ingest-backoff");
        (void)sd_event_source_set_description(ingest->sources.wake, "ingest-wake");
        (void)sd_event_source_set_description(ingest->sources.refused, "ingest-refused");
        return 0;
}

int ingest_new(Ingest **ret, sd_event *event, int listen_fd, const IngestConfig *config, const IngestServer *server,
               Shares *shares) {
        scoped(ingest_freep) Ingest *ingest = NULL;
        int r;

        ingest = calloc(1, sizeof(*ingest));
        if (!ingest) {
                close(listen_fd);
                return -ENOMEM;
        }

        ingest->config = *config;
        ingest->server = *server;
        parent_init(ingest);
        ingest->poller.fd = ingest->large.decoder.done_fd = -1;
        ingest->event = sd_event_ref(event);
        ingest->shares = shares;
        turns_init(&ingest->turns);
        TAILQ_INIT(&ingest->starved.list);
        TAILQ_INIT(&ingest->large.waiting);
        TAILQ_INIT(&ingest->unsent);

        r = listener_init(&ingest->listener, listen_fd);
        if (r >= 0)
                r = poller_init(&ingest->poller);
        if (r >= 0)
                r = codec_fit_arena(&ingest->small.arena, config->frame_max_bytes);
        if (r >= 0)
                r = decoder_init(&ingest->large.decoder);
        if (r >= 0)
                r = ingest_attach(ingest);
        if (r < 0)
                return r;

        *ret = TAKE(ingest);
        return 0;
}

Ingest *ingest_free(Ingest *ingest) {
        if (!ingest)
                return NULL;

        decoder_deinit(&ingest->large.decoder);
        ingest->large.client = NULL;
        for (size_t i = 0; i < ingest->table.n_places; i++)
                if (ingest->table.places[i].item)
                        client_free(ingest->table.places[i].item);

        parent_deinit(ingest);
        while (close_refused(ingest))
                ;
        sd_event_source_disable_unref(ingest->sources.listen);
        sd_event_source_disable_unref(ingest->sources.poller);
        sd_event_source_disable_unref(ingest->sources.decoder);
        sd_event_source_disable_unref(ingest->sources.backoff);
        sd_event_source_disable_unref(ingest->sources.wake);
        sd_event_source_disable_unref(ingest->sources.refused);
        sd_event_unref(ingest->event);
        poller_deinit(&ingest->poller);
        listener_deinit(&ingest->listener);
        arena_deinit(&ingest->small.arena);
        connection_table_deinit(&ingest->table);
        turns_deinit(&ingest->turns);
        free(ingest);
        return NULL;
}

void ingest_configure(Ingest *ingest, const IngestConfig *config) {
        ingest->config = *config;

        for (size_t i = 0; i < ingest->table.n_places; i++)
                if (ingest->table.places[i].item) {
                        Connection *connection = &((IngestClient *)ingest->table.places[i].item)->connection;

                        connection->peer.is_admin = is_administrator(ingest, connection->fd, &connection->peer);
                }
}

/* --- incoming requests --------------------------------------------------------------------------- */

static IngestClient *client_of_turn(TurnEntry *entry) {
        return (IngestClient *)((char *)entry - offsetof(IngestClient, turn));
}

/* 0: *ret and *ret_ticket are set. CLIENT_DONE: the frame had no request for the parent. */
enum {
        CLIENT_DONE = 1,
};
static int client_hand_over(IngestClient *client, int r, const Decoded *decoded, size_t n_consumed, Request *ret,
                            Ticket *ret_ticket) {
        Ingest *ingest = client->ingest;
        size_t n_bytes = n_consumed + decoded->n_work;
        uint64_t number;

        ingest->n_turn_bytes += n_bytes;
        if (r == CODEC_GARBAGE) {
                client_send_protocol_error(client, CONNECTION_MALFORMED);
                return CLIENT_DONE;
        }

        if (client_expect(client, decoded->sequence, n_bytes, &number) < 0)
                return CLIENT_DONE;

        if (r == CODEC_REFUSED) {
                client_answer(client, number, decoded->sequence, &decoded->refusal);
                return CLIENT_DONE;
        }
        if (decoded->request.kind == REQUEST_HELLO) {
                client_answer_hello(client, number, decoded->sequence);
                return CLIENT_DONE;
        }

        *ret = decoded->request;
        ingest->parent.last.lent = ret->peer.pidfd;
        *ret_ticket = (Ticket){
                .connection = client->place,
                .generation = connection_table_generation(&ingest->table, client->place),
                .number = number,
                .user = (uint64_t)ret->peer.uid + 1,
        };
        return 0;
}

static int client_take(IngestClient *client, const Frame *frame, Request *ret, Ticket *ret_ticket) {
        Ingest *ingest = client->ingest;
        int r;

        r = codec_decode(&ingest->small.arena, frame, &client->connection.peer, ingest->config.documents,
                         &ingest->small.decoded);
        connection_consume(&client->connection, frame);
        (void)client_charge_input(client, client->connection.in_size);
        client->is_full = false;
        return client_hand_over(client, r, &ingest->small.decoded, frame->n_consumed, ret, ret_ticket);
}

static int client_take_large(IngestClient *client, Request *ret, Ticket *ret_ticket) {
        Ingest *ingest = client->ingest;
        const Decoded *decoded;
        int r;

        client->large = LARGE_LENT;
        ingest->large.is_lent = true;
        r = decoder_take(&ingest->large.decoder, &decoded);
        return client_hand_over(client, r, decoded, ingest->large.decoder.frame.n_consumed, ret, ret_ticket);
}

static int client_next(IngestClient *client, Request *ret, Ticket *ret_ticket) {
        const IngestConfig *config = &client->ingest->config;
        Frame frame;
        int r;

        r = connection_peek(&client->connection, config->frame_max_bytes, config->in_flight_max, &frame);
        if (client->large == LARGE_DECODED)
                r = client_take_large(client, ret, ret_ticket);
        else if (r == 0 && frame.n > DECODER_BYTES_MIN && client_put_large(client, &frame) == 0)
                r = CLIENT_DONE;
        else if (r == 0)
                r = client_take(client, &frame, ret, ret_ticket);
        else if (r == CONNECTION_TOO_LARGE || r == CONNECTION_MALFORMED)
                client_send_protocol_error(client, r);

        client_settle(client);
        return r;
}

int ingest_next(Ingest *ingest, Request *ret, Ticket *ret_ticket) {
        uint64_t end_ns;
        int r;

        parent_end_last(ingest);
        if (parent_has_left_decoder(ingest))
                ingest_release_decoder(ingest);
        r = codec_fit_arena(&ingest->small.arena, ingest->config.frame_max_bytes); /* frame_size may have been raised */
        if (r < 0)
                return r;

        end_ns = clock_boottime_ns() + REFUSALS_NS;
        while (!ingest->is_draining && ingest->n_turn_bytes < TURN_BYTES_MAX && clock_boottime_ns() < end_ns) {
                TurnEntry *entry = turns_next(&ingest->turns);

                if (entry && client_next(client_of_turn(entry), ret, ret_ticket) == 0)
                        return 0;
                if (!entry && TAILQ_EMPTY(&ingest->unsent))
                        break;
                if (!entry)
                        ingest_flush(ingest); /* requests that waited for answers may continue */
        }

        ingest->n_turn_bytes = 0;
        ingest_feed_starved(ingest);
        ingest_flush(ingest);
        if (ingest_has_requests(ingest))
                ingest_wake(ingest);
        return INGEST_IDLE;
}

bool ingest_keep(Ingest *ingest, Ticket ticket) {
        IngestClient *client = connection_table_find(&ingest->table, ticket.connection, ticket.generation);

        return client && parent_keep(client);
}

void ingest_release(Ingest *ingest) {
        if (parent_release(ingest))
                ingest_release_decoder(ingest);
}

/* --- outgoing answers ---------------------------------------------------------------------------- */

void ingest_answer(Ingest *ingest, Ticket ticket, const Answer *answer) {
        IngestClient *client = connection_table_find(&ingest->table, ticket.connection, ticket.generation);
        const ReplySlot *slot = client ? connection_find(&client->connection, ticket.number) : NULL;

        if (slot)
                client_answer(client, ticket.number, slot->sequence, answer);
}

void ingest_flush(Ingest *ingest) {
        for (IngestClient *client; (client = TAILQ_FIRST(&ingest->unsent));) {
                if (client->is_waiting)
                        client_set_unsent(client, false); /* the loop reports when there is room */
                else
                        client_send(client);
                client_settle(client);
        }
}

bool ingest_has_requests(Ingest *ingest) {
        return (turns_next(&ingest->turns) || parent_has_left_decoder(ingest)) && !ingest->is_draining;
}

void ingest_wake(Ingest *ingest) {
        (void)sd_event_source_set_enabled(ingest->sources.wake, SD_EVENT_ONESHOT);
}

/* --- end ----------------------------------------------------------------------------------------- */

void ingest_drain(Ingest *ingest) {
        ingest->is_draining = true;
        (void)sd_event_source_set_enabled(ingest->sources.listen, SD_EVENT_OFF);

        for (size_t i = 0; i < ingest->table.n_places; i++)
                if (ingest->table.places[i].item)
                        client_settle(ingest->table.places[i].item);
}

bool ingest_is_idle(const Ingest *ingest) {
        if (ingest->stats.n_in_flight > 0)
                return false;
        for (size_t i = 0; i < ingest->table.n_places; i++) {
                const IngestClient *client = ingest->table.places[i].item;

                if (client && connection_has_output(&client->connection))
                        return false;
        }
        return true;
}

const IngestStats *ingest_stats(const Ingest *ingest) {
        return &ingest->stats;
}
