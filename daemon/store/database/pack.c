/* SPDX-License-Identifier: Apache-2.0 */
#include "store/database/pack.h"

#include <assert.h>
#include <limits.h>

/* Start of a packed field: the bytes of a text or blob and a NUL follow, unless the field is a number. */
typedef struct Head {
        FieldType type;
        uint32_t n;
} Head;

static void pack_field(Buffer *buffer, const Field *field) {
        bool is_number = field->type == FIELD_INTEGER || field->type == FIELD_REAL;
        Head head = { field->type, (uint32_t)field->n };
        size_t n = is_number ? sizeof(field->integer) : field->type == FIELD_NULL ? 0 : (size_t)head.n + 1;
        char *p = buffer_extend(buffer, sizeof(head) + n);

        assert(field->n >= 0);
        if (!p)
                return;
        memcpy(p, &head, sizeof(head));
        p += sizeof(head);
        if (is_number)
                memcpy(p, &field->integer, n);
        else if (n > 0) {
                memcpy(p, field->text, head.n);
                p[head.n] = '\0';
        }
}

void pack_fields(Buffer *buffer, const Field *fields, size_t n) {
        for (size_t i = 0; i < n; i++)
                pack_field(buffer, &fields[i]);
}

size_t pack_text_begin(Buffer *buffer) {
        buffer_put(buffer, &(Head){ .type = FIELD_TEXT }, sizeof(Head));
        return buffer->n;
}

void pack_text_end(Buffer *buffer, size_t begin) {
        Head head = { .type = FIELD_TEXT };

        /* After a failed append, `begin` may lie beyond the buffer. */
        if (buffer->failed)
                return;
        assert(begin >= sizeof(head) && begin <= buffer->n);
        if (buffer->n - begin > INT_MAX) {
                buffer->failed = true;
                return;
        }

        head.n = (uint32_t)(buffer->n - begin);
        memcpy(buffer->text + begin - sizeof(head), &head, sizeof(head));
        buffer_putc(buffer, '\0');
}

const void *pack_read_bytes(Unpack *unpack, size_t n) {
        const char *bytes = unpack->p;

        assert((size_t)(unpack->end - unpack->p) >= n);
        unpack->p += n;
        return bytes;
}

Field pack_read(Unpack *unpack) {
        Field field = {};
        Head head;

        memcpy(&head, pack_read_bytes(unpack, sizeof(head)), sizeof(head));
        field.type = head.type;
        field.n = (int)head.n;
        if (head.type == FIELD_INTEGER || head.type == FIELD_REAL)
                memcpy(&field.integer, pack_read_bytes(unpack, sizeof(field.integer)), sizeof(field.integer));
        else if (head.type != FIELD_NULL)
                field.text = pack_read_bytes(unpack, (size_t)head.n + 1);
        return field;
}

void pack_read_fields(Unpack *unpack, Field *ret, size_t n) {
        for (size_t i = 0; i < n; i++)
                ret[i] = pack_read(unpack);
}
