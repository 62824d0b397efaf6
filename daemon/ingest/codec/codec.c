/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/codec/codec.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ingest/codec/codec_decode.h"
#include "ingest/codec/refuse.h"
#include "ingest/codec/message_scan.h"
#include "proto/perfd.pb-c.h"
#include "util/utf8.h"
#include "value/value_parse.h"

/* --- requests ------------------------------------------------------------------------------------ */

int codec_decode_json(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *from,
                      const Value **ret, bool *ret_is_canonical, const char *path, ...) {
        char place[COMPLAINT_PATH_MAX];
        ValueError error;
        va_list args;
        int r;

        r = value_parse((const char *)from->data, from->len, context->arena, ret, ret_is_canonical, &error);
        if (r == VALUE_NO_ROOM)
                return refuse_no_room(&decoded->refusal);
        if (r == 0)
                return 0;
        va_start(args, path);
        (void)vsnprintf(place, sizeof(place), path, args);
        va_end(args);
        return refuse(&decoded->refusal, STATUS_INVALID, place, "is not valid JSON at byte %zu: %s", error.at,
                      error.text);
}

static int decode_hello(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message) {
        const Perfd__V1__Hello *from = (const Perfd__V1__Hello *)message;

        (void)context;
        assert(message->descriptor == &perfd__v1__hello__descriptor);
        decoded->request.hello.client = from->client;
        return refuse_bad_text(&decoded->refusal, "hello.client", from->client, JOB_TEXT_MAX - 1);
}

static int decode_reload(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message) {
        (void)decoded, (void)context;
        assert(message->descriptor == &perfd__v1__reload__descriptor);
        return 0;
}

static int decode_forget(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message) {
        const Perfd__V1__Forget *from = (const Perfd__V1__Forget *)message;

        (void)context;
        assert(message->descriptor == &perfd__v1__forget__descriptor);
        if (from->uid_given_case != PERFD__V1__FORGET__UID_GIVEN_UID)
                return refuse(&decoded->refusal, STATUS_INVALID, "forget.uid", "missing");
        if (from->before_ms > INT64_MAX)
                return refuse(&decoded->refusal, STATUS_INVALID, "forget.before_ms", "is not a time");
        decoded->request.forget.uid = from->uid;
        decoded->request.forget.before_ms = from->before_ms;
        decoded->request.forget.removes_copies = from->copies;
        return 0;
}

/* One row for each kind of request. */
static const struct {
        Perfd__V1__Request__BodyCase body;
        RequestKind kind;
        RequestDecode decode;
} decoders[] = {
        { PERFD__V1__REQUEST__BODY_HELLO, REQUEST_HELLO, decode_hello },
        { PERFD__V1__REQUEST__BODY_JOB_BEGIN, REQUEST_JOB_BEGIN, codec_decode_job_begin },
        { PERFD__V1__REQUEST__BODY_JOB_END, REQUEST_JOB_END, codec_decode_job_end },
        { PERFD__V1__REQUEST__BODY_SUBMIT, REQUEST_SUBMIT, codec_decode_submit },
        { PERFD__V1__REQUEST__BODY_MARK, REQUEST_MARK, codec_decode_mark },
        { PERFD__V1__REQUEST__BODY_REGISTER, REQUEST_REGISTER, codec_decode_register },
        { PERFD__V1__REQUEST__BODY_UNREGISTER, REQUEST_UNREGISTER, codec_decode_unregister },
        { PERFD__V1__REQUEST__BODY_RELOAD, REQUEST_RELOAD, decode_reload },
        { PERFD__V1__REQUEST__BODY_PIPELINE_REPORT, REQUEST_PIPELINE_REPORT, codec_decode_pipeline_report },
        { PERFD__V1__REQUEST__BODY_FORGET, REQUEST_FORGET, decode_forget },
};

_Static_assert(N_ELEMENTS(decoders) == N_REQUEST_KINDS, "every kind of request has a decoder");

static int decode_request(Decoded *decoded, const DecodeContext *context, const Perfd__V1__Request *from) {
        for (size_t i = 0; i < N_ELEMENTS(decoders); i++) {
                if (decoders[i].body != from->body_case)
                        continue;

                decoded->request.kind = decoders[i].kind;
                /* the body is a union of pointers to messages */
                return decoders[i].decode(decoded, context, &from->hello->base);
        }

        return refuse(&decoded->refusal, STATUS_UNSUPPORTED, "",
                      "perfd " PERFD_VERSION " does not know this kind of request");
}

/* The allocator of protobuf-c. */
typedef struct UnpackMemory {
        Arena *arena;
        bool is_full;
} UnpackMemory;

static void *unpack_alloc(void *userdata, size_t n) {
        UnpackMemory *memory = userdata;
        void *p = arena_alloc(memory->arena, n);

        memory->is_full |= !p;
        return p;
}

/* The arena is released as a whole. */
static void unpack_free(void *userdata, void *p) {
        (void)userdata;
        (void)p;
}

/*
 * Reads the sequence of a request that is not unpacked. Encoders write fields in order, so the sequence comes first
 * if present.
 */
static uint64_t peek_sequence(const Frame *frame) {
        uint64_t sequence = 0;

        if (frame->n == 0 || frame->data[0] != (1 << 3 | PROTOBUF_C_WIRE_TYPE_VARINT))
                return 0;

        for (size_t i = 1; i < frame->n && i <= 10; i++) {
                sequence |= (uint64_t)(frame->data[i] & 0x7f) << (7 * (i - 1));
                if (frame->data[i] < 0x80)
                        return sequence;
        }

        return 0;
}

int codec_fit_arena(Arena *arena, size_t frame_max_bytes) {
        size_t n = frame_max_bytes * CODEC_ARENA_FACTOR;
        Arena larger;
        int r;

        if (n <= arena->n_max)
                return 0;

        r = arena_init(&larger, n);
        if (r == 0) {
                arena_deinit(arena);
                *arena = larger;
        }
        return r;
}

int codec_decode(Arena *arena, const Frame *frame, const Peer *peer, DocumentLimits limits, Decoded *ret) {
        const DecodeContext context = { arena, limits };
        UnpackMemory memory = { arena, false };
        ProtobufCAllocator allocator = { unpack_alloc, unpack_free, &memory };
        Perfd__V1__Request *request;
        char path[MESSAGE_SCAN_PATH_MAX];
        int r;

        ret->n_work = CODEC_WORK_REQUEST;
        arena_reset(arena);

        r = message_scan(&perfd__v1__request__descriptor, frame->data, frame->n, path);
        if (r == MESSAGE_SCAN_MALFORMED)
                return CODEC_GARBAGE;
        if (r == MESSAGE_SCAN_NUL) {
                ret->sequence = peek_sequence(frame);
                (void)refuse(&ret->refusal, STATUS_INVALID, path, "contains a NUL byte");
                return CODEC_REFUSED;
        }

        request = perfd__v1__request__unpack(&allocator, frame->n, frame->data);
        if (!request && !memory.is_full)
                return CODEC_GARBAGE;
        if (!request) {
                ret->sequence = peek_sequence(frame);
                (void)refuse_no_room(&ret->refusal);
                return CODEC_REFUSED;
        }

        ret->sequence = request->sequence;
        ret->request = (Request){ .peer = *peer };
        return decode_request(ret, &context, request) == 0 ? 0 : CODEC_REFUSED;
}

/* --- replies ------------------------------------------------------------------------------------- */

/* Cuts a text where it stops being valid UTF-8: strict decoders would refuse the whole reply. */
static char *copy_text(char *ret, size_t n_ret, const char *text) {
        size_t n = 0, n_max, k;

        utf8_copy(ret, n_ret, text);
        n_max = strlen(ret);
        while (n < n_max && (k = utf8_length(ret + n, n_max - n)) > 0)
                n += k;

        ret[n] = '\0';
        return ret;
}

static size_t encode(const Perfd__V1__Reply *reply, uint8_t ret[static CODEC_REPLY_MAX]) {
        size_t n = perfd__v1__reply__get_packed_size(reply);
        size_t n_header = frame_write_header(ret, (uint32_t)n);

        assert(n_header + n <= CODEC_REPLY_MAX);
        return n_header + perfd__v1__reply__pack(reply, ret + n_header);
}

size_t codec_encode_answer(uint64_t sequence, const Answer *answer, uint8_t ret[static CODEC_REPLY_MAX]) {
        Perfd__V1__Reply reply = PERFD__V1__REPLY__INIT;
        Perfd__V1__MarkReply mark = PERFD__V1__MARK_REPLY__INIT;
        char path[COMPLAINT_PATH_MAX], message[COMPLAINT_TEXT_MAX];

        reply.sequence = sequence;
        reply.status = (Perfd__V1__Status)answer->status;
        reply.refused = answer->n_refused;
        if (answer->complaint.path[0])
                reply.path = copy_text(path, sizeof(path), answer->complaint.path);
        if (answer->complaint.text[0])
                reply.message = copy_text(message, sizeof(message), answer->complaint.text);
        if (answer->has_item) {
                reply.item_given_case = PERFD__V1__REPLY__ITEM_GIVEN_ITEM;
                reply.item = answer->item;
        }
        if (answer->job[0]) {
                mark.job = (char *)answer->job;
                mark.previous = (char *)answer->phase; /* checked when the mark was received */
                reply.mark = &mark;
        }

        return encode(&reply, ret);
}

size_t codec_encode_hello_reply(uint64_t sequence, const Greeting *greeting, uint8_t ret[static CODEC_REPLY_MAX]) {
        Perfd__V1__Reply reply = PERFD__V1__REPLY__INIT;
        Perfd__V1__HelloReply hello = PERFD__V1__HELLO_REPLY__INIT;
        char server[128], node[256];

        hello.server = copy_text(server, sizeof(server), greeting->server);
        hello.node = copy_text(node, sizeof(node), greeting->node);
        hello.frame_max_bytes = greeting->frame_max_bytes;
        hello.in_flight_max = greeting->in_flight_max;
        hello.durable = greeting->durable;
        reply.sequence = sequence;
        reply.hello = &hello;

        return encode(&reply, ret);
}

_Static_assert(CODEC_REPLY_MAX >= FRAME_HEADER_MAX + 128 + 256 + 64, "a reply to hello with all its texts fits");
_Static_assert(CODEC_REPLY_MAX >=
                       FRAME_HEADER_MAX + COMPLAINT_PATH_MAX + COMPLAINT_TEXT_MAX + JOB_ID_MAX + PHASE_NAME_MAX + 64,
               "every other one does");
