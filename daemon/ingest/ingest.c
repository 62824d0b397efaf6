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
#include "ingest/table.h"
#include "util/arena.h"

#define ACCEPTS_PER_TURN 64
#define REQUESTS_PER_TURN 64U
#define EVENTS_PER_TURN 64
/* What ingest_next() hands out before it lets the loop turn: a few milliseconds' work, so that the sampler is not late. */
#define TURN_BYTES_MAX (512U * 1024U)
#define REQUEST_BYTES 512U /* what a request costs beside its bytes */
#define BACKOFF_US (1000U * 1000U)

/* A connection in the loop. */
typedef struct Node {
        Connection connection;
        Ingest *ingest;
        uint32_t place;   /* in the table */
        uint32_t events;  /* that the poller waits for */
        unsigned n_taken; /* in this turn */
        bool is_full;     /* not read until a frame is consumed */
        bool is_ready, is_unsent, is_waiting; /* is_waiting: for EPOLLOUT */
        TAILQ_ENTRY(Node) ready, unsent;
} Node;

struct Ingest {
        IngestConfig config;
        IngestServer server;
        sd_event *event;
        Listener listener;
        Poller poller; /* of the connections */
        sd_event_source *listen_source, *poller_source, *backoff_source, *wake_source;
        bool is_draining;

        Table table;               /* of owned Nodes */
        TAILQ_HEAD(, Node) ready;  /* may have a request to take */
        TAILQ_HEAD(, Node) unsent; /* have replies that no send was tried for */

        int lent_pidfd; /* in the request that was handed out last */
        int kept_pidfd; /* owned; the same, when its connection has gone meanwhile */

        size_t n_turn_bytes;
        Arena arena;
        Decoded decoded;
        IngestStats stats;
};

/* --- connections --------------------------------------------------------------------------------- */

static void node_set_ready(Node *node, bool is_ready) {
        if (node->is_ready == is_ready)
                return;

        node->is_ready = is_ready;
        node->n_taken = 0;
        if (is_ready)
                TAILQ_INSERT_TAIL(&node->ingest->ready, node, ready);
        else
                TAILQ_REMOVE(&node->ingest->ready, node, ready);
}

static void node_set_unsent(Node *node, bool is_unsent) {
        if (node->is_unsent == is_unsent)
                return;

        node->is_unsent = is_unsent;
        if (is_unsent)
                TAILQ_INSERT_TAIL(&node->ingest->unsent, node, unsent);
        else
                TAILQ_REMOVE(&node->ingest->unsent, node, unsent);
}

/*
 * The parent may hold the last request until the store has room for it, longer than its connection lives. Its pidfd
 * must not become somebody else's under the parent's hands.
 */
static void node_leave_pidfd(Node *node) {
        Peer *peer = &node->connection.peer;

        if (peer->pidfd >= 0 && peer->pidfd == node->ingest->lent_pidfd)
                node->ingest->kept_pidfd = TAKE_FD(peer->pidfd);
}

static void ingest_end_loan(Ingest *ingest) {
        closep(&ingest->kept_pidfd);
        ingest->kept_pidfd = ingest->lent_pidfd = -1;
}

static void node_free(Node *node) {
        Ingest *ingest = node->ingest;

        node_leave_pidfd(node);
        node_set_ready(node, false);
        node_set_unsent(node, false);
        (void)poller_set(&ingest->poller, node->connection.fd, node, node->events, 0);

        table_remove(&ingest->table, node->place);
        ingest->stats.n_connections--;
        ingest->stats.n_in_flight -= connection_count_unanswered(&node->connection);

        connection_deinit(&node->connection);
        free(node);
}

static int node_listen(Node *node) {
        const Connection *connection = &node->connection;
        bool is_reading = !connection->is_at_end && !connection->is_closing && !node->is_full && !node->ingest->is_draining;
        uint32_t events = (is_reading ? EPOLLIN : 0) | (node->is_waiting ? EPOLLOUT : 0);
        int r;

        r = poller_set(&node->ingest->poller, connection->fd, node, node->events, events);
        if (r == 0)
                node->events = events;
        return r;
}

/* After anything was done with a connection: what it waits for next, or its end. */
static void node_settle(Node *node) {
        const IngestConfig *config = &node->ingest->config;
        Frame unused;
        int r;

        if (connection_is_over(&node->connection, config->frame_max_bytes) || node_listen(node) < 0) {
                node_free(node);
                return;
        }

        r = connection_peek(&node->connection, config->frame_max_bytes, config->in_flight_max, &unused);
        node_set_ready(node, r != CONNECTION_NOTHING && r != CONNECTION_BUSY);
}

static void node_send(Node *node) {
        node->is_waiting = connection_send(&node->connection) == CONNECTION_PENDING;
        node_set_unsent(node, false);
}

static void node_read(Node *node) {
        int r;

        r = connection_receive(&node->connection, node->ingest->config.frame_max_bytes);
        if (r < 0)
                connection_give_up(&node->connection);
        node->is_full = r == CONNECTION_FULL;
}

static void node_serve(Node *node, uint32_t events) {
        /* Whether a peer that hung up has left something is for reading to find out, whether it still reads for sending. */
        if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
                node_send(node);
        if ((events & ~(uint32_t)EPOLLOUT) && (node->events & EPOLLIN))
                node_read(node);

        node_settle(node);
}

/* Each node has one event at most, and none ends another. */
static int ingest_serve(Ingest *ingest) {
        struct epoll_event events[EVENTS_PER_TURN];
        int n;

        n = poller_take(&ingest->poller, events, EVENTS_PER_TURN);
        for (int i = 0; i < n; i++)
                node_serve(events[i].data.ptr, events[i].events);
        return n < 0 ? n : 0;
}

static int on_poller(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        (void)source, (void)fd, (void)events;
        return ingest_serve(userdata);
}

/* As the administrators' group is now. */
static void node_judge(Node *node) {
        const IngestConfig *config = &node->ingest->config;
        Peer *peer = &node->connection.peer;

        peer->is_admin = peer->uid == 0 ||
                         (config->admin_gid != INGEST_NO_ADMIN_GID && peer_is_member(node->connection.fd, peer, config->admin_gid));
}

/* --- accepting ----------------------------------------------------------------------------------- */

static int ingest_add(Ingest *ingest, int fd, const Peer *peer) {
        scoped(freep) Node *node = NULL;
        int r;

        node = calloc(1, sizeof(*node));
        if (!node)
                return -ENOMEM;

        node->ingest = ingest;
        node->events = EPOLLIN;
        r = table_add(&ingest->table, node, peer->uid, &node->place);
        if (r != 0)
                return -ENOMEM; /* the table is as large as connections_max */

        r = poller_set(&ingest->poller, fd, node, 0, EPOLLIN);
        if (r < 0) {
                table_remove(&ingest->table, node->place);
                return r;
        }

        connection_init(&node->connection, fd, peer);
        node_judge(node);
        ingest->stats.n_connections++;
        ingest->stats.n_connections_total++;
        (void)TAKE(node);
        return 0;
}

/* Adds the connection or refuses it; takes fd and peer->pidfd over. */
static void ingest_admit(Ingest *ingest, int fd_owned, const Peer *peer) {
        const IngestConfig *config = &ingest->config;
        scoped(closep) int fd = fd_owned, pidfd = peer->pidfd;
        char sentence[COMPLAINT_TEXT_MAX] = "perfd cannot take this connection now: try again";

        if (ingest->stats.n_connections >= config->connections_max)
                snprintf(sentence, sizeof(sentence), "perfd has %u connections, the most it takes ([limits] connections)",
                         config->connections_max);
        else if (table_count_uid(&ingest->table, peer->uid) >= config->connections_per_uid_max)
                snprintf(sentence, sizeof(sentence),
                         "uid %u has %u connections to perfd, the most it may ([limits] connections_per_uid)",
                         peer->uid, config->connections_per_uid_max);
        else if (table_fit(&ingest->table, config->connections_max) == 0 && ingest_add(ingest, fd, peer) == 0) {
                (void)TAKE_FD(fd);
                (void)TAKE_FD(pidfd);
                return;
        }

        listener_refuse(fd, sentence);
        ingest->stats.n_connections_refused++;
}

/* Whoever waits would keep the loop awake. */
static void ingest_back_off(Ingest *ingest) {
        ingest->stats.n_connections_refused++;
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

static void ingest_accept(Ingest *ingest) {
        int r = 0;

        for (unsigned i = 0; i < ACCEPTS_PER_TURN && r == 0; i++) {
                Peer peer;
                int fd;

                r = listener_accept(&ingest->listener, &fd, &peer);
                if (r == 0)
                        ingest_admit(ingest, fd, &peer);
                else if (r == LISTENER_EXHAUSTED)
                        ingest_back_off(ingest);
        }
}

static int on_listen(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        (void)source;
        (void)fd;
        (void)events;
        ingest_accept(userdata);
        return 0;
}

/* Nothing to do here: the turn of the loop that it brings lets the parent call ingest_next(). */
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
                        node_free(ingest->table.places[i].item);

        ingest_end_loan(ingest);
        sd_event_source_disable_unref(ingest->listen_source);
        sd_event_source_disable_unref(ingest->poller_source);
        sd_event_source_disable_unref(ingest->backoff_source);
        sd_event_source_disable_unref(ingest->wake_source);
        sd_event_unref(ingest->event);
        poller_deinit(&ingest->poller);
        listener_deinit(&ingest->listener);
        arena_deinit(&ingest->arena);
        table_deinit(&ingest->table);
        free(ingest);
        return NULL;
}

void ingest_configure(Ingest *ingest, const IngestConfig *config) {
        ingest->config = *config;

        for (size_t i = 0; i < ingest->table.n_places; i++)
                if (ingest->table.places[i].item)
                        node_judge(ingest->table.places[i].item);
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

static void node_put_reply(Node *node, uint64_t number, Status status, const uint8_t *reply, size_t n) {
        if (connection_reply(&node->connection, number, reply, n) < 0)
                connection_give_up(&node->connection);

        node->ingest->stats.n_in_flight--;
        node->ingest->stats.n_answers[status]++;
        node_set_unsent(node, true);
}

static void node_put_answer(Node *node, uint64_t number, uint64_t sequence, const Answer *answer) {
        uint8_t reply[CODEC_REPLY_MAX];
        size_t n = codec_encode_answer(sequence, answer, reply);

        node_put_reply(node, number, answer->status, reply, n);
}

static void node_put_hello(Node *node, uint64_t number, uint64_t sequence) {
        const Ingest *ingest = node->ingest;
        const Greeting greeting = {
                .server = ingest->server.name, .node = ingest->server.node, .durable = ingest->server.durable,
                .frame_max_bytes = (uint32_t)ingest->config.frame_max_bytes, .in_flight_max = ingest->config.in_flight_max,
        };
        uint8_t reply[CODEC_REPLY_MAX];
        size_t n = codec_encode_hello_reply(sequence, &greeting, reply);

        node_put_reply(node, number, STATUS_OK, reply, n);
}

static int node_expect(Node *node, uint64_t sequence, uint64_t *ret_number) {
        int r;

        r = connection_expect(&node->connection, sequence, ret_number);
        if (r < 0) {
                connection_give_up(&node->connection);
                return r;
        }

        node->ingest->stats.n_in_flight++;
        return 0;
}

/* What comes after bytes that are no frame means nothing: a last reply, behind those still owed. */
static void node_put_last_words(Node *node, int outcome) {
        Ingest *ingest = node->ingest;
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
        if (node_expect(node, 0, &number) == 0)
                node_put_answer(node, number, 0, &answer);
        node->connection.is_closing = true;
}

/* 0: *ret and *ret_ticket are set. NODE_DONE: there was nothing for the parent in this frame. */
enum {
        NODE_DONE = 1,
};
static int node_take(Node *node, const Frame *frame, Request *ret, Ticket *ret_ticket) {
        Ingest *ingest = node->ingest;
        Decoded *decoded = &ingest->decoded;
        uint64_t number;
        int r;

        r = codec_decode(&ingest->arena, frame, &node->connection.peer, ingest->config.string_max_bytes, decoded);
        connection_consume(&node->connection, frame);
        ingest->n_turn_bytes += frame->n_consumed + REQUEST_BYTES;
        node->is_full = false;
        if (r == CODEC_GARBAGE) {
                node_put_last_words(node, CONNECTION_MALFORMED);
                return NODE_DONE;
        }

        if (node_expect(node, decoded->sequence, &number) < 0)
                return NODE_DONE;

        if (r == CODEC_REFUSED) {
                node_put_answer(node, number, decoded->sequence, &decoded->refusal);
                return NODE_DONE;
        }
        if (decoded->request.kind == REQUEST_HELLO) {
                node_put_hello(node, number, decoded->sequence);
                return NODE_DONE;
        }

        *ret = decoded->request;
        ingest->lent_pidfd = ret->peer.pidfd;
        *ret_ticket = (Ticket){ node->place, table_generation(&ingest->table, node->place), number };
        return 0;
}

static int node_next(Node *node, Request *ret, Ticket *ret_ticket) {
        const IngestConfig *config = &node->ingest->config;
        Frame frame;
        int r;

        r = connection_peek(&node->connection, config->frame_max_bytes, config->in_flight_max, &frame);
        if (r == 0)
                r = node_take(node, &frame, ret, ret_ticket);
        else if (r == CONNECTION_TOO_LARGE || r == CONNECTION_MALFORMED)
                node_put_last_words(node, r);

        /* Its turn is over: others first. */
        if (++node->n_taken >= REQUESTS_PER_TURN)
                node_set_ready(node, false);

        node_settle(node);
        return r;
}

int ingest_next(Ingest *ingest, Request *ret, Ticket *ret_ticket) {
        int r;

        ingest_end_loan(ingest);
        r = fit_arena(ingest);
        if (r < 0)
                return r;

        while (!ingest->is_draining && ingest->n_turn_bytes < TURN_BYTES_MAX) {
                Node *node = TAILQ_FIRST(&ingest->ready);

                if (node && node_next(node, ret, ret_ticket) == 0)
                        return 0;
                if (!node && TAILQ_EMPTY(&ingest->unsent))
                        break;
                if (!node)
                        ingest_flush(ingest); /* what waited for room to answer may go on */
        }

        ingest->n_turn_bytes = 0;
        ingest_flush(ingest);
        ingest_wake(ingest);
        return INGEST_IDLE;
}

/* --- answers out --------------------------------------------------------------------------------- */

void ingest_answer(Ingest *ingest, Ticket ticket, const Answer *answer) {
        const Slot *slot;
        Node *node;

        node = table_find(&ingest->table, ticket.connection, ticket.generation);
        slot = node ? connection_find(&node->connection, ticket.number) : NULL;
        if (slot)
                node_put_answer(node, ticket.number, slot->sequence, answer);
}

void ingest_flush(Ingest *ingest) {
        Node *node;

        while ((node = TAILQ_FIRST(&ingest->unsent))) {
                if (node->is_waiting)
                        node_set_unsent(node, false); /* the loop says when there is room */
                else
                        node_send(node);
                node_settle(node);
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
                        node_settle(ingest->table.places[i].item);
}

bool ingest_is_idle(const Ingest *ingest) {
        if (ingest->stats.n_in_flight > 0)
                return false;

        for (size_t i = 0; i < ingest->table.n_places; i++) {
                const Node *node = ingest->table.places[i].item;

                if (node && connection_has_output(&node->connection))
                        return false;
        }

        return true;
}

const IngestStats *ingest_stats(const Ingest *ingest) {
        return &ingest->stats;
}
