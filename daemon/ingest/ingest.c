/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/ingest.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "ingest/codec.h"
#include "ingest/ingest_accept.h"
#include "ingest/ingest_state.h"

#define EVENTS_PER_TURN 64
/*
 * Limits the bytes that ingest_next() takes in one turn of the loop to a few milliseconds of work, so that no sample is late.
 */
#define TURN_BYTES_MAX (512U * 1024U)
#define REQUEST_BYTES 512U /* overhead of a request besides its bytes */

/* --- connections --------------------------------------------------------------------------------- */

static void client_set_unsent(IngestClient *client, bool is_unsent) {
        if (client->is_unsent == is_unsent)
                return;

        client->is_unsent = is_unsent;
        if (is_unsent)
                TAILQ_INSERT_TAIL(&client->ingest->unsent, client, unsent);
        else
                TAILQ_REMOVE(&client->ingest->unsent, client, unsent);
}

static void client_set_starved(IngestClient *client, bool is_starved) {
        if (client->is_starved == is_starved)
                return;

        client->is_starved = is_starved;
        if (is_starved)
                TAILQ_INSERT_TAIL(&client->ingest->starved, client, starved);
        else
                TAILQ_REMOVE(&client->ingest->starved, client, starved);
}

/* Charges the part of a buffer beyond the smallest size. False: the share is used up, and the charge is unchanged. */
static bool client_charge_input(IngestClient *client, size_t n_buffer) {
        size_t n = n_buffer > CONNECTION_IN_BYTES_MIN ? n_buffer : 0;

        if (n == client->input_charge.amount)
                return true;
        client->ingest->has_freed_input |= n < client->input_charge.amount;
        return shares_resize(&client->input_charge, n) == 0;
}

/* The parent may hold the last request until the store has room, longer than the connection lives. The pidfd must not be closed
 * meanwhile, since its number could be reused. */
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

        size_t n_unanswered, n_bytes;

        client_leave_pidfd(client);
        client_set_unsent(client, false);
        client_set_starved(client, false);
        (void)poller_set(&ingest->poller, client->connection.fd, client, client->events, 0);

        connection_table_remove(&ingest->table, client->place);
        ingest->stats.n_connections--;
        n_unanswered = connection_count_unanswered(&client->connection, &n_bytes);
        ingest->stats.n_in_flight -= n_unanswered;
        if (n_unanswered > 0)
                turns_answered(&ingest->turns, &client->turn, n_bytes);
        turns_leave(&ingest->turns, &client->turn);
        ingest->has_freed_input = true;
        shares_release(&client->input_charge);
        shares_release(&client->place_charge);

        connection_deinit(&client->connection);
        free(client);
}

static int client_listen(IngestClient *client) {
        const Connection *connection = &client->connection;
        bool is_reading = !connection->is_at_end && !connection->is_closing && !client->is_full && !client->is_starved &&
                          !client->ingest->is_draining;
        uint32_t events = (is_reading ? EPOLLIN : 0) | (client->is_waiting ? EPOLLOUT : 0);
        int r;

        r = poller_set(&client->ingest->poller, connection->fd, client, client->events, events);
        if (r == 0)
                client->events = events;
        return r;
}

/* Decides after each operation on a connection which events it waits for, or ends it. */
static void client_settle(IngestClient *client) {
        const IngestConfig *config = &client->ingest->config;
        Frame unused;
        int r;

        if (connection_is_over(&client->connection, config->frame_max_bytes) || client_listen(client) < 0) {
                client_free(client);
                return;
        }

        r = connection_peek(&client->connection, config->frame_max_bytes, config->in_flight_max, &unused);
        turns_set_ready(&client->ingest->turns, &client->turn, r != CONNECTION_NOTHING && r != CONNECTION_BUSY);
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

/* Lets clients that wait for a buffer try again after other clients released theirs. */
static void ingest_feed_starved(Ingest *ingest) {
        IngestClient *client, *next;

        if (!ingest->has_freed_input)
                return;
        ingest->has_freed_input = false;
        for (client = TAILQ_FIRST(&ingest->starved); client; client = next) {
                next = TAILQ_NEXT(client, starved);
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
        int n;

        (void)source, (void)fd, (void)revents;
        n = poller_take(&ingest->poller, events, EVENTS_PER_TURN);
        for (int i = 0; i < n; i++)
                client_serve(events[i].data.ptr, events[i].events);
        return n < 0 ? n : 0;
}

/* --- accepting ----------------------------------------------------------------------------------- */

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
        ingest_accept_peers(userdata);
        return 0;
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
                r = sd_event_add_io(ingest->event, &ingest->sources.poller, ingest->poller.fd, EPOLLIN, on_poller, ingest);
        if (r >= 0)
                r = sd_event_add_time_relative(ingest->event, &ingest->sources.backoff, CLOCK_MONOTONIC, 0, 0,
                                               on_backoff_end, ingest);
        if (r >= 0)
                r = sd_event_source_set_enabled(ingest->sources.backoff, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_defer(ingest->event, &ingest->sources.wake, on_wake, ingest);
        if (r >= 0)
                r = sd_event_source_set_enabled(ingest->sources.wake, SD_EVENT_OFF);
        if (r < 0)
                return r;

        (void)sd_event_source_set_description(ingest->sources.listen, "ingest-listen");
        (void)sd_event_source_set_description(ingest->sources.poller, "ingest-connections");
        (void)sd_event_source_set_exit_on_failure(ingest->sources.poller, true);
        (void)sd_event_source_set_description(ingest->sources.backoff, "ingest-backoff");
        (void)sd_event_source_set_description(ingest->sources.wake, "ingest-wake");
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
        ingest->lent_pidfd = ingest->kept_pidfd = ingest->poller.fd = -1;
        ingest->event = sd_event_ref(event);
        ingest->shares = shares;
        turns_init(&ingest->turns);
        TAILQ_INIT(&ingest->starved);
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
        sd_event_source_disable_unref(ingest->sources.listen);
        sd_event_source_disable_unref(ingest->sources.poller);
        sd_event_source_disable_unref(ingest->sources.backoff);
        sd_event_source_disable_unref(ingest->sources.wake);
        sd_event_unref(ingest->event);
        poller_deinit(&ingest->poller);
        listener_deinit(&ingest->listener);
        arena_deinit(&ingest->arena);
        connection_table_deinit(&ingest->table);
        turns_deinit(&ingest->turns);
        free(ingest);
        return NULL;
}

void ingest_configure(Ingest *ingest, const IngestConfig *config) {
        ingest->config = *config;

        for (size_t i = 0; i < ingest->table.n_places; i++)
                if (ingest->table.places[i].item) {
                        IngestClient *client = ingest->table.places[i].item;

                        client->connection.peer.is_admin = ingest_accept_judge(ingest, client->connection.fd, &client->connection.peer);
                }
}

/* --- incoming requests --------------------------------------------------------------------------- */

/*
 * Resizes the arena if frame_max_bytes has grown. ingest_configure() cannot do this, as the last request may still be in use.
 */
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
        const ReplySlot *slot = connection_find(&client->connection, number);

        assert(slot);
        turns_answered(&client->ingest->turns, &client->turn, slot->n_bytes);
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

static int client_expect(IngestClient *client, uint64_t sequence, size_t n_bytes, uint64_t *ret_number) {
        int r;

        r = connection_expect(&client->connection, sequence, n_bytes, ret_number);
        if (r < 0) {
                connection_give_up(&client->connection);
                return r;
        }

        client->ingest->stats.n_in_flight++;
        turns_taken(&client->ingest->turns, &client->turn, n_bytes);
        return 0;
}

/* The bytes after a malformed frame cannot be decoded: sends a last reply, after the replies that are still due. */
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
        if (client_expect(client, 0, REQUEST_BYTES, &number) == 0)
                client_put_answer(client, number, 0, &answer);
        client->connection.is_closing = true;
}

static IngestClient *client_of_turn(TurnEntry *entry) {
        return (IngestClient *)((char *)entry - offsetof(IngestClient, turn));
}

/* 0: *ret and *ret_ticket are set. CLIENT_DONE: the frame had no request for the parent. */
enum {
        CLIENT_DONE = 1,
};
static int client_take(IngestClient *client, const Frame *frame, Request *ret, Ticket *ret_ticket) {
        Ingest *ingest = client->ingest;
        Decoded *decoded = &ingest->decoded;
        size_t n_bytes = frame->n_consumed + REQUEST_BYTES;
        uint64_t number;
        int r;

        r = codec_decode(&ingest->arena, frame, &client->connection.peer, ingest->config.string_max_bytes, decoded);
        connection_consume(&client->connection, frame);
        (void)client_charge_input(client, client->connection.in_size);
        ingest->n_turn_bytes += n_bytes;
        client->is_full = false;
        if (r == CODEC_GARBAGE) {
                client_put_last_words(client, CONNECTION_MALFORMED);
                return CLIENT_DONE;
        }

        if (client_expect(client, decoded->sequence, n_bytes, &number) < 0)
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
        ingest_wake(ingest);
        return INGEST_IDLE;
}

/* --- outgoing answers ---------------------------------------------------------------------------- */

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
                        client_set_unsent(client, false); /* the event loop reports when the socket is writable */
                else
                        client_send(client);
                client_settle(client);
        }
}

void ingest_wake(Ingest *ingest) {
        if (turns_next(&ingest->turns) && !ingest->is_draining)
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
