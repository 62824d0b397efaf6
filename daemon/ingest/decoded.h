/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decoded: the outcome of decoding a frame. */

#include <stdint.h>

#include "request/request.h"

typedef struct Decoded {
        uint64_t sequence; /* 0 if unreadable */
        Request request;   /* in the arena, except for `peer` */
        Answer refusal;    /* set when the request is refused */
} Decoded;
