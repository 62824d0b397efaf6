/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/connection.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>

#include "util/scoped.h"

#define SLOTS_MIN 16U

void connection_init(Connection *connection, int fd, const Peer *peer) {
        *connection = (Connection){ .fd = fd, .peer = *peer, .in_wanted = CONNECTION_IN_BYTES_MIN };
}

void connection_deinit(Connection *connection) {
        for (uint64_t i = connection->first; i < connection->next; i++)
                free(connection->slots[i & (connection->n_slots - 1)].reply);

        free(connection->slots);
        free(connection->in);
        buffer_deinit(&connection->out);
        closep(&connection->fd);
        closep(&connection->peer.pidfd);
        *connection = (Connection){ .fd = -1, .peer.pidfd = -1 };
}

/* --- in ------------------------------------------------------------------------------------------ */

static size_t count_held(const Connection *connection) {
        return connection->in_end - connection->in_begin;
}

static void move_to_front(Connection *connection) {
        size_t n_held = count_held(connection);

        memmove(connection->in, connection->in + connection->in_begin, n_held);
        connection->in_begin = 0;
        connection->in_end = n_held;
}

size_t connection_input_size(const Connection *connection, size_t frame_max_bytes, bool is_fast) {
        size_t n_needed = 0;
        Frame unused;

        if (count_held(connection) > 0)
                (void)frame_read(connection->in + connection->in_begin, count_held(connection),
                                 frame_max_bytes, &unused, &n_needed);

        return MAX(is_fast ? connection->in_wanted : CONNECTION_IN_BYTES_MIN, n_needed);
}

static int make_room(Connection *connection, size_t n_wanted) {
        bool is_oversized;
        uint8_t *in;

        if (connection->in_begin > 0 && connection->in_size - connection->in_end < connection->in_size / 2)
                move_to_front(connection);

        /* The memory of a large frame is freed once the frame is consumed. */
        is_oversized = connection->in_size > MAX(n_wanted, CONNECTION_IN_BYTES) && connection->in_end < n_wanted;
        if (n_wanted > connection->in_size || is_oversized) {
                in = realloc(connection->in, n_wanted);
                if (!in)
                        return -ENOMEM;
                connection->in = in;
                connection->in_size = n_wanted;
        }

        return connection->in_end < connection->in_size ? 0 : CONNECTION_FULL;
}

/*
 * Enlarges the next buffer after a read that fills this one, and uses the small one after a read that leaves it
 * nearly empty.
 */
static void adapt_size(Connection *connection, size_t n_room, size_t n_read) {
        if (n_read == n_room)
                connection->in_wanted = MIN(connection->in_wanted * 4, CONNECTION_IN_BYTES);
        else if (n_read < connection->in_wanted / 8)
                connection->in_wanted = CONNECTION_IN_BYTES_MIN;
}

static void release_input(Connection *connection) {
        free(connection->in);
        connection->in = NULL;
        connection->in_begin = connection->in_end = connection->in_size = 0;
}

int connection_receive(Connection *connection, size_t n_wanted) {
        size_t n_room;
        ssize_t n;
        int r;

        r = make_room(connection, n_wanted);
        if (r != 0)
                return r;

        n_room = connection->in_size - connection->in_end;
        n = recv(connection->fd, connection->in + connection->in_end, n_room, MSG_DONTWAIT);
        if (n > 0) {
                connection->in_end += (size_t)n;
                adapt_size(connection, n_room, (size_t)n);
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR))
                connection->is_at_end = true;

        if (connection->in_end == 0)
                release_input(connection);
        return 0;
}

int connection_peek(const Connection *connection, size_t frame_max_bytes, unsigned in_flight_max, Frame *ret) {
        int r;

        if (connection->is_closing || connection->in_begin == connection->in_end)
                return CONNECTION_NOTHING;
        if (connection->next - connection->first >= in_flight_max ||
            connection->out.n - connection->n_out_sent >= CONNECTION_OUT_BYTES)
                return CONNECTION_BUSY;

        r = frame_read(connection->in + connection->in_begin, connection->in_end - connection->in_begin,
                       frame_max_bytes, ret, NULL);
        if (r == FRAME_PENDING)
                return CONNECTION_NOTHING;
        if (r == FRAME_TOO_LARGE)
                return CONNECTION_TOO_LARGE;
        if (r == FRAME_MALFORMED)
                return CONNECTION_MALFORMED;

        return 0;
}

void connection_consume(Connection *connection, const Frame *frame) {
        connection->in_begin += frame->n_consumed;
        if (connection->in_begin == connection->in_end)
                release_input(connection);
}

/* --- unanswered requests ------------------------------------------------------------------------- */

static ReplySlot *get_slot(const Connection *connection, uint64_t number) {
        return &connection->slots[number & (connection->n_slots - 1)];
}

static int grow_slots(Connection *connection) {
        size_t n_slots = connection->n_slots ? 2 * connection->n_slots : SLOTS_MIN;
        ReplySlot *slots;

        slots = calloc(n_slots, sizeof(*slots));
        if (!slots)
                return -ENOMEM;

        for (uint64_t i = connection->first; i < connection->next; i++)
                slots[i & (n_slots - 1)] = *get_slot(connection, i);

        free(connection->slots);
        connection->slots = slots;
        connection->n_slots = n_slots;
        return 0;
}

int connection_expect(Connection *connection, uint64_t sequence, size_t n_bytes, uint64_t *ret_number) {
        int r;

        if (connection->next - connection->first == connection->n_slots) {
                r = grow_slots(connection);
                if (r < 0)
                        return r;
        }

        *get_slot(connection, connection->next) = (ReplySlot){ .sequence = sequence, .n_bytes = n_bytes };
        *ret_number = connection->next++;
        return 0;
}

const ReplySlot *connection_find(const Connection *connection, uint64_t number) {
        const ReplySlot *slot;

        if (number < connection->first || number >= connection->next)
                return NULL;

        slot = get_slot(connection, number);
        return slot->reply ? NULL : slot;
}

size_t connection_count_unanswered(const Connection *connection, size_t *ret_n_bytes) {
        size_t n = 0;

        *ret_n_bytes = 0;
        for (uint64_t i = connection->first; i < connection->next; i++)
                if (!get_slot(connection, i)->reply) {
                        *ret_n_bytes += get_slot(connection, i)->n_bytes;
                        n++;
                }

        return n;
}

/* --- out ----------------------------------------------------------------------------------------- */

static void put_out(Connection *connection, const uint8_t *reply, size_t n) {
        connection->first++;
        if (!connection->is_deaf)
                buffer_put(&connection->out, reply, n);
}

static void put_out_waiting(Connection *connection) {
        while (connection->first < connection->next) {
                ReplySlot *slot = get_slot(connection, connection->first);

                if (!slot->reply)
                        return;

                put_out(connection, slot->reply, slot->n_reply);
                free(slot->reply);
        }
}

int connection_reply(Connection *connection, uint64_t number, const uint8_t *reply, size_t n) {
        ReplySlot *slot = get_slot(connection, number);

        assert(connection_find(connection, number));

        if (number == connection->first) {
                put_out(connection, reply, n);
                put_out_waiting(connection);
                return buffer_error(&connection->out);
        }

        slot->reply = malloc(n);
        if (!slot->reply)
                return -ENOMEM;

        memcpy(slot->reply, reply, n);
        slot->n_reply = n;
        return 0;
}

static void release_output(Connection *connection) {
        buffer_deinit(&connection->out);
        connection->n_out_sent = 0;
}

/* Limits the buffer for a peer that never reads to the end: bytes that were read already must not make the buffer
 * grow. */
static void drop_sent(Connection *connection) {
        Buffer *out = &connection->out;

        out->n -= connection->n_out_sent;
        memmove(out->text, out->text + connection->n_out_sent, out->n);
        connection->n_out_sent = 0;
}

int connection_send(Connection *connection) {
        while (connection_has_output(connection)) {
                ssize_t n;

                n = send(connection->fd, connection->out.text + connection->n_out_sent,
                         connection->out.n - connection->n_out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN) {
                        drop_sent(connection);
                        return CONNECTION_PENDING;
                }
                if (n < 0) {
                        connection->is_deaf = true;
                        break;
                }

                connection->n_out_sent += (size_t)n;
        }

        release_output(connection);
        return 0;
}

bool connection_has_output(const Connection *connection) {
        return connection->n_out_sent < connection->out.n;
}

/* --- end ----------------------------------------------------------------------------------------- */

void connection_give_up(Connection *connection) {
        connection->is_deaf = connection->is_closing = true;
        release_output(connection);
}

bool connection_is_over(const Connection *connection, size_t frame_max_bytes) {
        Frame unused;

        if (connection->first < connection->next)
                return false;
        if (connection->is_closing && connection->is_deaf)
                return true;
        if (!connection->is_closing &&
            (!connection->is_at_end ||
             connection_peek(connection, frame_max_bytes, UINT32_MAX, &unused) != CONNECTION_NOTHING))
                return false;

        return connection->is_deaf || !connection_has_output(connection);
}

/* --- the table of connections ---------------------------------------------------------------------- */

void connection_table_deinit(ConnectionTable *table) {
        free(table->places);
        *table = (ConnectionTable){};
}

int connection_table_fit(ConnectionTable *table, size_t n) {
        ConnectionPlace *places;

        if (n <= table->n_places)
                return 0;

        places = reallocarray(table->places, n, sizeof(*places));
        if (!places)
                return -ENOMEM;

        for (size_t i = table->n_places; i < n; i++)
                places[i] = (ConnectionPlace){ .generation = 1 };
        table->places = places;
        table->n_places = n;
        return 0;
}

/* Searches for a free place each time: connections are seldom made, and there are some thousands at most. */
int connection_table_add(ConnectionTable *table, void *item, uint32_t *ret_place) {
        assert(item);
        for (size_t i = 0; i < table->n_places; i++)
                if (!table->places[i].item) {
                        assert(table->places[i].generation > 0); /* a ticket of zeros names no request */
                        table->places[i].item = item;
                        *ret_place = (uint32_t)i;
                        return 0;
                }

        return CONNECTION_TABLE_FULL;
}

void connection_table_remove(ConnectionTable *table, uint32_t place) {
        assert(place < table->n_places && table->places[place].item);
        table->places[place].item = NULL;
        table->places[place].generation++;
}

uint32_t connection_table_generation(const ConnectionTable *table, uint32_t place) {
        assert(place < table->n_places && table->places[place].item);
        return table->places[place].generation;
}

void *connection_table_find(const ConnectionTable *table, uint32_t place, uint32_t generation) {
        if (place >= table->n_places || table->places[place].generation != generation)
                return NULL;

        return table->places[place].item;
}
