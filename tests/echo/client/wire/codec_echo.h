/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Encoder of echoes. */

#include "util/buffer.h"

/* Appends one frame, header included. 0 or -ENOMEM. */
int codec_encode_echo(uint64_t sequence, const char *text, Buffer *out);
