/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For the files of this module: put a message into a frame. */

#include "proto/perfd.pb-c.h"
#include "util/buffer.h"

/*
 * Appends a request as a frame with its header. body: a generated message of the type of body_case. Returns 0,
 * -ENOMEM or -EFBIG.
 */
int protocol_frame_put(uint64_t sequence, Perfd__V1__Request__BodyCase body_case, void *body, Buffer *out);
