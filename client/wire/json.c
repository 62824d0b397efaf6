/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/json.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Two of jansson's constructors, which nobody here calls, have the names of our writer's functions. */
#define json_string jansson_json_string
#define json_null jansson_json_null
#include <jansson.h>
#undef json_string
#undef json_null

#include "util/utf8.h"

void json_reader_init(JsonReader *reader, const char *text, size_t n) {
        *reader = (JsonReader){ .text = text, .n = n, .line = 1, .column = 1 };
}

/* The densest texts, "0 0 …" and [[[[""]]]], make 32 bytes out of two. */
size_t json_arena_size(size_t n) {
        return 65536 + 16 * n;
}

static void reader_advance(JsonReader *reader, size_t n) {
        for (size_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char)reader->text[reader->at + i];

                if (c == '\n') {
                        reader->line++;
                        reader->column = 1;
                } else if ((c & 0xc0) != 0x80)
                        reader->column++;
        }

        reader->at += n;
}

static void reader_skip_blanks(JsonReader *reader) {
        while (reader->at < reader->n && memchr(" \t\r\n", reader->text[reader->at], 4))
                reader_advance(reader, 1);
}

static int from_json(json_t *json, unsigned depth, Arena *arena, Value *ret);

static int list_from_json(json_t *json, unsigned depth, Arena *arena, Value *ret) {
        size_t n = json_array_size(json);
        Value *items;
        int r;

        items = arena_alloc(arena, n * sizeof(*items));
        if (!items)
                return JSON_TOO_LARGE;

        for (size_t i = 0; i < n; i++) {
                r = from_json(json_array_get(json, i), depth + 1, arena, &items[i]);
                if (r != 0)
                        return r;
        }

        *ret = (Value){ .type = VALUE_LIST, .items = items, .n_items = n };
        return 0;
}

static int object_from_json(json_t *json, unsigned depth, Arena *arena, Value *ret) {
        size_t n = json_object_size(json), i = 0;
        Member *members;
        int r;

        members = arena_alloc(arena, n * sizeof(*members));
        if (!members)
                return JSON_TOO_LARGE;

        for (void *at = json_object_iter(json); at; at = json_object_iter_next(json, at), i++) {
                const char *key = json_object_iter_key(at);

                members[i].key = arena_strndup(arena, key, strlen(key));
                if (!members[i].key)
                        return JSON_TOO_LARGE;
                r = from_json(json_object_iter_value(at), depth + 1, arena, &members[i].value);
                if (r != 0)
                        return r;
        }

        *ret = (Value){ .type = VALUE_OBJECT, .members = members, .n_members = n };
        return 0;
}

static int string_from_json(json_t *json, Arena *arena, Value *ret) {
        const char *text = arena_strndup(arena, json_string_value(json), json_string_length(json));

        if (!text)
                return JSON_TOO_LARGE;

        *ret = (Value){ .type = VALUE_STRING, .string = text };
        return 0;
}

static int from_json(json_t *json, unsigned depth, Arena *arena, Value *ret) {
        if (depth > VALUE_DEPTH_MAX)
                return JSON_MALFORMED;

        switch (json_typeof(json)) {
        case JSON_OBJECT:
                return object_from_json(json, depth, arena, ret);
        case JSON_ARRAY:
                return list_from_json(json, depth, arena, ret);
        case JSON_STRING:
                return string_from_json(json, arena, ret);
        case JSON_INTEGER:
                *ret = (Value){ .type = VALUE_INT, .integer = json_integer_value(json) };
                return 0;
        case JSON_REAL:
                *ret = (Value){ .type = VALUE_DOUBLE, .number = json_real_value(json) };
                return 0;
        case JSON_TRUE:
        case JSON_FALSE:
                *ret = (Value){ .type = VALUE_BOOL, .boolean = json_is_true(json) };
                return 0;
        case JSON_NULL:
                *ret = (Value){ .type = VALUE_NULL };
                return 0;
        }

        return JSON_MALFORMED;
}

static_assert(VALUE_DEPTH_MAX == 32, "the text names it");
static const char too_deep[] = "nested deeper than 32 levels: make it flatter";

/* Fixes for jansson's errors, by the beginning of the error text. */
static const struct {
        const char *begin, *fix;
} fixes[] = {
        { "invalid token near 'NaN", "JSON has no such number, print null instead" },
        { "invalid token near 'nan", "JSON has no such number, print null instead" },
        { "invalid token near 'Infinity", "JSON has no such number, print null instead" },
        { "invalid token near 'inf", "JSON has no such number, print null instead" },
        { "invalid token near '-'", "digits must follow, and for -Infinity, which JSON has not, print null instead" },
        { "invalid token near '.'", "a number begins with a digit, as in 0.5" },
        { "invalid token near '+'", "a number begins with a digit or -" },
        { "invalid token near '0'", "a number has no leading zeros" },
        { "invalid token near 'True'", "JSON writes true" },
        { "invalid token near 'False'", "JSON writes false" },
        { "invalid token near 'None'", "JSON writes null" },
        { "invalid token near '''", "JSON has \"double quotes\", as Python's json.dumps() writes them" },
        { "string or '}' expected near '''", "JSON has \"double quotes\", as Python's json.dumps() writes them" },
        { "invalid escape", "write a backslash as two" },
        { "control character", "write it as an escape such as \\n or \\u001b" },
        { "invalid Unicode", "it is half a character: write both of its escapes, or the character itself" },
        { "premature end of input", "the text is cut off" },
        { "'}' expected near end of file", "the text is cut off" },
        { "']' expected near end of file", "the text is cut off" },
        { "':' expected near end of file", "the text is cut off" },
        { "string or '}' expected near end of file", "the text is cut off" },
        { "string or '}' expected near '}'", "remove the comma before it" },
        { "unexpected token near ']'", "remove the comma before it" },
        { "'}' expected near '\"", "a comma is missing before it" },
        { "']' expected near '\"", "a comma is missing before it" },
        { "duplicate object key", "rename or remove one of the two" },
        { "unable to decode byte", "this is not UTF-8, save it as UTF-8" },
};

static const char *find_fix(const char *text) {
        for (size_t i = 0; i < N_ELEMENTS(fixes); i++)
                if (strncmp(text, fixes[i].begin, strlen(fixes[i].begin)) == 0)
                        return fixes[i].fix;
        return NULL;
}

/* In our words where jansson's speak of itself. */
static void error_describe(const json_error_t *error, char ret[static JSON_ERROR_TEXT_MAX]) {
        const char *text = error->text, *fix = find_fix(text);

        switch (json_error_code(error)) {
        case json_error_null_character:
        case json_error_null_byte_in_key:
                text = "strings may not contain \\u0000: remove it";
                break;
        case json_error_numeric_overflow:
                text = strstr(text, "real") ? "a number beyond 1.7976931348623157e308: print it as a string, or null" :
                                              "an integer beyond 64 bits: print it with a decimal point, or as a string";
                break;
        case json_error_stack_overflow:
                text = too_deep;
                break;
        default: /* jansson's own list, which may grow */
                break;
        }

        snprintf(ret, JSON_ERROR_TEXT_MAX, "%.*s%s%s", (int)utf8_cut(text, JSON_ERROR_TEXT_MAX - 100), text, fix ? ": " : "", fix ?: "");
}

/* jansson counts from where it was given the text; its column is that of the last character it looked at. */
static void error_set(const JsonReader *reader, const json_error_t *error, JsonError *ret) {
        unsigned line = error->line > 0 ? (unsigned)error->line : 1;
        unsigned column = error->column > 0 ? (unsigned)error->column : 1;
        ret->at = reader->at + (size_t)error->position;
        ret->line = reader->line + line - 1;
        ret->column = line == 1 ? reader->column + column - 1 : column;
        error_describe(error, ret->text);
}

/* Finds encodings that editors of other systems save and that RFC 8259 (8.1) does not allow. */
static const char *find_wrong_encoding(const JsonReader *reader) {
        const char *text = reader->text + reader->at;
        size_t n = reader->n - reader->at;

        if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
                return "begins with a byte order mark: save it as UTF-8 without one";
        if (n >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0 || !text[0] || !text[1]))
                return "looks like UTF-16 and is not UTF-8: save it as UTF-8";

        return NULL;
}

static int refuse(const JsonReader *reader, const char *why, JsonError *ret) {
        *ret = (JsonError){ .line = reader->line, .column = reader->column, .at = reader->at };
        snprintf(ret->text, sizeof(ret->text), "%s", why);
        return JSON_MALFORMED;
}

int json_read(JsonReader *reader, Arena *arena, const Value **ret, JsonError *ret_error) {
        scoped(json_decrefp) json_t *json = NULL;
        const char *wrong_encoding;
        json_error_t error;
        Value *value;
        int r;

        reader_skip_blanks(reader);
        if (reader->at == reader->n)
                return JSON_END;

        wrong_encoding = find_wrong_encoding(reader);
        if (wrong_encoding)
                return refuse(reader, wrong_encoding, ret_error);

        json = json_loadb(reader->text + reader->at, reader->n - reader->at,
                          JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &error);
        if (!json && json_error_code(&error) == json_error_out_of_memory)
                return -ENOMEM;
        if (!json) {
                error_set(reader, &error, ret_error);
                return JSON_MALFORMED;
        }

        value = arena_alloc(arena, sizeof(*value));
        if (!value)
                return JSON_TOO_LARGE;

        r = from_json(json, 0, arena, value);
        if (r == JSON_MALFORMED)
                return refuse(reader, too_deep, ret_error);
        if (r != 0)
                return r;

        reader->begin_line = reader->line;
        reader->begin_column = reader->column;
        reader_advance(reader, (size_t)error.position);
        *ret = value;
        return 0;
}
