/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Data that the decoder of a kind of request gets, for the codec's files. The decoders are rows of a table in
 * codec.c. */

#include <protobuf-c/protobuf-c.h>

#include "ingest/codec/decoded.h"
#include "util/arena.h"

typedef struct DecodeContext {
        Arena *arena; /* borrowed; memory for the request's data */
        DocumentLimits limits;
} DecodeContext;

/* Checks the message of one kind of request and fills its part of decoded->request, whose kind and peer are set. The
 * request may refer to the message: both live in the arena. 0, or REFUSED with decoded->refusal set. */
typedef int (*RequestDecode)(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);

/*
 * Parses the JSON object in a field, whose path is formatted. *ret_is_canonical: the text can be stored unchanged.
 * 0, or REFUSED with decoded->refusal set.
 */
int codec_decode_json(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *from,
                      const Value **ret, bool *ret_is_canonical, const char *path, ...)
        __attribute__((format(printf, 6, 7)));

/* codec_jobs.c */
int codec_decode_job_begin(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);
int codec_decode_mark(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);
int codec_decode_job_end(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);

/* codec_indicators.c */
#define SUBMIT_ITEMS_MAX 10000U /* indicators in one submission */
int codec_decode_submit(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);

/* codec_models.c */
#define REGISTER_MODELS_MAX 256U /* models registered together */
int codec_decode_register(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);
int codec_decode_unregister(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);

/* codec_pipelines.c */
int codec_decode_pipeline_report(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);
