/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/codec/codec_echo.h"

#include "ingest/codec/refuse.h"
#include "proto/perfd.pb-c.h"

int codec_echo_decode(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message) {
        const Perfd__V1__Echo *from = (const Perfd__V1__Echo *)message;

        decoded->request.echo.text = from->text;
        return refuse_bad_text(&decoded->refusal, "echo.text", from->text, context->limits.string_bytes);
}
