/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* ValueError: an error in a JSON text, its place and its fix */

#include <stddef.h>

typedef enum ValueErrorCode {
        VALUE_ERROR_CUT_OFF = 1,
        VALUE_ERROR_NO_VALUE, /* from here to NO_DIGIT: other text was found */
        VALUE_ERROR_NO_KEY,
        VALUE_ERROR_NO_COLON,
        VALUE_ERROR_NO_LIST_END,
        VALUE_ERROR_NO_OBJECT_END,
        VALUE_ERROR_NO_DIGIT,
        VALUE_ERROR_LEADING_ZERO,
        VALUE_ERROR_INTEGER_RANGE,
        VALUE_ERROR_DOUBLE_RANGE,
        VALUE_ERROR_ESCAPE,
        VALUE_ERROR_NUL,
        VALUE_ERROR_SURROGATE,
        VALUE_ERROR_CONTROL,
        VALUE_ERROR_UTF8,
        VALUE_ERROR_KEY_TWICE,
        VALUE_ERROR_DEPTH,
        VALUE_ERROR_NO_OBJECT,
        VALUE_ERROR_MORE,
        VALUE_ERROR_BYTE_ORDER_MARK,
        VALUE_ERROR_UTF16,
} ValueErrorCode;

#define VALUE_ERROR_PATH_MAX 200
#define VALUE_ERROR_TEXT_MAX 400

typedef struct ValueError {
        ValueErrorCode code;
        size_t at;                       /* offset in bytes of the wrong character */
        unsigned line, column;           /* place of the character, from 1; 0 after value_parse() */
        char path[VALUE_ERROR_PATH_MAX]; /* "@result.rates[2]"; "" for the value itself, and after value_parse() */
        char text[VALUE_ERROR_TEXT_MAX]; /* the path and a sentence with the fix */
} ValueError;

/* Sets the text of an error in a text of n bytes. The fix depends on the text at the place of the error. */
void value_error_explain(ValueError *error, const char *text, size_t n);
/* Prepends a key, or an index if key is NULL, to the path. */
void value_error_prepend(ValueError *error, const char *key, size_t index);
