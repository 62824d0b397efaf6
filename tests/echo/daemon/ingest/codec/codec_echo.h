/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decodes echoes, for the table in codec.c. */

#include "ingest/codec/codec_decode.h"

int codec_echo_decode(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);
