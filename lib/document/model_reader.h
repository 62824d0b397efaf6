/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ModelReader: takes the members of a model's declaration
 *
 * Each function takes one member of an object, leaves *ret unchanged if the member is absent or null, and complains
 * of a member of another form. Texts and values are borrowed from the declaration. 0, or MODEL_INVALID with the
 * complaint: that of the first wrong member, after which nothing is taken, so that several calls need one check.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/indicator.h"
#include "value/value.h"

#define MODEL_NAMES_MAX 32U /* names in a list, such as compare_by */

enum {
        MODEL_INVALID = 1,
};

typedef struct ModelReader {
        Complaint *complaint;          /* borrowed */
        char path[COMPLAINT_PATH_MAX]; /* of the current object; "": the model */
        bool is_wrong;                 /* there is a complaint */
} ModelReader;

/* Returns 0, or MODEL_INVALID after a complaint. */
int model_reader_status(const ModelReader *reader);

/* Sets a complaint about the member `key` of the current object, or about the object itself (NULL). Returns
 * MODEL_INVALID. */
int model_reader_wrong(ModelReader *reader, const char *key, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* Complains of a member that is none of the keys. */
int model_reader_check_keys(ModelReader *reader, const Value *object, const char *const *keys, size_t n_keys);

/* Takes a text of 1 to n_max bytes on one line; a help text may have several lines. */
int model_reader_take_text(ModelReader *reader, const Value *object, const char *key, size_t n_max, const char **ret);
int model_reader_take_bool(ModelReader *reader, const Value *object, const char *key, bool *ret);
int model_reader_take_number(ModelReader *reader, const Value *object, const char *key, double *ret);
/* Takes the index of a word in `words`, of which items may be NULL. */
int model_reader_take_word(ModelReader *reader, const Value *object, const char *key, const char *const *words,
                           size_t n_words, unsigned *ret);
/* Takes a list of at most MODEL_NAMES_MAX names. */
int model_reader_take_names(ModelReader *reader, const Value *object, const char *key, const Value **ret);

/* Returns the index of the word, or n. */
size_t model_reader_find_word(const char *word, const char *const *words, size_t n);
/* True if the text has no control characters and no characters that YAML treats as line breaks. */
bool model_reader_is_line(const char *text);
