/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For the codec's files: the frame around a message. */

#include "proto/perfd.pb-c.h"
#include "util/buffer.h"

/* Appends a frame, header included. 0, -ENOMEM or -EFBIG. */
int codec_put_frame(const Perfd__V1__Request *request, Buffer *out);
