/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pack: fields of a row set, one after the other in one block
 *
 * A field is the value of a column. The caller's thread packs fields; the writer unpacks them in the same order and
 * binds texts in place. Both sides are this process: the block is not a file format.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/buffer.h"

typedef enum FieldType {
        FIELD_NULL,
        FIELD_INTEGER,
        FIELD_REAL,
        FIELD_TEXT, /* terminated by NUL */
        FIELD_BLOB,
} FieldType;

typedef struct Field {
        FieldType type;
        int n; /* bytes of a text or blob, without the NUL */
        union {
                int64_t integer;
                double real;
                const char *text; /* borrowed; also the bytes of a blob. NULL in a FIELD_NULL */
        };
} Field;

/* Fields as two arguments: their array and its length. */
#define FIELDS(...) (const Field[]){ __VA_ARGS__ }, sizeof((const Field[]){ __VA_ARGS__ }) / sizeof(Field)

static inline Field field_i64(int64_t v) {
        return (Field){ .type = FIELD_INTEGER, .integer = v };
}

/* SQLite's integers are signed: a larger value becomes INT64_MAX. */
static inline Field field_u64(uint64_t v) {
        return field_i64(v > INT64_MAX ? INT64_MAX : (int64_t)v);
}

static inline Field field_double(double v) {
        return (Field){ .type = FIELD_REAL, .real = v };
}

static inline Field field_blob(const void *bytes, size_t n) {
        return (Field){ .type = FIELD_BLOB, .n = (int)n, .text = bytes };
}

static inline Field field_text(const char *text, size_t n) {
        return (Field){ .type = FIELD_TEXT, .n = (int)n, .text = text };
}

/* text NULL: null. */
static inline Field field_string(const char *text) {
        return text ? field_text(text, strlen(text)) : (Field){};
}

static inline Field field_buffer(const Buffer *buffer) {
        return field_text(buffer->text ? buffer->text : "", buffer->n);
}

/* 0: null. */
static inline Field field_id(int64_t id) {
        return id != 0 ? field_i64(id) : (Field){};
}

static inline Field field_if(bool is_there, Field field) {
        return is_there ? field : (Field){};
}

void pack_fields(Buffer *buffer, const Field *fields, size_t n);

/* Begin and end a text: in between, the caller appends the pieces of the text to the buffer. */
size_t pack_text_begin(Buffer *buffer);
void pack_text_end(Buffer *buffer, size_t begin);
/* Packs one text: what a statement appends to the buffer. */
#define PACK_TEXT(buffer, statement)                         \
        do {                                                 \
                size_t begin_ = pack_text_begin(buffer);     \
                statement;                                   \
                pack_text_end(buffer, begin_);               \
        } while (0)
/* As above; null without the condition. */
#define PACK_TEXT_IF(condition, buffer, statement)           \
        do {                                                 \
                if (condition)                               \
                        PACK_TEXT(buffer, statement);        \
                else                                         \
                        pack_fields(buffer, &(Field){}, 1);  \
        } while (0)

typedef struct Unpack {
        const char *p, *end; /* borrowed */
} Unpack;

/* Texts and blobs are borrowed from the block. */
Field pack_read(Unpack *unpack);
void pack_read_fields(Unpack *unpack, Field *ret, size_t n);
const void *pack_read_bytes(Unpack *unpack, size_t n);
