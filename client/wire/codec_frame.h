/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For the codec's files: the frame around a message. */

#include "proto/perfd.pb-c.h"
#include "util/buffer.h"

/* Appends a request with this body, a message of the generated code, as a frame with its header. 0, -ENOMEM or -EFBIG. */
int codec_frame_put(uint64_t sequence, Perfd__V1__Request__BodyCase body_case, void *body, Buffer *out);
