/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Object builder: builds a Value from members
 *
 * What a run's record is made of. Only what is known becomes a member: a NULL, an empty text or an empty object adds
 * none. Everything lives in the arena; once that is full, nothing is added any more, and the owner asks once at the
 * end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/indicator.h"
#include "util/arena.h"
#include "value/value.h"

typedef struct ObjectBuilder {
        Arena *arena; /* borrowed */
        Member *members;
        size_t n, n_max;
        bool failed; /* no memory, or too many members */
} ObjectBuilder;

/* Prepares an object of at most n_max members; a further member is a failure. */
void object_builder_init(ObjectBuilder *object, Arena *arena, size_t n_max);

/* Keys are borrowed, texts copied. */
void object_builder_put(ObjectBuilder *object, const char *key, const Value *value); /* NULL: nothing */
void object_builder_put_text(ObjectBuilder *object, const char *key, const char *text);
void object_builder_put_text_n(ObjectBuilder *object, const char *key, const char *text, size_t n);
void object_builder_put_int(ObjectBuilder *object, const char *key, int64_t v);
void object_builder_put_double(ObjectBuilder *object, const char *key, double v);
void object_builder_put_bool(ObjectBuilder *object, const char *key, bool v);
void object_builder_put_time(ObjectBuilder *object, const char *key, uint64_t realtime_ns); /* 0: nothing */
void object_builder_put_object(ObjectBuilder *object, const char *key, const ObjectBuilder *inner);
/* Puts a list of the words of a text with blanks between them. */
void object_builder_put_words(ObjectBuilder *object, const char *key, const char *words);

/* Returns the object in *ret. 0 or -ENOMEM. */
int object_builder_end(const ObjectBuilder *object, Value *ret);

/* Returns the object with a text under a key that is missing or null, else the object unchanged. 0 or -ENOMEM. */
int object_builder_complete(const Value *from, const char *key, const char *text, Arena *arena, const Value **ret);

/*
 * Given parameters: the parameters of all results of a program, in $PERFD_PARAMETERS
 *
 * The variable is a JSON object. A sweep sets it to the settings of each point, so that results of different settings
 * are not taken for repetitions of one measurement. What a document names itself comes first.
 */

#define GIVEN_PARAMETERS_VARIABLE "PERFD_PARAMETERS"

/* Returns the document with the parameters that it lacks, else the document unchanged. 0, INDICATOR_INVALID with a
 * complaint, or -ENOMEM. */
int object_builder_add_given(const Value *document, Arena *arena, const Value **ret, Complaint *ret_complaint);
