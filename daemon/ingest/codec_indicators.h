/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decoder of submissions, for the table in codec.c. */

#include "ingest/codec_decode.h"

#define SUBMIT_ITEMS_MAX 10000U /* indicators in one submission */

int codec_decode_submit(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message);
