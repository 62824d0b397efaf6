/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/codec/message_scan.h"

#include <stdio.h>
#include <string.h>

/* The current field of one message, linked to the enclosing message. */
typedef struct Level {
        const struct Level *up;
        const ProtobufCMessageDescriptor *descriptor;
        const ProtobufCFieldDescriptor *field;
        size_t index; /* index in a repeated field */
} Level;

typedef struct Cursor {
        const uint8_t *p, *end;
} Cursor;

static size_t level_write_path(const Level *level, char *ret, size_t n_ret) {
        size_t n = level->up ? level_write_path(level->up, ret, n_ret) : 0;
        int k;

        if (n > 0 && n < n_ret - 1)
                ret[n++] = '.';

        if (level->field->label == PROTOBUF_C_LABEL_REPEATED)
                k = snprintf(ret + n, n_ret - n, "%s[%zu]", level->field->name, level->index);
        else
                k = snprintf(ret + n, n_ret - n, "%s", level->field->name);

        n += (size_t)k;
        return n < n_ret ? n : n_ret - 1;
}

static int cursor_read_varint(Cursor *cursor, uint64_t *ret) {
        uint64_t v = 0;

        for (unsigned shift = 0; shift < 64; shift += 7) {
                uint8_t byte;

                if (cursor->p == cursor->end)
                        return MESSAGE_SCAN_MALFORMED;

                byte = *cursor->p++;
                v |= (uint64_t)(byte & 0x7f) << shift;
                if (byte < 0x80) {
                        *ret = v;
                        return 0;
                }
        }

        return MESSAGE_SCAN_MALFORMED;
}

static int cursor_skip(Cursor *cursor, uint64_t n) {
        if (n > (size_t)(cursor->end - cursor->p))
                return MESSAGE_SCAN_MALFORMED;

        cursor->p += n;
        return 0;
}

/* Fields are numbered without gaps so far: usually no search is needed. */
static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *descriptor, uint64_t number) {
        if (number - 1 < descriptor->n_fields && descriptor->fields[number - 1].id == number)
                return &descriptor->fields[number - 1];
        if (number > UINT32_MAX)
                return NULL;

        return protobuf_c_message_descriptor_get_field(descriptor, (unsigned)number);
}

static int scan_fields(Level *level, Cursor cursor, char *ret_path);

static int scan_body(const Level *level, const uint8_t *bytes, size_t n, char *ret_path) {
        Level below = { .up = level };

        if (level->field->type == PROTOBUF_C_TYPE_STRING && memchr(bytes, '\0', n)) {
                (void)level_write_path(level, ret_path, MESSAGE_SCAN_PATH_MAX);
                return MESSAGE_SCAN_NUL;
        }
        if (level->field->type != PROTOBUF_C_TYPE_MESSAGE)
                return 0;

        below.descriptor = level->field->descriptor;
        return scan_fields(&below, (Cursor){ bytes, bytes + n }, ret_path);
}

static int scan_delimited(const Level *level, Cursor *cursor, char *ret_path) {
        const uint8_t *bytes;
        uint64_t n;
        int r;

        r = cursor_read_varint(cursor, &n);
        if (r != 0)
                return r;

        bytes = cursor->p;
        r = cursor_skip(cursor, n);
        if (r != 0 || !level->field)
                return r;

        return scan_body(level, bytes, (size_t)n, ret_path);
}

static int scan_field(const Level *level, Cursor *cursor, unsigned wire_type, char *ret_path) {
        uint64_t unused;

        switch (wire_type) {
        case PROTOBUF_C_WIRE_TYPE_VARINT:
                return cursor_read_varint(cursor, &unused);
        case PROTOBUF_C_WIRE_TYPE_64BIT:
                return cursor_skip(cursor, 8);
        case PROTOBUF_C_WIRE_TYPE_32BIT:
                return cursor_skip(cursor, 4);
        case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
                return scan_delimited(level, cursor, ret_path);
        default:
                return MESSAGE_SCAN_MALFORMED; /* the protocol has no groups */
        }
}

static int scan_fields(Level *level, Cursor cursor, char *ret_path) {
        const ProtobufCFieldDescriptor *before = NULL;
        uint64_t tag;
        int r = 0;

        while (cursor.p < cursor.end && r == 0) {
                r = cursor_read_varint(&cursor, &tag);
                if (r != 0)
                        return r;

                level->field = find_field(level->descriptor, tag >> 3);
                level->index = level->field && level->field == before ? level->index + 1 : 0;
                before = level->field;

                r = scan_field(level, &cursor, tag & 7, ret_path);
        }

        return r;
}

int message_scan(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t n,
                 char ret_path[static MESSAGE_SCAN_PATH_MAX]) {
        Level level = { .descriptor = descriptor };

        return scan_fields(&level, (Cursor){ bytes, bytes + n }, ret_path);
}
