/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decodes the objects to which several indicators of a submission refer: software stacks and specifications. */

#include "ingest/codec/codec_decode.h"

typedef struct StackArray {
        const SubmissionStack *items; /* in the arena */
        size_t n;
} StackArray;

/* Parses and checks the stacks. 0, or REFUSED with decoded->refusal set. */
int codec_stacks_decode(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *stacks, size_t n,
                        StackArray *ret);

typedef struct SpecificationArray {
        const Value *const *items; /* objects in the arena */
        size_t n;
} SpecificationArray;

/* As above, of the specifications. */
int codec_stacks_decode_specifications(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *specifications,
                                       size_t n, SpecificationArray *ret);
