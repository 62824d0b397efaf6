/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Encodes echoes. */

#include "util/buffer.h"

/* Appends one frame, including its header. Returns 0 or -ENOMEM. */
int protocol_echo_encode(uint64_t sequence, const char *text, Buffer *out);
