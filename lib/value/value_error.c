/* SPDX-License-Identifier: Apache-2.0 */
#include "value/value_error.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "util/scoped.h"
#include "util/utf8.h"
#include "value/value.h"

_Static_assert(VALUE_DEPTH_MAX == 32, "the text names it");
static const char *const texts[] = {
        [VALUE_ERROR_CUT_OFF] = "the text is truncated",
        [VALUE_ERROR_NO_VALUE] = "expected a value",
        [VALUE_ERROR_NO_KEY] = "expected a key in double quotes",
        [VALUE_ERROR_NO_COLON] = "expected ':'",
        [VALUE_ERROR_NO_LIST_END] = "expected ',' or ']'",
        [VALUE_ERROR_NO_OBJECT_END] = "expected ',' or '}'",
        [VALUE_ERROR_NO_DIGIT] = "expected a digit",
        [VALUE_ERROR_LEADING_ZERO] = "a number has no leading zeros",
        [VALUE_ERROR_INTEGER_RANGE] = "an integer beyond 64 bits: print it with a decimal point, or as a string",
        [VALUE_ERROR_DOUBLE_RANGE] = "a number beyond 1.7976931348623157e308: print it as a string, or null",
        [VALUE_ERROR_ESCAPE] = "invalid escape: write a backslash as two",
        [VALUE_ERROR_NUL] = "strings may not contain \\u0000: remove it",
        [VALUE_ERROR_SURROGATE] = "unpaired surrogate: write both escapes, or the character itself",
        [VALUE_ERROR_CONTROL] = "control character in a string: write it as an escape such as \\n or \\u001b",
        [VALUE_ERROR_UTF8] = "not UTF-8: save the file as UTF-8",
        [VALUE_ERROR_KEY_TWICE] = "is given twice in this object: rename or remove one",
        [VALUE_ERROR_DEPTH] = "nested deeper than 32 levels: make it flatter",
        [VALUE_ERROR_NO_OBJECT] = "expected an object, in {braces}",
        [VALUE_ERROR_MORE] = "text after the object: send one document",
        [VALUE_ERROR_BYTE_ORDER_MARK] = "begins with a byte order mark: save it as UTF-8 without one",
        [VALUE_ERROR_UTF16] = "looks like UTF-16: save it as UTF-8",
};

/* Fixes, by the text found in place of a value, a key, a comma or a digit. */
static const struct {
        const char *found, *fix;
        ValueErrorCode only; /* 0: any error */
} fixes[] = {
        { "]", "remove the comma before it", VALUE_ERROR_NO_VALUE },
        { "}", "a value is missing before '}'", VALUE_ERROR_NO_VALUE },
        { "}", "remove the comma before it", VALUE_ERROR_NO_KEY },
        { "\"", "a comma is missing before it", 0 },
        { "'", "JSON has \"double quotes\", as Python's json.dumps() writes them", 0 },
        { "NaN", "JSON has no such number, print null instead", 0 },
        { "nan", "JSON has no such number, print null instead", 0 },
        { "Inf", "JSON has no such number, print null instead", 0 },
        { "inf", "JSON has no such number, print null instead", 0 },
        { ".", "a number begins with a digit, as in 0.5", VALUE_ERROR_NO_VALUE },
        { "+", "a number begins with a digit or -", VALUE_ERROR_NO_VALUE },
        { "True", "JSON writes true", VALUE_ERROR_NO_VALUE },
        { "False", "JSON writes false", VALUE_ERROR_NO_VALUE },
        { "None", "JSON writes null", VALUE_ERROR_NO_VALUE },
        { "#", "JSON has no comments, remove it", 0 },
        { "//", "JSON has no comments, remove it", 0 },
        { "/*", "JSON has no comments, remove it", 0 },
        { "", "an object, a list, a string, a number, true, false or null", VALUE_ERROR_NO_VALUE },
};

static const char *find_fix(const ValueError *error, const char *at, size_t n_left) {
        if (error->code < VALUE_ERROR_NO_VALUE || error->code > VALUE_ERROR_NO_DIGIT)
                return NULL;
        for (size_t i = 0; i < N_ELEMENTS(fixes); i++) {
                size_t n = strlen(fixes[i].found);

                if ((fixes[i].only == 0 || fixes[i].only == error->code) && n <= n_left && memcmp(at, fixes[i].found, n) == 0)
                        return fixes[i].fix;
        }
        return NULL;
}

void value_error_explain(ValueError *error, const char *text, size_t n) {
        const char *fix = find_fix(error, text + error->at, n - error->at);

        (void)snprintf(error->text, sizeof(error->text), "%s%s%s%s%s", error->path, error->path[0] ? ": " : "", texts[error->code],
                       fix ? ": " : "", fix ?: "");
}

static void append(char path[static VALUE_ERROR_PATH_MAX], const char *text) {
        size_t n = strlen(path);

        utf8_copy(path + n, VALUE_ERROR_PATH_MAX - n, text);
}

void value_error_prepend(ValueError *error, const char *key, size_t index) {
        char within[VALUE_ERROR_PATH_MAX], piece[32];

        (void)snprintf(piece, sizeof(piece), "[%zu]", index);
        memcpy(within, error->path, sizeof(within));
        error->path[0] = '\0';
        append(error->path, key ?: piece);
        append(error->path, within[0] && within[0] != '[' ? "." : "");
        append(error->path, within);
}
