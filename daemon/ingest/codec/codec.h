/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Codec: protobuf on one side, Request and Answer on the other
 *
 * The codec's files are the only ones of the daemon that know the generated code. All memory of a request comes from
 * one arena of fixed size, so that no input makes decoding take more memory than was planned.
 */

#include <stdbool.h>
#include <stdint.h>

#include "ingest/codec/decoded.h"
#include "proto/frame.h"
#include "request/request.h"
#include "util/arena.h"

/* Arena bytes for each byte of a frame: enough for any document. Pages are touched only when needed. */
#define CODEC_ARENA_FACTOR 32U

#define CODEC_REPLY_MAX 1024U  /* bytes of one reply with its frame header */

enum {
        CODEC_REFUSED = 1, /* the request is not valid: `refusal` has the reason */
        CODEC_GARBAGE,     /* not a perfd request at all; *ret has no request */
};

/* Makes an arena, which may be zeroed, large enough for a frame. What is in the arena is lost if it grows. 0 or
 * -ENOMEM. */
int codec_fit_arena(Arena *arena, size_t frame_max_bytes);
/* Resets the arena; what *ret points to lives until the next call. */
int codec_decode(Arena *arena, const Frame *frame, const Peer *peer, DocumentLimits limits, Decoded *ret);

/* Formats the reply to hello. */
typedef struct Greeting {
        const char *server, *node;
        uint32_t frame_max_bytes, in_flight_max;
        bool durable;
} Greeting;

/* Both return the number of bytes written, the frame header included. */
size_t codec_encode_answer(uint64_t sequence, const Answer *answer, uint8_t ret[static CODEC_REPLY_MAX]);
size_t codec_encode_hello_reply(uint64_t sequence, const Greeting *greeting, uint8_t ret[static CODEC_REPLY_MAX]);
