/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/protocol.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/wire/protocol_frame.h"

int protocol_frame_put(uint64_t sequence, Perfd__V1__Request__BodyCase body_case, void *body, Buffer *out) {
        Perfd__V1__Request request = PERFD__V1__REQUEST__INIT;
        ProtobufCBufferSimple packed = PROTOBUF_C_BUFFER_SIMPLE_INIT(((uint8_t[256]){}));
        uint8_t header[FRAME_HEADER_MAX];
        size_t n;

        request.sequence = sequence;
        request.body_case = body_case;
        request.hello = body; /* a union of pointers to messages */
        n = perfd__v1__request__get_packed_size(&request);
        if (n > UINT32_MAX)
                return -EFBIG;

        buffer_put(out, header, frame_write_header(header, (uint32_t)n));
        (void)perfd__v1__request__pack_to_buffer(&request, &packed.base);
        buffer_put(out, packed.data, packed.len);
        if (packed.len != n)
                out->failed = true;
        PROTOBUF_C_BUFFER_SIMPLE_CLEAR(&packed);
        return buffer_error(out);
}

int protocol_encode_hello(uint64_t sequence, const char *client, Buffer *out) {
        Perfd__V1__Hello hello = PERFD__V1__HELLO__INIT;

        hello.client = (char *)client;
        return protocol_frame_put(sequence, PERFD__V1__REQUEST__BODY_HELLO, &hello, out);
}

int protocol_encode_reload(uint64_t sequence, Buffer *out) {
        Perfd__V1__Reload reload = PERFD__V1__RELOAD__INIT;

        return protocol_frame_put(sequence, PERFD__V1__REQUEST__BODY_RELOAD, &reload, out);
}

int protocol_encode_forget(uint64_t sequence, uint32_t uid, uint64_t before_ms, bool copies, Buffer *out) {
        Perfd__V1__Forget forget = PERFD__V1__FORGET__INIT;

        forget.uid_given_case = PERFD__V1__FORGET__UID_GIVEN_UID;
        forget.uid = uid;
        forget.before_ms = before_ms;
        forget.copies = copies;
        return protocol_frame_put(sequence, PERFD__V1__REQUEST__BODY_FORGET, &forget, out);
}

static void reply_freep(Perfd__V1__Reply **p) {
        perfd__v1__reply__free_unpacked(*p, NULL);
}

const char *protocol_find_member(const char *path) {
        static const char *const requests[] = { "job_begin",  "job_end",         "mark",   "register",
                                                "unregister", "pipeline_report", "submit", "hello", "forget" };

        for (size_t i = 0; i < N_ELEMENTS(requests); i++) {
                size_t n = strlen(requests[i]);

                if (strncmp(path, requests[i], n) == 0 && (path[n] == '.' || path[n] == '\0'))
                        return path + n + (path[n] == '.');
        }
        return path;
}

int protocol_decode_reply(const Frame *frame, Reply *ret) {
        scoped(reply_freep) Perfd__V1__Reply *wire = NULL;
        const Perfd__V1__HelloReply *hello;

        wire = perfd__v1__reply__unpack(NULL, frame->n, frame->data);
        if (!wire)
                return PROTOCOL_MALFORMED;

        /* A newer perfd may send a status that this client does not know; all statuses but OK are refusals. */
        *ret = (Reply){ .sequence = wire->sequence, .status = STATUS_UNSUPPORTED };
        if ((unsigned)wire->status < N_STATUSES)
                ret->status = (Status)wire->status;
        snprintf(ret->complaint.path, sizeof(ret->complaint.path), "%s", wire->path);
        snprintf(ret->complaint.text, sizeof(ret->complaint.text), "%s", wire->message);

        ret->has_item = wire->item_given_case == PERFD__V1__REPLY__ITEM_GIVEN_ITEM;
        ret->item = ret->has_item ? wire->item : 0;
        ret->n_refused = wire->refused;
        hello = wire->hello;
        if (hello) {
                ret->frame_max_bytes = hello->frame_max_bytes;
                ret->in_flight_max = hello->in_flight_max;
                ret->durable = hello->durable;
                snprintf(ret->server, sizeof(ret->server), "%s", hello->server);
                snprintf(ret->node, sizeof(ret->node), "%s", hello->node);
        }
        if (wire->mark) {
                snprintf(ret->job, sizeof(ret->job), "%s", wire->mark->job);
                snprintf(ret->phase, sizeof(ret->phase), "%s", wire->mark->previous);
        }

        return 0;
}
