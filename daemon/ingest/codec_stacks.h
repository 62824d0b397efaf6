/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decodes the software stacks of a submission. */

#include "ingest/codec_decode.h"

typedef struct StackArray {
        const SubmissionStack *items; /* in the arena */
        size_t n;
} StackArray;

/* Parses and checks the stacks. 0, or REFUSED with decoded->refusal set. */
int codec_stacks_decode(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *stacks, size_t n,
                        StackArray *ret);
