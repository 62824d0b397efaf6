/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a frame says, past the door. */

#include <stdint.h>

#include "request/request.h"

typedef struct Decoded {
        uint64_t sequence; /* 0 when it could not be read */
        Request request;   /* in the arena, but for `peer` */
        Answer refusal;    /* set by CODEC_REFUSED */
} Decoded;
