/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Codec of jobs: their begin, marks and end, taken out of their messages
 *
 * For codec.c only. Each checks a message and fills decoded->request. 0, or REFUSED with decoded->refusal.
 */

#include "ingest/decoded.h"
#include "proto/perfd.pb-c.h"
#include "util/arena.h"

int codec_take_job_begin(Decoded *decoded, Arena *arena, const Perfd__V1__JobBegin *from);
int codec_take_mark(Decoded *decoded, const Perfd__V1__Mark *from);
int codec_take_job_end(Decoded *decoded, const Perfd__V1__JobEnd *from);
