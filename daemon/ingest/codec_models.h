/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decoders of models of indicators, for the table in codec.c. */

#include "ingest/codec_decode.h"

int codec_decode_register(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);
int codec_decode_unregister(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);
