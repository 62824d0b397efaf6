/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/ingest.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include "ingest/codec/codec.h"
#include "ingest/ingest_accept.h"
#include "ingest/ingest_parent.h"
#include "ingest/ingest_reply.h"
#include "ingest/ingest_state.h"
#include "util/clock.h"

#define EVENTS_PER_TURN 64
/* Limits of ingest_next() in one turn of the loop, so that no sample is late: requests handed out, and time for those that are refused. */
#define TURN_BYTES_MAX (512U * 1024U)
#define REFUSALS_NS (4 * NS_PER_MS)

/* --- connections --------------------------------------------------------------------------------- */

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

        ingest_parent_leave(client);
        ingest_reply_set_unsent(client, false);
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
        ingest->has_freed_input = true;
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
        if (client_is_over(client) || (client_listen(client) < 0 && client->large != LARGE_DECODING))
                client_free(client);
        else
                turns_set_ready(&client->ingest->turns, &client->turn, client_is_ready(client));
}

static void client_send(IngestClient *client) {
        client->is_waiting = connection_send(&client->connection) == CONNECTION_PENDING;
        ingest_reply_set_unsent(client, false);
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
 * Lets clients that wait for a buffer read, after others have freed theirs. A client whose user's share is still used up costs one
 * question, since a user may have thousands of these.
 */
static void ingest_feed_starved(Ingest *ingest) {
        size_t frame_max_bytes = ingest->config.frame_max_bytes;
        IngestClient *client, *next;

        if (!ingest->has_freed_input)
                return;
        ingest->has_freed_input = false;
        for (client = TAILQ_FIRST(&ingest->starved); client; client = next) {
                next = TAILQ_NEXT(client, starved);
                if (!shares_has_room(&client->input_charge, connection_input_size(&client->connection, frame_max_bytes, false)))
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

/* Hands a frame to the decoder. The connection's next frame waits for the outcome, as requests of a connection are taken in order. */
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

static int on_refused(sd_event_source *source, void *userdata) {
        return ingest_accept_close_refused(userdata) ? sd_event_source_set_enabled(source, SD_EVENT_ONESHOT) : 0;
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
                r = sd_event_add_io(ingest->event, &ingest->sources.decoder, ingest->large.decoder.done_fd, EPOLLIN, on_decoded, ingest);
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
        ingest_parent_init(ingest);
        ingest->poller.fd = ingest->large.decoder.done_fd = -1;
        ingest->event = sd_event_ref(event);
        ingest->shares = shares;
        turns_init(&ingest->turns);
        TAILQ_INIT(&ingest->starved);
        TAILQ_INIT(&ingest->large.waiting);
        TAILQ_INIT(&ingest->unsent);

        r = listener_init(&ingest->listener, listen_fd);
        if (r >= 0)
                r = poller_init(&ingest->poller);
        if (r >= 0)
                r = codec_fit_arena(&ingest->arena, config->frame_max_bytes);
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

        ingest_parent_deinit(ingest);
        while (ingest_accept_close_refused(ingest))
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
                        Connection *connection = &((IngestClient *)ingest->table.places[i].item)->connection;

                        connection->peer.is_admin = ingest_accept_judge(ingest, connection->fd, &connection->peer);
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
static int client_hand_over(IngestClient *client, int r, const Decoded *decoded, size_t n_consumed, Request *ret, Ticket *ret_ticket) {
        Ingest *ingest = client->ingest;
        size_t n_bytes = n_consumed + decoded->n_work;
        uint64_t number;

        ingest->n_turn_bytes += n_bytes;
        if (r == CODEC_GARBAGE) {
                ingest_reply_last_words(client, CONNECTION_MALFORMED);
                return CLIENT_DONE;
        }

        if (ingest_reply_expect(client, decoded->sequence, n_bytes, &number) < 0)
                return CLIENT_DONE;

        if (r == CODEC_REFUSED) {
                ingest_reply_answer(client, number, decoded->sequence, &decoded->refusal);
                return CLIENT_DONE;
        }
        if (decoded->request.kind == REQUEST_HELLO) {
                ingest_reply_hello(client, number, decoded->sequence);
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

        r = codec_decode(&ingest->arena, frame, &client->connection.peer, ingest->config.documents, &ingest->decoded);
        connection_consume(&client->connection, frame);
        (void)client_charge_input(client, client->connection.in_size);
        client->is_full = false;
        return client_hand_over(client, r, &ingest->decoded, frame->n_consumed, ret, ret_ticket);
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
                ingest_reply_last_words(client, r);

        client_settle(client);
        return r;
}

int ingest_next(Ingest *ingest, Request *ret, Ticket *ret_ticket) {
        uint64_t end_ns;
        int r;

        ingest_parent_end_last(ingest);
        if (ingest_parent_has_left_decoder(ingest))
                ingest_release_decoder(ingest);
        r = codec_fit_arena(&ingest->arena, ingest->config.frame_max_bytes); /* frame_size may have been raised */
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

        return client && ingest_parent_keep(client);
}

void ingest_release(Ingest *ingest) {
        if (ingest_parent_release(ingest))
                ingest_release_decoder(ingest);
}

/* --- outgoing answers ---------------------------------------------------------------------------- */

void ingest_answer(Ingest *ingest, Ticket ticket, const Answer *answer) {
        IngestClient *client = connection_table_find(&ingest->table, ticket.connection, ticket.generation);
        const ReplySlot *slot = client ? connection_find(&client->connection, ticket.number) : NULL;

        if (slot)
                ingest_reply_answer(client, ticket.number, slot->sequence, answer);
}

void ingest_flush(Ingest *ingest) {
        for (IngestClient *client; (client = TAILQ_FIRST(&ingest->unsent));) {
                if (client->is_waiting)
                        ingest_reply_set_unsent(client, false); /* the loop reports when there is room */
                else
                        client_send(client);
                client_settle(client);
        }
}

bool ingest_has_requests(Ingest *ingest) {
        return (turns_next(&ingest->turns) || ingest_parent_has_left_decoder(ingest)) && !ingest->is_draining;
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
