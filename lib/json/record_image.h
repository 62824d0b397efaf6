/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Image: the bytes of a struct of a record (record.h), for the next process on the same machine
 *
 * Putting an image copies memory, which costs a small part of formatting text. Its layout is that of the struct: a fingerprint of the
 * tables of the fields precedes it, so that a program with other tables refuses it. Structs with strings or optional members, and lists
 * inside lists, have no image.
 */

#include <stddef.h>
#include <stdint.h>

#include "json/record.h"
#include "util/buffer.h"

typedef struct RecordImage {
        const Record *record;
        uint64_t fingerprint; /* of the record's tables */
} RecordImage;

/* The record must outlive the image. */
void record_image_init(RecordImage *image, const Record *record);
/* Appends the image of a struct. */
void record_image_put(const RecordImage *image, const void *object, Buffer *out);

/*
 * Fills all of `ret`, which then owns its lists. Returns 0, or -ENOMEM, or one of the outcomes below. `ret` is written on success only.
 */
enum {
        RECORD_IMAGE_OTHER = 1, /* put by a program with other tables */
        RECORD_IMAGE_MALFORMED, /* truncated, or with a value out of range */
};
int record_image_parse(const RecordImage *image, const char *bytes, size_t n, void *ret);
