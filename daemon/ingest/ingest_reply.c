/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/ingest_reply.h"

#include <assert.h>
#include <stdio.h>

#include "ingest/codec/codec.h"
#include "util/clock.h"

void ingest_reply_set_unsent(IngestClient *client, bool is_unsent) {
        if (client->is_unsent == is_unsent)
                return;

        client->is_unsent = is_unsent;
        if (is_unsent)
                TAILQ_INSERT_TAIL(&client->ingest->unsent, client, unsent);
        else
                TAILQ_REMOVE(&client->ingest->unsent, client, unsent);
}

static void put_reply(IngestClient *client, uint64_t number, Status status, const uint8_t *reply, size_t n) {
        const ReplySlot *slot = connection_find(&client->connection, number);

        assert(slot);
        turns_answered(&client->ingest->turns, &client->turn, slot->n_bytes);
        if (connection_reply(&client->connection, number, reply, n) < 0)
                connection_give_up(&client->connection);

        client->ingest->stats.n_in_flight--;
        client->ingest->stats.n_answers[status]++;
        ingest_reply_set_unsent(client, true);
}

void ingest_reply_answer(IngestClient *client, uint64_t number, uint64_t sequence, const Answer *answer) {
        uint8_t reply[CODEC_REPLY_MAX];
        size_t n = codec_encode_answer(sequence, answer, reply);

        put_reply(client, number, answer->status, reply, n);
}

void ingest_reply_hello(IngestClient *client, uint64_t number, uint64_t sequence) {
        const Ingest *ingest = client->ingest;
        const Greeting greeting = {
                .server = ingest->server.name, .node = ingest->server.node, .durable = ingest->server.durable,
                .frame_max_bytes = (uint32_t)ingest->config.frame_max_bytes, .in_flight_max = ingest->config.in_flight_max,
        };
        uint8_t reply[CODEC_REPLY_MAX];
        size_t n = codec_encode_hello_reply(sequence, &greeting, reply);

        put_reply(client, number, STATUS_OK, reply, n);
}

int ingest_reply_expect(IngestClient *client, uint64_t sequence, size_t n_bytes, uint64_t *ret_number) {
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

/* Bytes after a malformed frame cannot be understood: sends a last reply, after the replies that are still due. */
void ingest_reply_last_words(IngestClient *client, int outcome) {
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
        if (ingest_reply_expect(client, 0, CODEC_WORK_REQUEST, &number) == 0)
                ingest_reply_answer(client, number, 0, &answer);
        client->connection.is_closing = true;
}
