/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Placeholder: the {setting} in a command
 *
 * `{name}` stands for the value of a setting and `{{name}}` for the text {name}; `${name}` and other braces are left
 * unchanged. In a word, a value is inserted unchanged, since no shell reads the word. In a script for sh, a value
 * becomes a variable of the shell, assigned before the script, so that no value is read as a part of the script.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"

#define PLACEHOLDER_NAME_MAX 65 /* with NUL */

/* Values of the names. All borrowed. */
typedef struct Binding {
        const char *name;
        const char *text;
        bool is_used; /* set when a template contains the name */
} Binding;

typedef struct Bindings {
        Binding *all;
        size_t n;
} Bindings;

/* Error in a template: a sentence that ends with the fix. */
typedef struct PlaceholderError {
        char text[256];
} PlaceholderError;

enum {
        PLACEHOLDER_WRONG = 1,
};

/* Returns true if a name has 1 to 64 characters of [A-Za-z0-9_.:-], optionally after an @. */
bool placeholder_name_is_valid(const char *name);

/* Appends the word with its values. 0 or PLACEHOLDER_WRONG. */
int placeholder_fill(const char *word, Bindings *bindings, Buffer *out, PlaceholderError *ret_error);
/* Appends a script for sh. 0, PLACEHOLDER_WRONG or a negative errno. */
int placeholder_fill_script(const char *script, Bindings *bindings, Buffer *out, PlaceholderError *ret_error);
