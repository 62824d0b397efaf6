/* SPDX-License-Identifier: Apache-2.0 */
#include "document/value_parse.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/json_escape.h"
#include "util/utf8.h"

typedef struct Parser {
        const char *begin, *p, *end;
        Arena *arena;
        char *strings, *strings_end; /* decoded strings are never longer than they are spelled */
        bool is_canonical;
        Buffer number; /* owned; one as the writer spells it */
        ValueError error;
} Parser;

static int malformed(Parser *parser, const char *text) {
        parser->error = (ValueError){ text, (size_t)(parser->p - parser->begin) };
        return VALUE_MALFORMED;
}

static const char cut_off[] = "the text is cut off";

static void skip_blanks(Parser *parser) {
        const char *p = parser->p;

        while (p < parser->end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
                p++;
        if (p > parser->p)
                parser->is_canonical = false;
        parser->p = p;
}

static bool accept(Parser *parser, char c) {
        if (parser->p == parser->end || *parser->p != c)
                return false;

        parser->p++;
        return true;
}

/* --- strings ------------------------------------------------------------------------------------- */

/* Behind the backslash. */
static int parse_escape(Parser *parser) {
        uint32_t code_point;
        size_t n = json_escape_read(parser->p, (size_t)(parser->end - parser->p), &code_point);

        if (n == 0)
                return malformed(parser, "invalid escape: write a backslash as two");
        if (code_point == 0)
                return malformed(parser, "strings may not contain \\u0000: remove it");
        if (json_escape_is_surrogate(code_point))
                return malformed(parser, "half a character: write both of its escapes, or the character itself");

        /* The writer has short names for these, and \u only for what is unsafe on a terminal. */
        if (!strchr("\"\\nrt", *parser->p))
                parser->is_canonical = false;
        parser->p += n;
        parser->strings += json_escape_put_utf8(code_point, parser->strings);
        return 0;
}

/* Not ASCII, or not printable: the characters that the writer escapes make the text one to be written anew. */
static void take_other(Parser *parser) {
        size_t left = (size_t)(parser->end - parser->p), n = utf8_length(parser->p, left);

        if (n <= 1 || utf8_is_unsafe(utf8_decode(parser->p, n)))
                parser->is_canonical = false;
        n = n > 0 ? n : 1;
        memcpy(parser->strings, parser->p, n);
        parser->strings += n;
        parser->p += n;
}

static size_t count_plain(const char *p, const char *end) {
        const char *begin = p;

        while (p < end && *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\')
                p++;
        return (size_t)(p - begin);
}

/* At the opening quote. */
static int parse_string(Parser *parser, const char **ret) {
        const char *string = parser->strings;
        int r;

        assert(*parser->p == '"');
        parser->p++;
        while (parser->p < parser->end && *parser->p != '"') {
                size_t n = count_plain(parser->p, parser->end);

                if (n > 0) {
                        memcpy(parser->strings, parser->p, n);
                        parser->strings += n;
                        parser->p += n;
                } else if (accept(parser, '\\')) {
                        r = parse_escape(parser);
                        if (r != 0)
                                return r;
                } else if ((unsigned char)*parser->p < 0x20)
                        return malformed(parser, "control character in a string: write it as an escape such as \\n or \\u001b");
                else
                        take_other(parser);
        }
        if (!accept(parser, '"'))
                return malformed(parser, cut_off);

        assert(parser->strings < parser->strings_end);
        *parser->strings++ = '\0';
        *ret = string;
        return 0;
}

/* --- numbers ------------------------------------------------------------------------------------- */

static bool is_digit(const Parser *parser) {
        return parser->p < parser->end && *parser->p >= '0' && *parser->p <= '9';
}

static int skip_digits(Parser *parser) {
        if (!is_digit(parser))
                return malformed(parser, parser->p == parser->end ? cut_off : "a digit expected");
        while (is_digit(parser))
                parser->p++;
        return 0;
}

/* Digits that a double holds whatever they are: among those that have no more, none but the writer's spelling is the shortest. */
#define SURE_DIGITS 15

/* True for digits, a point and digits such as the writer puts them. */
static bool is_written_so(const char *begin, const char *end) {
        const char *point = memchr(begin, '.', (size_t)(end - begin));
        ptrdiff_t n = end - begin - 1 - (*begin == '-');

        if (!point || memchr(begin, 'e', (size_t)(end - begin)) || memchr(begin, 'E', (size_t)(end - begin)))
                return false;
        if (end[-1] == '0' && end - point != 2)
                return false;
        return n <= SURE_DIGITS && (point[-1] != '0' || point - begin > 1 + (*begin == '-') || point[1] != '0');
}

/* strtod() ends where the number does: the grammar was checked, and something that is no part of a number follows. */
static int parse_real(Parser *parser, const char *begin, Value *ret) {
        Buffer *number = &parser->number;
        Json json;
        int r = 0;

        if (accept(parser, '.'))
                r = skip_digits(parser);
        if (r == 0 && (accept(parser, 'e') || accept(parser, 'E'))) {
                if (!accept(parser, '+'))
                        (void)accept(parser, '-');
                r = skip_digits(parser);
        }
        if (r == 0 && parser->p == parser->end)
                r = malformed(parser, cut_off);
        if (r != 0)
                return r;

        *ret = (Value){ .type = VALUE_DOUBLE, .number = strtod(begin, NULL) };
        if (!parser->is_canonical || is_written_so(begin, parser->p))
                return 0;

        buffer_clear(number);
        json_init(&json, number);
        json_double(&json, ret->number);
        parser->is_canonical = number->n == (size_t)(parser->p - begin) && memcmp(number->text, begin, number->n) == 0;
        return 0;
}

static int parse_integer(Parser *parser, const char *begin, bool is_negative, Value *ret) {
        const uint64_t max = is_negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
        uint64_t v = 0;

        for (const char *p = begin; p < parser->p; p++)
                if (__builtin_mul_overflow(v, 10U, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v) || v > max) {
                        parser->p = p;
                        return malformed(parser, "an integer beyond 64 bits: give it a decimal point, or make it a string");
                }

        if (is_negative && v == 0)
                parser->is_canonical = false;
        *ret = (Value){ .type = VALUE_INT, .integer = is_negative ? (int64_t)-v : (int64_t)v };
        return 0;
}

static int parse_number(Parser *parser, Value *ret) {
        const char *begin = parser->p, *digits;
        bool is_negative = accept(parser, '-');
        int r;

        digits = parser->p;
        r = skip_digits(parser);
        if (r != 0)
                return r;
        if (*digits == '0' && parser->p > digits + 1) {
                parser->p = digits;
                return malformed(parser, "a number has no leading zeros");
        }
        if (parser->p < parser->end && (*parser->p == '.' || *parser->p == 'e' || *parser->p == 'E'))
                return parse_real(parser, begin, ret);
        return parse_integer(parser, digits, is_negative, ret);
}

/* --- values -------------------------------------------------------------------------------------- */

static int parse_word(Parser *parser, const char *word, Value value, Value *ret) {
        size_t n = strlen(word);

        if ((size_t)(parser->end - parser->p) < n || memcmp(parser->p, word, n) != 0)
                return malformed(parser, "a value expected: an object, a list, a string, a number, true, false or null");

        parser->p += n;
        *ret = value;
        return 0;
}

/* Not JSON, but what many writers print: the rules of documents refuse these with their place. */
static int parse_infinite(Parser *parser, Value *ret) {
        double sign = accept(parser, '-') ? -1 : 1;

        if (*parser->p == 'N')
                return parse_word(parser, "NaN", (Value){ .type = VALUE_DOUBLE, .number = NAN }, ret);
        return parse_word(parser, "Infinity", (Value){ .type = VALUE_DOUBLE, .number = sign * INFINITY }, ret);
}

static int parse_value(Parser *parser, unsigned depth, Value *ret);

/* To behind the bracket that closes the one at p. What is between them is not looked at: the document is refused. */
static int skip_nest(Parser *parser) {
        size_t depth = 0;
        bool is_quoted = false;

        for (; parser->p < parser->end; parser->p++) {
                char c = *parser->p;

                if (is_quoted && c == '\\' && parser->p + 1 < parser->end)
                        parser->p++;
                else if (c == '"')
                        is_quoted = !is_quoted;
                else if (!is_quoted && (c == '{' || c == '['))
                        depth++;
                else if (!is_quoted && (c == '}' || c == ']') && --depth == 0) {
                        parser->p++;
                        return 0;
                }
        }
        return malformed(parser, cut_off);
}

static int parse_list(Parser *parser, unsigned depth, Value *ret) {
        Value *item = NULL, *items;
        size_t n = 0;
        int r;

        parser->p++;
        skip_blanks(parser);
        if (!accept(parser, ']')) {
                do {
                        item = arena_push(parser->arena, sizeof(*item));
                        if (!item)
                                return VALUE_NO_ROOM;
                        n++;
                        r = parse_value(parser, depth + 1, item);
                        if (r != 0)
                                return r;
                } while (accept(parser, ','));
                if (!accept(parser, ']'))
                        return malformed(parser, parser->p == parser->end ? cut_off : "',' or ']' expected");
        }

        items = arena_alloc(parser->arena, n * sizeof(*items));
        if (!items)
                return VALUE_NO_ROOM;
        for (size_t i = n; i > 0; i--, item++) /* the last was pushed in front of the others */
                items[i - 1] = *item;
        arena_pop(parser->arena, n * sizeof(*items));
        *ret = (Value){ .type = VALUE_LIST, .items = items, .n_items = n };
        return 0;
}

static int parse_member(Parser *parser, unsigned depth, Member *ret) {
        int r;

        skip_blanks(parser);
        if (parser->p == parser->end || *parser->p != '"')
                return malformed(parser, parser->p == parser->end ? cut_off : "a key in double quotes expected");
        r = parse_string(parser, &ret->key);
        if (r != 0)
                return r;

        skip_blanks(parser);
        if (!accept(parser, ':'))
                return malformed(parser, parser->p == parser->end ? cut_off : "':' expected");
        return parse_value(parser, depth + 1, &ret->value);
}

static int parse_object(Parser *parser, unsigned depth, Value *ret) {
        Member *member = NULL, *members;
        size_t n = 0;
        int r;

        parser->p++;
        skip_blanks(parser);
        if (!accept(parser, '}')) {
                do {
                        member = arena_push(parser->arena, sizeof(*member));
                        if (!member)
                                return VALUE_NO_ROOM;
                        n++;
                        r = parse_member(parser, depth, member);
                        if (r != 0)
                                return r;
                } while (accept(parser, ','));
                if (!accept(parser, '}'))
                        return malformed(parser, parser->p == parser->end ? cut_off : "',' or '}' expected");
        }

        members = arena_alloc(parser->arena, n * sizeof(*members));
        if (!members)
                return VALUE_NO_ROOM;
        for (size_t i = n; i > 0; i--, member++) /* the last was pushed in front of the others */
                members[i - 1] = *member;
        arena_pop(parser->arena, n * sizeof(*members));
        *ret = (Value){ .type = VALUE_OBJECT, .members = members, .n_members = n };
        return 0;
}

/* depth: of the objects and lists around this one. */
static int parse_nest(Parser *parser, unsigned depth, Value *ret) {
        bool is_object = *parser->p == '{';

        assert(depth <= VALUE_DEPTH_MAX);
        if (depth == VALUE_DEPTH_MAX) {
                *ret = (Value){ .type = is_object ? VALUE_OBJECT : VALUE_LIST };
                return skip_nest(parser);
        }
        return is_object ? parse_object(parser, depth, ret) : parse_list(parser, depth, ret);
}

static int parse_bare_value(Parser *parser, unsigned depth, Value *ret) {
        if (parser->p == parser->end)
                return malformed(parser, cut_off);

        switch (*parser->p) {
        case '{':
        case '[':
                return parse_nest(parser, depth, ret);
        case '"':
                *ret = (Value){ .type = VALUE_STRING };
                return parse_string(parser, &ret->string);
        case 't':
                return parse_word(parser, "true", (Value){ .type = VALUE_BOOL, .boolean = true }, ret);
        case 'f':
                return parse_word(parser, "false", (Value){ .type = VALUE_BOOL }, ret);
        case 'N':
        case 'I':
                return parse_infinite(parser, ret);
        case '-':
                if (parser->p + 1 < parser->end && parser->p[1] == 'I')
                        return parse_infinite(parser, ret);
                return parse_number(parser, ret);
        case '0' ... '9':
                return parse_number(parser, ret);
        default:
                return parse_word(parser, "null", (Value){ .type = VALUE_NULL }, ret);
        }
}

static int parse_value(Parser *parser, unsigned depth, Value *ret) {
        int r;

        skip_blanks(parser);
        r = parse_bare_value(parser, depth, ret);
        if (r == 0)
                skip_blanks(parser);
        return r;
}

int value_parse(const char *text, size_t n, Arena *arena, const Value **ret, bool *ret_is_canonical, ValueError *ret_error) {
        Parser parser = { .begin = text, .p = text, .end = text + n, .arena = arena, .is_canonical = true };
        size_t n_pushed = arena->n_pushed;
        Value *value;
        int r;

        value = arena_alloc(arena, sizeof(*value));
        parser.strings = arena_alloc(arena, n + 1);
        if (!value || !parser.strings)
                return VALUE_NO_ROOM;
        parser.strings_end = parser.strings + n + 1;

        skip_blanks(&parser);
        if (parser.p == parser.end || *parser.p != '{')
                r = malformed(&parser, "an object expected, in {braces}");
        else
                r = parse_value(&parser, 0, value);
        if (r == 0 && parser.p < parser.end)
                r = malformed(&parser, "something follows the object: send one document");
        arena_pop(arena, arena->n_pushed - n_pushed);
        buffer_deinit(&parser.number);

        if (r == 0) {
                *ret = value;
                *ret_is_canonical = parser.is_canonical;
        } else
                *ret_error = parser.error;
        return r;
}
