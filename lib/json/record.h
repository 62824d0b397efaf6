/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Record: a struct as JSON text, written and parsed by a table of its fields
 *
 * The persistent format of checkpoints and of the parts of a stored job. Members whose value is zero or empty are
 * omitted, and missing members are read as zero; unknown members are skipped, whatever their value. Each version can
 * therefore read what older and newer versions wrote. The meaning of a name must never change.
 *
 *   const Record window_record = RECORD(Window,
 *           RECORD_VALUE(Window, lost),
 *           RECORD_STRUCT(Window, begin, &totals_record));
 *
 * RECORD_OF() has an array of fields, for fields that rows make. The macros determine the type of a number from the
 * member. Only finite doubles are preserved.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"
#include "util/scoped.h"

typedef struct Record Record;

typedef enum RecordType {
        RECORD_BOOL,
        RECORD_U32,
        RECORD_I32,
        RECORD_U64,
        RECORD_I64,
        RECORD_DOUBLE,
        RECORD_TEXT,    /* char[n] */
        RECORD_STRING,  /* char *, owned; may be NULL */
        RECORD_NAME,    /* uint8_t, an index into `names` */
        RECORD_BITS,    /* uint32_t, a bit for each of `names` */
        RECORD_COUNTS,  /* uint64_t[n], with one name of `names` each */
        RECORD_RECORD,  /* an embedded struct */
        RECORD_LIST,    /* Type *, owned, with at most n items; the number of items is the size_t at offset `count` */
} RecordType;

typedef struct RecordField {
        const char *name;
        RecordType type;
        size_t offset;
        size_t n;                 /* size of a RECORD_TEXT, number of names, maximum number of items of a list */
        const char *const *names;
        const Record *record;     /* of a struct, or of the items of a list */
        size_t count;
        bool is_optional;         /* present only if the bool at offset `has` is true */
        size_t has;
} RecordField;

struct Record {
        size_t size; /* size of the struct */
        const RecordField *fields;
        size_t n_fields;
};

#define RECORD(Type, ...) RECORD_OF(Type, ((const RecordField[]){ __VA_ARGS__ }))
#define RECORD_OF(Type, fields) { sizeof(Type), fields, N_ELEMENTS(fields) }

#define RECORD_MEMBER(Type, member) (((Type *)0)->member)
#define RECORD_TYPE_OF(Type, member)                                                                            \
        _Generic(RECORD_MEMBER(Type, member), bool: RECORD_BOOL, uint32_t: RECORD_U32, int32_t: RECORD_I32,     \
                 uint64_t: RECORD_U64, int64_t: RECORD_I64, double: RECORD_DOUBLE, char *: RECORD_STRING)

#define RECORD_VALUE_AS(key, Type, member)                                                                             \
        { .name = key, .type = RECORD_TYPE_OF(Type, member), .offset = offsetof(Type, member) }
#define RECORD_VALUE(Type, member) RECORD_VALUE_AS(#member, Type, member)
#define RECORD_TEXT_AS(key, Type, member) \
        { .name = key, .type = RECORD_TEXT, .offset = offsetof(Type, member), .n = sizeof(RECORD_MEMBER(Type, member)) }
#define RECORD_TEXT_OF(Type, member) RECORD_TEXT_AS(#member, Type, member)
#define RECORD_NAME_OF(Type, member, n_names, name_array) \
        { .name = #member, .type = RECORD_NAME, .offset = offsetof(Type, member), .n = n_names, .names = name_array }
#define RECORD_BITS_OF(Type, member, n_names, name_array) \
        { .name = #member, .type = RECORD_BITS, .offset = offsetof(Type, member), .n = n_names, .names = name_array }
#define RECORD_COUNTS_OF(Type, member, name_array)                                                              \
        { .name = #member, .type = RECORD_COUNTS, .offset = offsetof(Type, member),                             \
          .n = sizeof(RECORD_MEMBER(Type, member)) / sizeof(uint64_t), .names = name_array }
#define RECORD_STRUCT_AS(key, Type, member, record_of) \
        { .name = key, .type = RECORD_RECORD, .offset = offsetof(Type, member), .record = record_of }
#define RECORD_STRUCT(Type, member, record_of) RECORD_STRUCT_AS(#member, Type, member, record_of)
#define RECORD_OPTIONAL_AS(key, Type, member, has_member, record_of)                                            \
        { .name = key, .type = RECORD_RECORD, .offset = offsetof(Type, member), .record = record_of,            \
          .is_optional = true, .has = offsetof(Type, has_member) }
#define RECORD_OPTIONAL(Type, member, has_member, record_of)                                                           \
        RECORD_OPTIONAL_AS(#member, Type, member, has_member, record_of)
#define RECORD_LIST_OF(Type, member, n_member, n_max, record_of)                                                \
        { .name = #member, .type = RECORD_LIST, .offset = offsetof(Type, member), .n = n_max,                   \
          .count = offsetof(Type, n_member), .record = record_of }

/* Appends the struct as a JSON object. */
void record_put(const Record *record, const void *object, Buffer *out);
/* As record_put(), into a new text. Returns 0 or -ENOMEM; caller frees *ret. */
int record_format(const Record *record, const void *object, char **ret);

/*
 * Fills all of `ret`, which then owns its strings and lists. Returns 0, -ENOMEM, or PARSE_MALFORMED if the text is
 * not an object, is truncated, or has a member whose value does not match its field. `ret` is written on success
 * only.
 */
int record_parse(const Record *record, const char *text, void *ret);
/* Frees the strings and lists of a struct. */
void record_deinit(const Record *record, void *object);

/*
 * Image: the bytes of a struct of a record, for the next process on the same machine
 *
 * Putting an image copies memory, which costs a small part of formatting text. Its layout is that of the struct: a
 * fingerprint of the tables of the fields precedes it, so that a program with other tables refuses it. Structs with
 * strings or optional members, and lists inside lists, have no image.
 */
typedef struct RecordImage {
        const Record *record;
        uint64_t fingerprint; /* of the record's tables */
} RecordImage;

/* The record must outlive the image. */
void record_image_init(RecordImage *image, const Record *record);
/* Appends the image of a struct. */
void record_image_put(const RecordImage *image, const void *object, Buffer *out);

/*
 * Fills all of `ret`, which then owns its lists. Returns 0, or -ENOMEM, or one of the outcomes below. `ret` is
 * written on success only.
 */
enum {
        RECORD_IMAGE_OTHER = 1, /* put by a program with other tables */
        RECORD_IMAGE_MALFORMED, /* truncated, or with a value out of range */
};
int record_image_parse(const RecordImage *image, const char *bytes, size_t n, void *ret);
