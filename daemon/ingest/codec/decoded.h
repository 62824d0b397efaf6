/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decoded: the outcome of decoding a frame. */

#include <stddef.h>
#include <stdint.h>

#include "request/request.h"

/* Decoded.n_work of any request, and for each result. A model is stored before others are taken: a user has one at a
 * time. */
#define CODEC_WORK_REQUEST 512U
#define CODEC_WORK_RESULT 128U
#define CODEC_WORK_MODEL 32768U

typedef struct Decoded {
        uint64_t sequence; /* 0 if unreadable */
        Request request;   /* in the arena, except for `peer` */
        Answer refusal;    /* set when the request is refused */
        size_t n_work;     /* bytes of a request without results that cause as much work, besides those of the frame */
} Decoded;
