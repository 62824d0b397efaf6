/* SPDX-License-Identifier: Apache-2.0 */
#include "json/record_image.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"

static const void *at(const void *object, size_t offset) {
        return (const char *)object + offset;
}

static void *at_mutable(void *object, size_t offset) {
        return (char *)object + offset;
}

/* --- the tables --------------------------------------------------------------------------------- */

static uint64_t hash_u64(uint64_t hash, uint64_t v) {
        return hash_bytes(hash, &v, sizeof(v));
}

static uint64_t hash_name(uint64_t hash, const char *name) {
        return hash_bytes(hash, name, strlen(name) + 1);
}

static uint64_t hash_record(uint64_t hash, const Record *record, bool is_item);

static uint64_t hash_field(uint64_t hash, const RecordField *field, bool is_item) {
        bool is_list = field->type == RECORD_LIST;

        assert(field->type != RECORD_STRING && !field->is_optional);
        assert(!is_item || !is_list);

        hash = hash_name(hash, field->name);
        hash = hash_u64(hash, field->type);
        hash = hash_u64(hash, field->offset);
        hash = hash_u64(hash, field->n);
        hash = hash_u64(hash, field->count);
        for (size_t i = 0; field->names && i < field->n; i++)
                hash = hash_name(hash, field->names[i]);
        return field->record ? hash_record(hash, field->record, is_item || is_list) : hash;
}

static uint64_t hash_record(uint64_t hash, const Record *record, bool is_item) {
        hash = hash_u64(hash, record->size);
        for (size_t i = 0; i < record->n_fields; i++)
                hash = hash_field(hash, &record->fields[i], is_item);
        return hash_u64(hash, record->n_fields);
}

void record_image_init(RecordImage *image, const Record *record) {
        *image = (RecordImage){ .record = record, .fingerprint = hash_record(HASH_BEGIN, record, false) };
}

/* --- writing ------------------------------------------------------------------------------------- */

/* Appends the items of the lists in the order of the fields. */
static void put_lists(const Record *record, const void *object, Buffer *out) {
        for (const RecordField *field = record->fields; field < record->fields + record->n_fields; field++)
                if (field->type == RECORD_RECORD)
                        put_lists(field->record, at(object, field->offset), out);
                else if (field->type == RECORD_LIST)
                        buffer_put(out, *(void *const *)at(object, field->offset),
                                   *(const size_t *)at(object, field->count) * field->record->size);
}

void record_image_put(const RecordImage *image, const void *object, Buffer *out) {
        buffer_put(out, &image->fingerprint, sizeof(image->fingerprint));
        buffer_put(out, object, image->record->size);
        put_lists(image->record, object, out);
}

/* --- reading ------------------------------------------------------------------------------------- */

typedef struct Bytes {
        const char *p;
        size_t n;
} Bytes;

static bool take_bytes(Bytes *from, size_t n, void *ret) {
        if (n > from->n)
                return false;
        memcpy(ret, from->p, n);
        from->p += n;
        from->n -= n;
        return true;
}

static int copy_fields(const Record *record, const void *raw, Bytes *rest, void *ret);

/* Copies one struct at a time into aligned memory, and from there its fields. */
static int copy_list(const RecordField *field, size_t n, Bytes *rest, void *ret) {
        size_t size = field->record->size;
        scoped(freep) char *raw = NULL, *items = NULL;

        if (n > field->n || n > rest->n / size)
                return RECORD_IMAGE_MALFORMED;
        if (n == 0)
                return 0;

        raw = malloc(size);
        items = calloc(n, size);
        if (!raw || !items)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) {
                int r;

                if (!take_bytes(rest, size, raw))
                        return RECORD_IMAGE_MALFORMED;
                r = copy_fields(field->record, raw, rest, items + i * size);
                if (r != 0)
                        return r;
        }
        *(void **)at_mutable(ret, field->offset) = TAKE(items);
        *(size_t *)at_mutable(ret, field->count) = n;
        return 0;
}

/* Returns the size of a field with a value of its own; 0 for a struct or a list. */
static size_t value_size(const RecordField *field) {
        switch (field->type) {
        case RECORD_BOOL:
        case RECORD_NAME:
                return 1;
        case RECORD_U32:
        case RECORD_I32:
        case RECORD_BITS:
                return sizeof(uint32_t);
        case RECORD_U64:
        case RECORD_I64:
                return sizeof(uint64_t);
        case RECORD_DOUBLE:
                return sizeof(double);
        case RECORD_TEXT:
                return field->n;
        case RECORD_COUNTS:
                return field->n * sizeof(uint64_t);
        case RECORD_STRING:
        case RECORD_RECORD:
        case RECORD_LIST:
                return 0;
        }
        return 0;
}

static bool is_value(const RecordField *field, const void *raw) {
        if (field->type == RECORD_BOOL)
                return *(const uint8_t *)raw <= 1;
        if (field->type == RECORD_NAME)
                return *(const uint8_t *)raw < field->n;
        return field->type != RECORD_TEXT || memchr(raw, '\0', field->n);
}

static int copy_fields(const Record *record, const void *raw, Bytes *rest, void *ret) {
        for (const RecordField *field = record->fields; field < record->fields + record->n_fields; field++) {
                const void *from = at(raw, field->offset);
                void *to = at_mutable(ret, field->offset);
                int r = 0;

                if (field->type == RECORD_RECORD)
                        r = copy_fields(field->record, from, rest, to);
                else if (field->type == RECORD_LIST)
                        r = copy_list(field, *(const size_t *)at(raw, field->count), rest, ret);
                else if (is_value(field, from))
                        memcpy(to, from, value_size(field));
                else
                        r = RECORD_IMAGE_MALFORMED;
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Fills a struct of zeros. */
static int parse(const RecordImage *image, Bytes from, void *ret) {
        size_t size = image->record->size;
        scoped(freep) char *raw = malloc(size);
        int r;

        if (!raw)
                return -ENOMEM;
        if (!take_bytes(&from, size, raw))
                return RECORD_IMAGE_MALFORMED;

        r = copy_fields(image->record, raw, &from, ret);
        return r == 0 && from.n > 0 ? RECORD_IMAGE_MALFORMED : r;
}

int record_image_parse(const RecordImage *image, const char *bytes, size_t n, void *ret) {
        scoped(freep) char *object = calloc(1, image->record->size);
        Bytes from = { bytes, n };
        uint64_t fingerprint;
        int r;

        if (!object)
                return -ENOMEM;
        if (!take_bytes(&from, sizeof(fingerprint), &fingerprint))
                return RECORD_IMAGE_MALFORMED;
        if (fingerprint != image->fingerprint)
                return RECORD_IMAGE_OTHER;

        r = parse(image, from, object);
        if (r == 0)
                memcpy(ret, object, image->record->size);
        else
                record_deinit(image->record, object);
        return r;
}
