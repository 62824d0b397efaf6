/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decoders of what jobs send, for the table in codec.c: their begin, marks and end. */

#include "ingest/codec_decode.h"

int codec_decode_job_begin(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);
int codec_decode_mark(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);
int codec_decode_job_end(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);
