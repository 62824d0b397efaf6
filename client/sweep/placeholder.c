/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/placeholder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "text/text.h"
#include "util/utf8.h"

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-"
#define VARIABLE "perfd_setting_"

#define refuse(error, ...) (utf8_format((error)->text, sizeof((error)->text), __VA_ARGS__), PLACEHOLDER_WRONG)

/* Returns the length of the name at the start of `text`, or 0. */
static size_t name_length(const char *text) {
        size_t n_at = *text == '@', n = strspn(text + n_at, NAME_CHARACTERS);

        return n > 0 && n_at + n < PLACEHOLDER_NAME_MAX ? n_at + n : 0;
}

bool placeholder_name_is_valid(const char *name) {
        size_t n = name_length(name);

        return n > 0 && name[n] == '\0';
}

typedef struct TemplatePart {
        const char *text;
        size_t n;
        bool is_name; /* a placeholder, to be replaced by its value */
} TemplatePart;

/* Returns the placeholder or the single character at *at, and moves *at behind that part. */
static TemplatePart next_part(const char **at) {
        const char *p = *at;
        TemplatePart part = { .text = p, .n = 1 };
        size_t n;

        if (p[0] == '$' && p[1] == '{')
                part.n = 2;
        else if (p[0] == '{' && p[1] == '{' && (n = name_length(p + 2)) > 0 && p[2 + n] == '}' && p[3 + n] == '}') {
                *at = p + n + 4;
                return (TemplatePart){ .text = p + 1, .n = n + 2 };
        } else if (p[0] == '{' && (n = name_length(p + 1)) > 0 && p[1 + n] == '}') {
                *at = p + n + 2;
                return (TemplatePart){ .text = p + 1, .n = n, .is_name = true };
        }

        *at = p + part.n;
        return part;
}

static int find(Bindings *bindings, const TemplatePart *part, size_t *ret, PlaceholderError *error) {
        for (size_t i = 0; i < bindings->n; i++) {
                if (strlen(bindings->all[i].name) != part->n || memcmp(bindings->all[i].name, part->text, part->n) != 0)
                        continue;
                bindings->all[i].is_used = true;
                *ret = i;
                return 0;
        }

        return refuse(error, "{%.*s} is not a setting: add it to settings, or write {{%.*s}} for literal text",
                      (int)part->n, part->text, (int)part->n, part->text);
}

int placeholder_fill(const char *word, Bindings *bindings, Buffer *out, PlaceholderError *ret_error) {
        while (*word) {
                TemplatePart part = next_part(&word);
                size_t i;

                if (!part.is_name) {
                        buffer_put(out, part.text, part.n);
                        continue;
                }
                if (find(bindings, &part, &i, ret_error) != 0)
                        return PLACEHOLDER_WRONG;
                buffer_puts(out, bindings->all[i].text);
        }

        return 0;
}

/* --- scripts -------------------------------------------------------------------------------------- */

/* Quoting state of a script, which decides how a variable is written. */
typedef enum Quote {
        QUOTE_NONE,
        QUOTE_SINGLE,
        QUOTE_DOUBLE,
        QUOTE_COMMENT,
} Quote;

static Quote quote_after(Quote quote, char c, char before) {
        switch (quote) {
        case QUOTE_NONE:
                /* strchr() also matches NUL, which stands for the start of the script */
                if (c == '#' && strchr(" \t\n;&|(", before))
                        return QUOTE_COMMENT;
                return c == '\'' ? QUOTE_SINGLE : c == '"' ? QUOTE_DOUBLE : quote;
        case QUOTE_SINGLE:
                return c == '\'' ? QUOTE_NONE : quote;
        case QUOTE_DOUBLE:
                return c == '"' ? QUOTE_NONE : quote;
        case QUOTE_COMMENT:
                return c == '\n' ? QUOTE_NONE : quote;
        }

        return quote;
}

static int put_variable(const TemplatePart *part, Quote quote, Bindings *bindings, bool *used, Buffer *body,
                        PlaceholderError *error) {
        size_t i;

        if (quote == QUOTE_COMMENT) {
                buffer_printf(body, "{%.*s}", (int)part->n, part->text);
                return 0;
        }
        if (find(bindings, part, &i, error) != 0)
                return PLACEHOLDER_WRONG;
        if (quote == QUOTE_SINGLE)
                return refuse(error,
                              "{%.*s} is within single quotes, where the shell does not expand it: use double "
                              "quotes, or none",
                              (int)part->n, part->text);

        used[i] = true;
        buffer_printf(body, quote == QUOTE_DOUBLE ? "${" VARIABLE "%zu}" : "\"${" VARIABLE "%zu}\"", i);
        return 0;
}

static int fill_body(const char *script, Bindings *bindings, bool *used, Buffer *body, PlaceholderError *error) {
        Quote quote = QUOTE_NONE;
        char before = '\0';

        while (*script) {
                TemplatePart part;

                if (*script == '\\' && script[1] && (quote == QUOTE_NONE || quote == QUOTE_DOUBLE)) {
                        buffer_put(body, script, 2);
                        script += 2;
                        before = 'x';
                        continue;
                }

                part = next_part(&script);
                if (part.is_name) {
                        if (put_variable(&part, quote, bindings, used, body, error) != 0)
                                return PLACEHOLDER_WRONG;
                } else
                        buffer_put(body, part.text, part.n);
                quote = part.is_name ? quote : quote_after(quote, part.text[0], before);
                before = part.text[part.n - 1];
        }

        return 0;
}

int placeholder_fill_script(const char *script, Bindings *bindings, Buffer *out, PlaceholderError *ret_error) {
        scoped(freep) bool *used = calloc(bindings->n + 1, sizeof(*used));
        scoped(buffer_deinit) Buffer body = {};

        if (!used)
                return -ENOMEM;
        if (fill_body(script, bindings, used, &body, ret_error) != 0)
                return PLACEHOLDER_WRONG;

        for (size_t i = 0; i < bindings->n; i++) {
                if (!used[i])
                        continue;
                buffer_printf(out, VARIABLE "%zu=", i);
                text_put_word(out, bindings->all[i].text);
                buffer_puts(out, "; ");
        }
        if (buffer_error(&body) < 0)
                return -ENOMEM;
        buffer_put(out, body.text, body.n);
        return 0;
}
