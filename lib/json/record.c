/* SPDX-License-Identifier: Apache-2.0 */
#include "json/record.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json/json_text.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/parse.h"

static const void *at(const void *object, size_t offset) {
        return (const char *)object + offset;
}

static void *at_mutable(void *object, size_t offset) {
        return (char *)object + offset;
}

/* --- writing ------------------------------------------------------------------------------------- */

/* Appends a string without checking its bytes: text of a record may be invalid UTF-8. */
static void put_text(const char *text, Buffer *out) {
        buffer_putc(out, '"');
        for (;;) {
                size_t n = strcspn(text, "\"\\");

                buffer_put(out, text, n);
                if (!text[n])
                        break;
                buffer_putc(out, '\\');
                buffer_putc(out, text[n]);
                text += n + 1;
        }
        buffer_putc(out, '"');
}

/* Appends `before`, the name in quotes, and `after`; NUL: nothing. Names come from tables in the program and need no
 * escapes. */
static void put_name(char before, const char *name, char after, Buffer *out) {
        size_t n = strlen(name);
        char *p = buffer_extend(out, n + 2 + (before != '\0') + (after != '\0'));

        if (!p)
                return;
        if (before)
                *p++ = before;
        *p++ = '"';
        memcpy(p, name, n);
        p[n] = '"';
        if (after)
                p[n + 1] = after;
}

static void put_key(const char *name, bool *is_first, Buffer *out) {
        put_name(*is_first ? '\0' : ',', name, ':', out);
        *is_first = false;
}

static void put_bits(const RecordField *field, uint32_t bits, Buffer *out) {
        char separator = '[';

        assert(field->n <= 32);
        for (size_t i = 0; i < field->n; i++) {
                if (!(bits & (1U << i)))
                        continue;
                put_name(separator, field->names[i], '\0', out);
                separator = ',';
        }
        buffer_puts(out, separator == '[' ? "[]" : "]");
}

static void put_counts(const RecordField *field, const uint64_t *counts, Buffer *out) {
        bool is_first = true;

        buffer_putc(out, '{');
        for (size_t i = 0; i < field->n; i++) {
                if (counts[i] == 0)
                        continue;
                put_key(field->names[i], &is_first, out);
                buffer_put_u64(out, counts[i]);
        }
        buffer_putc(out, '}');
}

static void put_list(const RecordField *field, const void *object, Buffer *out) {
        const char *items = *(char *const *)at(object, field->offset);
        size_t n = *(const size_t *)at(object, field->count);

        buffer_putc(out, '[');
        for (size_t i = 0; i < n; i++) {
                if (i > 0)
                        buffer_putc(out, ',');
                record_put(field->record, items + i * field->record->size, out);
        }
        buffer_putc(out, ']');
}

static bool is_zero(const RecordField *field, const void *object) {
        const void *value = at(object, field->offset);

        switch (field->type) {
        case RECORD_BOOL:
                return !*(const bool *)value;
        case RECORD_U32:
        case RECORD_BITS:
                return *(const uint32_t *)value == 0;
        case RECORD_I32:
                return *(const int32_t *)value == 0;
        case RECORD_U64:
        case RECORD_I64:
                return *(const uint64_t *)value == 0;
        case RECORD_DOUBLE:
                return *(const double *)value == 0;
        case RECORD_TEXT:
                return *(const char *)value == '\0';
        case RECORD_STRING:
                return !*(char *const *)value;
        case RECORD_NAME:
        case RECORD_COUNTS:
                return false;
        case RECORD_RECORD:
                return field->is_optional && !*(const bool *)at(object, field->has);
        case RECORD_LIST:
                return *(const size_t *)at(object, field->count) == 0;
        }
        return false;
}

static void put_value(const RecordField *field, const void *object, Buffer *out) {
        const void *value = at(object, field->offset);

        switch (field->type) {
        case RECORD_BOOL:
                buffer_puts(out, *(const bool *)value ? "true" : "false");
                break;
        case RECORD_U32:
                buffer_put_u64(out, *(const uint32_t *)value);
                break;
        case RECORD_I32:
                buffer_put_i64(out, *(const int32_t *)value);
                break;
        case RECORD_U64:
                buffer_put_u64(out, *(const uint64_t *)value);
                break;
        case RECORD_I64:
                buffer_put_i64(out, *(const int64_t *)value);
                break;
        case RECORD_DOUBLE:
                buffer_put_double(out, *(const double *)value);
                break;
        case RECORD_TEXT:
                assert(memchr(value, '\0', field->n));
                put_text(value, out);
                break;
        case RECORD_STRING:
                put_text(*(char *const *)value, out);
                break;
        case RECORD_NAME:
                assert(*(const uint8_t *)value < field->n);
                put_name('\0', field->names[*(const uint8_t *)value], '\0', out);
                break;
        case RECORD_BITS:
                put_bits(field, *(const uint32_t *)value, out);
                break;
        case RECORD_COUNTS:
                put_counts(field, value, out);
                break;
        case RECORD_RECORD:
                record_put(field->record, value, out);
                break;
        case RECORD_LIST:
                put_list(field, object, out);
                break;
        }
}

void record_put(const Record *record, const void *object, Buffer *out) {
        bool is_first = true;

        buffer_putc(out, '{');
        for (const RecordField *field = record->fields; field < record->fields + record->n_fields; field++) {
                if (is_zero(field, object))
                        continue;
                put_key(field->name, &is_first, out);
                put_value(field, object, out);
        }
        buffer_putc(out, '}');
}

int record_format(const Record *record, const void *object, char **ret) {
        scoped(buffer_deinit) Buffer out = {};
        char *text;

        record_put(record, object, &out);
        text = buffer_take(&out);
        if (!text)
                return -ENOMEM;

        *ret = text;
        return 0;
}

/* --- reading ------------------------------------------------------------------------------------- */

static int parse_object(const Record *record, JsonText text, void *object);

/* Returns true after a walk if the text was neither truncated nor malformed. */
static bool is_whole(const JsonWalk *walk, JsonText text, char closing) {
        return text.n > 1 && text.text[text.n - 1] == closing && !walk->is_broken;
}

static int parse_u64_text(JsonText text, uint64_t max, uint64_t *ret) {
        uint64_t v;

        if (!json_text_uint(text, &v) || v > max)
                return PARSE_MALFORMED;

        *ret = v;
        return 0;
}

static int parse_i64_text(JsonText text, int64_t min, int64_t max, int64_t *ret) {
        int64_t v;

        if (!json_text_int(text, &v) || v < min || v > max)
                return PARSE_MALFORMED;

        *ret = v;
        return 0;
}

static int parse_bool_text(JsonText text, bool *ret) {
        bool is_true = json_text_equals(text, (JsonText){ "true", 4 });

        if (!is_true && !json_text_equals(text, (JsonText){ "false", 5 }))
                return PARSE_MALFORMED;

        *ret = is_true;
        return 0;
}

/* Decodes a string of any length; caller frees *ret. */
static int parse_string(JsonText text, char **ret) {
        scoped(buffer_deinit) Buffer said = {};
        char *string;
        size_t n;

        if (json_text_kind(text) != JSON_KIND_STRING)
                return PARSE_MALFORMED;

        json_text_decode(text, &said);
        n = said.n;
        string = buffer_take(&said);
        if (!string)
                return -ENOMEM;
        if (strlen(string) != n) {
                free(string);
                return PARSE_MALFORMED;
        }

        *ret = string;
        return 0;
}

static int parse_text(const RecordField *field, JsonText text, char *ret) {
        scoped(freep) char *string = NULL;
        int r;

        r = parse_string(text, &string);
        if (r != 0)
                return r;
        if (strlen(string) >= field->n)
                return PARSE_MALFORMED;

        strcpy(ret, string);
        return 0;
}

/* Returns the index of a name, or field->n. */
static size_t name_find(const RecordField *field, JsonText text) {
        size_t i = 0;

        while (i < field->n && !json_text_is_string(text, field->names[i], strlen(field->names[i])))
                i++;
        return i;
}

static int parse_name(const RecordField *field, JsonText text, uint8_t *ret) {
        size_t i = name_find(field, text);

        if (i == field->n)
                return PARSE_MALFORMED;

        *ret = (uint8_t)i;
        return 0;
}

/* Reads a list of names as bits. Unknown names, from a later version, are skipped. */
static int parse_bits(const RecordField *field, JsonText text, uint32_t *ret) {
        JsonWalk walk = json_text_walk(text);
        JsonText key, value;
        uint32_t bits = 0;

        if (json_text_kind(text) != JSON_KIND_LIST)
                return PARSE_MALFORMED;
        while (json_text_walk_next(&walk, &key, &value)) {
                size_t i = name_find(field, value);

                bits |= i < field->n ? 1U << i : 0;
        }
        if (!is_whole(&walk, text, ']'))
                return PARSE_MALFORMED;

        *ret = bits;
        return 0;
}

static int parse_counts(const RecordField *field, JsonText text, uint64_t *ret) {
        JsonWalk walk = json_text_walk(text);
        JsonText key, value;

        if (json_text_kind(text) != JSON_KIND_OBJECT)
                return PARSE_MALFORMED;
        while (json_text_walk_next(&walk, &key, &value)) {
                size_t i = name_find(field, key);

                if (i < field->n && parse_u64_text(value, UINT64_MAX, &ret[i]) != 0)
                        return PARSE_MALFORMED;
        }
        return is_whole(&walk, text, '}') ? 0 : PARSE_MALFORMED;
}

static int parse_list(const RecordField *field, JsonText text, void *object) {
        char **items = at_mutable(object, field->offset);
        size_t *n = at_mutable(object, field->count), size = field->record->size, n_allocated = *n;
        JsonWalk walk = json_text_walk(text);
        JsonText key, value;
        int r;

        if (json_text_kind(text) != JSON_KIND_LIST)
                return PARSE_MALFORMED;
        while (json_text_walk_next(&walk, &key, &value)) {
                if (*n == field->n)
                        return PARSE_MALFORMED;
                if (array_reserve((void **)items, &n_allocated, *n + 1, size) < 0)
                        return -ENOMEM;

                memset(*items + *n * size, 0, size);
                (*n)++; /* count a malformed item, so that it is freed with the others */
                r = parse_object(field->record, value, *items + (*n - 1) * size);
                if (r != 0)
                        return r;
        }
        return is_whole(&walk, text, ']') ? 0 : PARSE_MALFORMED;
}

static int parse_member(const RecordField *field, JsonText text, void *object) {
        void *value = at_mutable(object, field->offset);
        uint64_t u = 0;
        int64_t i = 0;
        int r;

        switch (field->type) {
        case RECORD_BOOL:
                return parse_bool_text(text, value);
        case RECORD_U32:
                r = parse_u64_text(text, UINT32_MAX, &u);
                *(uint32_t *)value = (uint32_t)u;
                return r;
        case RECORD_I32:
                r = parse_i64_text(text, INT32_MIN, INT32_MAX, &i);
                *(int32_t *)value = (int32_t)i;
                return r;
        case RECORD_U64:
                return parse_u64_text(text, UINT64_MAX, value);
        case RECORD_I64:
                return parse_i64_text(text, INT64_MIN, INT64_MAX, value);
        case RECORD_DOUBLE:
                return json_text_double(text, value) ? 0 : PARSE_MALFORMED;
        case RECORD_TEXT:
                return parse_text(field, text, value);
        case RECORD_STRING:
                free(*(char **)value);
                *(char **)value = NULL;
                return parse_string(text, value);
        case RECORD_NAME:
                return parse_name(field, text, value);
        case RECORD_BITS:
                return parse_bits(field, text, value);
        case RECORD_COUNTS:
                return parse_counts(field, text, value);
        case RECORD_RECORD:
                if (field->is_optional)
                        *(bool *)at_mutable(object, field->has) = true;
                return parse_object(field->record, text, value);
        case RECORD_LIST:
                return parse_list(field, text, object);
        }
        return PARSE_MALFORMED;
}

/*
 * Finds the field of a key; NULL if the table has none. The search starts after the last field found, since members
 * are usually in table order.
 */
static const RecordField *field_find(const Record *record, JsonText key, size_t *next) {
        for (size_t i = 0; i < record->n_fields; i++) {
                const RecordField *field = &record->fields[(*next + i) % record->n_fields];

                if (!json_text_is_string(key, field->name, strlen(field->name)))
                        continue;
                *next = (size_t)(field - record->fields) + 1;
                return field;
        }
        return NULL;
}

static int parse_object(const Record *record, JsonText text, void *object) {
        JsonWalk walk = json_text_walk(text);
        JsonText key, value;
        size_t next = 0;
        int r;

        if (json_text_kind(text) != JSON_KIND_OBJECT)
                return PARSE_MALFORMED;
        while (json_text_walk_next(&walk, &key, &value)) {
                const RecordField *field = field_find(record, key, &next);

                r = field ? parse_member(field, value, object) : 0;
                if (r != 0)
                        return r;
        }
        return is_whole(&walk, text, '}') ? 0 : PARSE_MALFORMED;
}

int record_parse(const Record *record, const char *text, void *ret) {
        scoped(freep) void *object = calloc(1, record->size);
        int r;

        if (!object)
                return -ENOMEM;

        r = parse_object(record, json_text(text, strlen(text)), object);
        if (r != 0) {
                record_deinit(record, object);
                return r;
        }

        memcpy(ret, object, record->size);
        return 0;
}

void record_deinit(const Record *record, void *object) {
        for (const RecordField *field = record->fields; field < record->fields + record->n_fields; field++) {
                void *value = at_mutable(object, field->offset);

                if (field->type == RECORD_RECORD)
                        record_deinit(field->record, value);
                if (field->type == RECORD_LIST)
                        for (size_t i = 0; i < *(size_t *)at_mutable(object, field->count); i++)
                                record_deinit(field->record, *(char **)value + i * field->record->size);
                if (field->type == RECORD_STRING || field->type == RECORD_LIST) {
                        free(*(void **)value);
                        *(void **)value = NULL;
                }
                if (field->type == RECORD_LIST)
                        *(size_t *)at_mutable(object, field->count) = 0;
        }
}

/* --- images ---------------------------------------------------------------------------------------------- */

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
static void put_image_lists(const Record *record, const void *object, Buffer *out) {
        for (const RecordField *field = record->fields; field < record->fields + record->n_fields; field++)
                if (field->type == RECORD_RECORD)
                        put_image_lists(field->record, at(object, field->offset), out);
                else if (field->type == RECORD_LIST)
                        buffer_put(out, *(void *const *)at(object, field->offset),
                                   *(const size_t *)at(object, field->count) * field->record->size);
}

void record_image_put(const RecordImage *image, const void *object, Buffer *out) {
        buffer_put(out, &image->fingerprint, sizeof(image->fingerprint));
        buffer_put(out, object, image->record->size);
        put_image_lists(image->record, object, out);
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
static int parse_image(const RecordImage *image, Bytes from, void *ret) {
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

        r = parse_image(image, from, object);
        if (r == 0)
                memcpy(ret, object, image->record->size);
        else
                record_deinit(image->record, object);
        return r;
}
