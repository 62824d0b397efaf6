/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/ingest.h"

#include <errno.h>
#include <stdio.h>
#include <sys/queue.h>

#include "ingest/codec.h"
#include "ingest/connection.h"
#include "ingest/listener.h"
#include "ingest/peer.h"
#include "ingest/poller.h"
#include "ingest/connection_table.h"
#include "util/arena.h"

#define ACCEPTS_PER_TURN 64
#define REQUESTS_PER_TURN 64U
#define EVENTS_PER_TURN 64
/* Bytes that ingest_next() hands out in one turn of the loop: a few milliseconds of work, so that no sample is late. */
#define TURN_BYTES_MAX (512U * 1024U)
#define REQUEST_BYTES 512U /* what a request costs beside its bytes */
#define BACKOFF_US (1000U * 1000U)

/* A connection in the loop. */
typedef struct IngestClient {
        Connection connection;
        Ingest *ingest;
        uint32_t place;   /* in the table */
        uint32_t events;  /* that the poller waits for */
        unsigned n_taken; /* in this turn */
        bool is_full;     /* not read until a frame is consumed */
        bool is_ready, is_unsent, is_waiting; /* is_waiting: for EPOLLOUT */
        TAILQ_ENTRY(IngestClient) ready, unsent;
} IngestClient;

struct Ingest {
        IngestConfig config;
        IngestServer server;
        sd_event *event;
        Listener listener;
        Poller poller; /* of the connections */
        sd_event_source *listen_source, *poller_source, *backoff_source, *wake_source;
        bool is_draining;

        ConnectionTable table;     /* of owned IngestClients */
        TAILQ_HEAD(, IngestClient) ready;  /* may have a request to take */
        TAILQ_HEAD(, IngestClient) unsent; /* have replies that no send was tried for */

        int lent_pidfd; /* in the request that was handed out last */
        int kept_pidfd; /* owned; the same, when its connection has gone meanwhile */

        size_t n_turn_bytes;
        Arena arena;
        Decoded decoded;
        IngestStats stats;
};

/* --- connections --------------------------------------------------------------------------------- */

static void client_set_ready(IngestClient *client, bool is_ready) {
        if (client->is_ready == is_ready)
                return;

        client->is_ready = is_ready;
        client->n_taken = 0;
        if (is_ready)
                TAILQ_INSERT_TAIL(&client->ingest->ready, client, ready);
        else
                TAILQ_REMOVE(&client->ingest->ready, client, ready);
}

static void client_set_unsent(IngestClient *client, bool is_unsent) {
        if (client->is_unsent == is_unsent)
                return;

        client->is_unsent = is_unsent;
        if (is_unsent)
                TAILQ_INSERT_TAIL(&client->ingest->unsent, client, unsent);
        else
                TAILQ_REMOVE(&client->ingest->unsent, client, unsent);
}

/*
 * The parent may hold the last request until the store has room for it, longer than its connection lives. Its pidfd
 * must not become somebody else's under the parent's hands.
 */
static void client_leave_pidfd(IngestClient *client) {
        Peer *peer = &client->connection.peer;

        if (peer->pidfd >= 0 && peer->pidfd == client->ingest->lent_pidfd)
                client->ingest->kept_pidfd = TAKE_FD(peer->pidfd);
}

static void ingest_end_loan(Ingest *ingest) {
        closep(&ingest->kept_pidfd);
        ingest->kept_pidfd = ingest->lent_pidfd = -1;
}

static void client_free(IngestClient *client) {
        Ingest *ingest = client->ingest;

        client_leave_pidfd(client);
        client_set_ready(client, false);
        client_set_unsent(client, false);
        (void)poller_set(&ingest->poller, client->connection.fd, client, client->events, 0);

        connection_table_remove(&ingest->table, client->place);
        ingest->stats.n_connections--;
        ingest->stats.n_in_flight -= connection_count_unanswered(&client->connection);

        connection_deinit(&client->connection);
        free(client);
}

static int client_listen(IngestClient *client) {
        const Connection *connection = &client->connection;
        bool is_reading = !connection->is_at_end && !connection->is_closing && !client->is_full && !client->ingest->is_draining;
        uint32_t events = (is_reading ? EPOLLIN : 0) | (client->is_waiting ? EPOLLOUT : 0);
        int r;

        r = poller_set(&client->ingest->poller, connection->fd, client, client->events, events);
        if (r == 0)
                client->events = events;
        return r;
}

/* Decides after each operation on a connection what it waits for next, or ends it. */
static void client_settle(IngestClient *client) {
        const IngestConfig *config = &client->ingest->config;
        Frame unused;
        int r;

        if (connection_is_over(&client->connection, config->frame_max_bytes) || client_listen(client) < 0) {
                client_free(client);
                return;
        }

        r = connection_peek(&client->connection, config->frame_max_bytes, config->in_flight_max, &unused);
        client_set_ready(client, r != CONNECTION_NOTHING && r != CONNECTION_BUSY);
}

static void client_send(IngestClient *client) {
        client->is_waiting = connection_send(&client->connection) == CONNECTION_PENDING;
        client_set_unsent(client, false);
}

static void client_read(IngestClient *client) {
        int r;

        r = connection_receive(&client->connection, client->ingest->config.frame_max_bytes);
        if (r < 0)
                connection_give_up(&client->connection);
        client->is_full = r == CONNECTION_FULL;
}

static void client_serve(IngestClient *client, uint32_t events) {
        /* After a peer hung up, reading finds what it has left, and sending whether it still reads. */
        if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
                client_send(client);
        if ((events & ~(uint32_t)EPOLLOUT) && (client->events & EPOLLIN))
                client_read(client);

        client_settle(client);
}

/* Each client has one event at most, and none ends another. */
static int on_poller(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        struct epoll_event events[EVENTS_PER_TURN];
        Ingest *ingest = userdata;
        int n;

        (void)source, (void)fd, (void)revents;
        n = poller_take(&ingest->poller, events, EVENTS_PER_TURN);
        for (int i = 0; i < n; i++)
                client_serve(events[i].data.ptr, events[i].events);
        return n < 0 ? n : 0;
}

/* Checks whether the peer is an administrator, by the group as it is now. */
static void client_judge(IngestClient *client) {
        const IngestConfig *config = &client->ingest->config;
        Peer *peer = &client->connection.peer;

        peer->is_admin = peer->uid == 0 ||
                         (config->admin_gid != INGEST_NO_ADMIN_GID && peer_is_member(client->connection.fd, peer, config->admin_gid));
}

/* --- accepting ----------------------------------------------------------------------------------- */

static int ingest_add(Ingest *ingest, int fd, const Peer *peer) {
        scoped(freep) IngestClient *client = NULL;
        int r;

        client = calloc(1, sizeof(*client));
        if (!client)
                return -ENOMEM;

        client->ingest = ingest;
        client->events = EPOLLIN;
        r = connection_table_add(&ingest->table, client, peer->uid, &client->place);
        if (r != 0)
                return -ENOMEM; /* the table is as large as connections_max */

        r = poller_set(&ingest->poller, fd, client, 0, EPOLLIN);
        if (r < 0) {
                connection_table_remove(&ingest->table, client->place);
                return r;
        }

        connection_init(&client->connection, fd, peer);
        client_judge(client);
        ingest->stats.n_connections++;
        ingest->stats.n_connections_total++;
        (void)TAKE(client);
        return 0;
}

/* Adds the connection or refuses it; takes fd and peer->pidfd over. */
static void ingest_admit(Ingest *ingest, int fd_owned, const Peer *peer) {
        const IngestConfig *config = &ingest->config;
        scoped(closep) int fd = fd_owned, pidfd = peer->pidfd;
        char sentence[COMPLAINT_TEXT_MAX] = "perfd cannot take this connection now: try again";

        if (ingest->stats.n_connections >= config->connections_max)
                snprintf(sentence, sizeof(sentence), "connection limit of %u reached ([limits] connections)",
                         config->connections_max);
        else if (connection_table_count_uid(&ingest->table, peer->uid) >= config->connections_per_uid_max)
                snprintf(sentence, sizeof(sentence),
                         "uid %u has reached its limit of %u connections ([limits] connections_per_uid)",
                         peer->uid, config->connections_per_uid_max);
        else if (connection_table_fit(&ingest->table, config->connections_max) == 0 && ingest_add(ingest, fd, peer) == 0) {
                (void)TAKE_FD(fd);
                (void)TAKE_FD(pidfd);
                return;
        }

        listener_refuse(fd, sentence);
        ingest->stats.n_connections_refused++;
}

/* Stops accepting for a while: waiting peers would keep the loop awake. */
static void ingest_back_off(Ingest *ingest) {
        ingest->stats.n_connections_refused++;
        ingest->stats.n_exhausted++;
        if (sd_event_source_set_time_relative(ingest->backoff_source, BACKOFF_US) >= 0 &&
            sd_event_source_set_enabled(ingest->backoff_source, SD_EVENT_ONESHOT) >= 0)
                (void)sd_event_source_set_enabled(ingest->listen_source, SD_EVENT_OFF);
}

static int on_backoff_end(sd_event_source *source, uint64_t usec, void *userdata) {
        Ingest *ingest = userdata;

        (void)source;
        (void)usec;
        if (!ingest->is_draining)
                (void)sd_event_source_set_enabled(ingest->listen_source, SD_EVENT_ON);
        return 0;
}

static int on_listen(sd_event_source *source, int listen_fd, uint32_t events, void *userdata) {
        Ingest *ingest = userdata;
        int r = 0;

        (void)source, (void)listen_fd, (void)events;
        for (unsigned i = 0; i < ACCEPTS_PER_TURN && r == 0; i++) {
                Peer peer;
                int fd;

                r = listener_accept(&ingest->listener, &fd, &peer);
                if (r == 0)
                        ingest_admit(ingest, fd, &peer);
                else if (r == LISTENER_EXHAUSTED)
                        ingest_back_off(ingest);
        }
        return 0;
}

/* Does nothing: the turn of the loop lets the parent call ingest_next(). */
static int on_wake(sd_event_source *source, void *userdata) {
        (void)source;
        (void)userdata;
        return 0;
}

/* --- building ------------------------------------------------------------------------------------ */

static int ingest_attach(Ingest *ingest) {
        int r;

        r = sd_event_add_io(ingest->event, &ingest->listen_source, ingest->listener.fd, EPOLLIN, on_listen, ingest);
        if (r >= 0)
                r = sd_event_add_io(ingest->event, &ingest->poller_source, ingest->poller.fd, EPOLLIN, on_poller, ingest);
        if (r >= 0)
                r = sd_event_add_time_relative(ingest->event, &ingest->backoff_source, CLOCK_MONOTONIC, 0, 0,
                                               on_backoff_end, ingest);
        if (r >= 0)
                r = sd_event_source_set_enabled(ingest->backoff_source, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_defer(ingest->event, &ingest->wake_source, on_wake, ingest);
        if (r >= 0)
                r = sd_event_source_set_enabled(ingest->wake_source, SD_EVENT_OFF);
        if (r < 0)
                return r;

        (void)sd_event_source_set_description(ingest->listen_source, "ingest-listen");
        (void)sd_event_source_set_description(ingest->poller_source, "ingest-connections");
        (void)sd_event_source_set_exit_on_failure(ingest->poller_source, true);
        (void)sd_event_source_set_description(ingest->backoff_source, "ingest-backoff");
        (void)sd_event_source_set_description(ingest->wake_source, "ingest-wake");
        return 0;
}

int ingest_new(Ingest **ret, sd_event *event, int listen_fd, const IngestConfig *config, const IngestServer *server) {
        scoped(ingest_freep) Ingest *ingest = NULL;
        int r;

        ingest = calloc(1, sizeof(*ingest));
        if (!ingest) {
                close(listen_fd);
                return -ENOMEM;
        }

        ingest->config = *config;
        ingest->server = *server;
        ingest->lent_pidfd = ingest->kept_pidfd = ingest->poller.fd = -1;
        ingest->event = sd_event_ref(event);
        TAILQ_INIT(&ingest->ready);
        TAILQ_INIT(&ingest->unsent);

        r = listener_init(&ingest->listener, listen_fd);
        if (r >= 0)
                r = poller_init(&ingest->poller);
        if (r >= 0)
                r = arena_init(&ingest->arena, config->frame_max_bytes * CODEC_ARENA_FACTOR);
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

        for (size_t i = 0; i < ingest->table.n_places; i++)
                if (ingest->table.places[i].item)
                        client_free(ingest->table.places[i].item);

        ingest_end_loan(ingest);
        sd_event_source_disable_unref(ingest->listen_source);
        sd_event_source_disable_unref(ingest->poller_source);
        sd_event_source_disable_unref(ingest->backoff_source);
        sd_event_source_disable_unref(ingest->wake_source);
        sd_event_unref(ingest->event);
        poller_deinit(&ingest->poller);
        listener_deinit(&ingest->listener);
        arena_deinit(&ingest->arena);
        connection_table_deinit(&ingest->table);
        free(ingest);
        return NULL;
}

void ingest_configure(Ingest *ingest, const IngestConfig *config) {
        ingest->config = *config;

        for (size_t i = 0; i < ingest->table.n_places; i++)
                if (ingest->table.places[i].item)
                        client_judge(ingest->table.places[i].item);
}

/* --- requests in --------------------------------------------------------------------------------- */

/* frame_max_bytes may have grown; not done in ingest_configure(), as the last request may still be looked at. */
static int fit_arena(Ingest *ingest) {
        size_t n = ingest->config.frame_max_bytes * CODEC_ARENA_FACTOR;
        Arena arena;
        int r;

        if (n <= ingest->arena.n_max)
                return 0;

        r = arena_init(&arena, n);
        if (r == 0) {
                arena_deinit(&ingest->arena);
                ingest->arena = arena;
        }
        return r;
}

static void client_put_reply(IngestClient *client, uint64_t number, Status status, const uint8_t *reply, size_t n) {
        if (connection_reply(&client->connection, number, reply, n) < 0)
                connection_give_up(&client->connection);

        client->ingest->stats.n_in_flight--;
        client->ingest->stats.n_answers[status]++;
        client_set_unsent(client, true);
}

static void client_put_answer(IngestClient *client, uint64_t number, uint64_t sequence, const Answer *answer) {
        uint8_t reply[CODEC_REPLY_MAX];
        size_t n = codec_encode_answer(sequence, answer, reply);

        client_put_reply(client, number, answer->status, reply, n);
}

static void client_put_hello(IngestClient *client, uint64_t number, uint64_t sequence) {
        const Ingest *ingest = client->ingest;
        const Greeting greeting = {
                .server = ingest->server.name, .node = ingest->server.node, .durable = ingest->server.durable,
                .frame_max_bytes = (uint32_t)ingest->config.frame_max_bytes, .in_flight_max = ingest->config.in_flight_max,
        };
        uint8_t reply[CODEC_REPLY_MAX];
        size_t n = codec_encode_hello_reply(sequence, &greeting, reply);

        client_put_reply(client, number, STATUS_OK, reply, n);
}

static int client_expect(IngestClient *client, uint64_t sequence, uint64_t *ret_number) {
        int r;

        r = connection_expect(&client->connection, sequence, ret_number);
        if (r < 0) {
                connection_give_up(&client->connection);
                return r;
        }

        client->ingest->stats.n_in_flight++;
        return 0;
}

/* Bytes after a malformed frame cannot be understood: sends a last reply, after the replies that are still due. */
static void client_put_last_words(IngestClient *client, int outcome) {
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
        if (client_expect(client, 0, &number) == 0)
                client_put_answer(client, number, 0, &answer);
        client->connection.is_closing = true;
}

/* 0: *ret and *ret_ticket are set. CLIENT_DONE: there was nothing for the parent in this frame. */
enum {
        CLIENT_DONE = 1,
};
static int client_take(IngestClient *client, const Frame *frame, Request *ret, Ticket *ret_ticket) {
        Ingest *ingest = client->ingest;
        Decoded *decoded = &ingest->decoded;
        uint64_t number;
        int r;

        r = codec_decode(&ingest->arena, frame, &client->connection.peer, ingest->config.string_max_bytes, decoded);
        connection_consume(&client->connection, frame);
        ingest->n_turn_bytes += frame->n_consumed + REQUEST_BYTES;
        client->is_full = false;
        if (r == CODEC_GARBAGE) {
                client_put_last_words(client, CONNECTION_MALFORMED);
                return CLIENT_DONE;
        }

        if (client_expect(client, decoded->sequence, &number) < 0)
                return CLIENT_DONE;

        if (r == CODEC_REFUSED) {
                client_put_answer(client, number, decoded->sequence, &decoded->refusal);
                return CLIENT_DONE;
        }
        if (decoded->request.kind == REQUEST_HELLO) {
                client_put_hello(client, number, decoded->sequence);
                return CLIENT_DONE;
        }

        *ret = decoded->request;
        ingest->lent_pidfd = ret->peer.pidfd;
        *ret_ticket = (Ticket){ client->place, connection_table_generation(&ingest->table, client->place), number };
        return 0;
}

static int client_next(IngestClient *client, Request *ret, Ticket *ret_ticket) {
        const IngestConfig *config = &client->ingest->config;
        Frame frame;
        int r;

        r = connection_peek(&client->connection, config->frame_max_bytes, config->in_flight_max, &frame);
        if (r == 0)
                r = client_take(client, &frame, ret, ret_ticket);
        else if (r == CONNECTION_TOO_LARGE || r == CONNECTION_MALFORMED)
                client_put_last_words(client, r);

        /* The client's turn is over, and others come first. */
        if (++client->n_taken >= REQUESTS_PER_TURN)
                client_set_ready(client, false);

        client_settle(client);
        return r;
}

int ingest_next(Ingest *ingest, Request *ret, Ticket *ret_ticket) {
        int r;

        ingest_end_loan(ingest);
        r = fit_arena(ingest);
        if (r < 0)
                return r;

        while (!ingest->is_draining && ingest->n_turn_bytes < TURN_BYTES_MAX) {
                IngestClient *client = TAILQ_FIRST(&ingest->ready);

                if (client && client_next(client, ret, ret_ticket) == 0)
                        return 0;
                if (!client && TAILQ_EMPTY(&ingest->unsent))
                        break;
                if (!client)
                        ingest_flush(ingest); /* what waited for room to answer may go on */
        }

        ingest->n_turn_bytes = 0;
        ingest_flush(ingest);
        ingest_wake(ingest);
        return INGEST_IDLE;
}

/* --- answers out --------------------------------------------------------------------------------- */

void ingest_answer(Ingest *ingest, Ticket ticket, const Answer *answer) {
        const ReplySlot *slot;
        IngestClient *client;

        client = connection_table_find(&ingest->table, ticket.connection, ticket.generation);
        slot = client ? connection_find(&client->connection, ticket.number) : NULL;
        if (slot)
                client_put_answer(client, ticket.number, slot->sequence, answer);
}

void ingest_flush(Ingest *ingest) {
        IngestClient *client;

        while ((client = TAILQ_FIRST(&ingest->unsent))) {
                if (client->is_waiting)
                        client_set_unsent(client, false); /* the loop says when there is room */
                else
                        client_send(client);
                client_settle(client);
        }
}

void ingest_wake(Ingest *ingest) {
        if (!TAILQ_EMPTY(&ingest->ready) && !ingest->is_draining)
                (void)sd_event_source_set_enabled(ingest->wake_source, SD_EVENT_ONESHOT);
}

/* --- end ----------------------------------------------------------------------------------------- */

void ingest_drain(Ingest *ingest) {
        ingest->is_draining = true;
        (void)sd_event_source_set_enabled(ingest->listen_source, SD_EVENT_OFF);

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
