/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Encodes the protocol by hand, so that tests can also send invalid data
 *
 * Messages are Buffers of encoded fields. put_message() moves a finished message into the enclosing message, and
 * put_object() adds a document.
 */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "proto/frame.h"
#include "util/buffer.h"

static inline void put_varint(Buffer *out, uint64_t v) {
        while (v >= 0x80) {
                buffer_putc(out, (char)(v | 0x80));
                v >>= 7;
        }
        buffer_putc(out, (char)v);
}

static inline void put_number(Buffer *out, unsigned field, uint64_t v) {
        put_varint(out, field << 3);
        put_varint(out, v);
}

static inline void put_double(Buffer *out, unsigned field, double v) {
        put_varint(out, field << 3 | 1);
        buffer_put(out, &v, sizeof(v));
}

static inline void put_bytes(Buffer *out, unsigned field, const void *bytes, size_t n) {
        put_varint(out, field << 3 | 2);
        put_varint(out, n);
        buffer_put(out, bytes, n);
}

static inline void put_text(Buffer *out, unsigned field, const char *text) {
        put_bytes(out, field, text, strlen(text));
}

static inline void put_message(Buffer *out, unsigned field, Buffer *message) {
        put_bytes(out, field, message->text, message->n);
        buffer_deinit(message);
}

/* --- perfd.proto --------------------------------------------------------------------------------- */

enum {
        FIELD_SEQUENCE = 1, FIELD_HELLO = 2, FIELD_JOB_BEGIN = 3, FIELD_JOB_END = 4, FIELD_SUBMIT = 5, FIELD_MARK = 6,
        FIELD_REGISTER = 7, FIELD_UNREGISTER = 8,
        FIELD_DOCUMENT = 4, /* field of an Indicator */
};

/* --- documents: Buffers of members, without the braces around them ------------------------------- */

/* json: any text, valid or not. */
static inline void put_member(Buffer *object, const char *key, const char *json) {
        buffer_printf(object, "%s\"%s\":%s", object->n > 0 ? "," : "", key, json);
}

/* text: as written between the quotes. */
static inline void put_member_string(Buffer *object, const char *key, const char *text) {
        put_member(object, key, "\"");
        buffer_puts(object, text);
        buffer_putc(object, '"');
}

static inline void put_member_int(Buffer *object, const char *key, int64_t v) {
        char text[32];

        (void)snprintf(text, sizeof(text), "%lld", (long long)v);
        put_member(object, key, text);
}

/* Infinity is written as a number beyond the range of doubles. */
static inline void put_member_double(Buffer *object, const char *key, double v) {
        char text[64];

        (void)snprintf(text, sizeof(text), __builtin_isinf(v) ? "%s1e999" : "%s%#.17g", v < 0 ? "-" : "",
                       __builtin_fabs(v));
        put_member(object, key, text);
}

static inline void put_member_object(Buffer *object, const char *key, Buffer *members) {
        put_member(object, key, "{");
        buffer_put(object, members->text ? members->text : "", members->n);
        buffer_putc(object, '}');
        buffer_deinit(members);
}

/* Moves the object into a field. */
static inline void put_object(Buffer *out, unsigned field, Buffer *members) {
        Buffer text = {};

        buffer_putc(&text, '{');
        buffer_put(&text, members->text ? members->text : "", members->n);
        buffer_putc(&text, '}');
        buffer_deinit(members);
        put_message(out, field, &text);
}

/* Makes a small document like those printed by scripts. Takes ownership of `result`; NULL: {"rate": 7.5}. */
static inline Buffer make_document(Buffer *result) {
        Buffer document = {}, parameters = {}, rate = {};

        put_member_int(&parameters, "reps", 30);
        put_member_string(&parameters, "dtype", "float32");
        put_member_double(&rate, "rate", 7.5);
        put_member_object(&document, "@parameters", &parameters);
        put_member_object(&document, "@result", result ? result : &rate);
        put_member_string(&document, "name", "PiMatmul");
        put_member_string(&document, "component", "tensorflow");
        buffer_deinit(&rate);
        return document;
}

/* Makes an Indicator. id: the byte that fills its id. */
static inline Buffer make_indicator(unsigned char id, Buffer *document) {
        Buffer indicator = {};
        char bytes[16];

        memset(bytes, id, sizeof(bytes));
        put_bytes(&indicator, 1, bytes, sizeof(bytes));
        put_object(&indicator, FIELD_DOCUMENT, document);
        return indicator;
}

static inline Buffer make_submit(uint64_t sequence, Buffer *document) {
        Buffer request = {}, submit = {}, indicator = make_indicator(1, document);

        put_message(&submit, 1, &indicator);
        put_number(&request, FIELD_SEQUENCE, sequence);
        put_message(&request, FIELD_SUBMIT, &submit);
        return request;
}

/* Moves the request into the stream, after its length. */
static inline void put_frame(Buffer *stream, Buffer *request) {
        uint8_t header[FRAME_HEADER_MAX];

        buffer_put(stream, header, frame_write_header(header, (uint32_t)request->n));
        buffer_put(stream, request->text, request->n);
        buffer_deinit(request);
}
