/* SPDX-License-Identifier: Apache-2.0 */
#include "value/value_parse.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/scoped.h"
#include "util/utf8.h"

typedef struct Parser {
        const char *begin, *p, *end;
        Arena *arena;
        char *strings, *strings_end; /* decoded strings are never longer than their JSON text */
        bool is_strict;              /* values that break the rules for documents are errors */
        bool is_canonical;
        size_t n_not_finite;         /* that a strict parser has replaced by null */
        Buffer number; /* owned; a number in the writer's spelling */
        ValueError error;
} Parser;

/* --- errors -------------------------------------------------------------------------------------- */

_Static_assert(VALUE_DEPTH_MAX == 32, "the text names it");
/* X(id, text). From NO_VALUE to NO_DIGIT: other text was found. */
#define ERRORS(X) \
        X(CUT_OFF, "the text is truncated") \
        X(NO_VALUE, "expected a value") \
        X(NO_KEY, "expected a key in double quotes") \
        X(NO_COLON, "expected ':'") \
        X(NO_LIST_END, "expected ',' or ']'") \
        X(NO_OBJECT_END, "expected ',' or '}'") \
        X(NO_DIGIT, "expected a digit") \
        X(LEADING_ZERO, "a number has no leading zeros") \
        X(INTEGER_RANGE, "an integer beyond 64 bits: print it with a decimal point, or as a string") \
        X(DOUBLE_RANGE, "a number beyond 1.7976931348623157e308: print it as a string, or null") \
        X(ESCAPE, "invalid escape: write a backslash as two") \
        X(NUL, "strings may not contain \\u0000: remove it") \
        X(SURROGATE, "unpaired surrogate: write both escapes, or the character itself") \
        X(CONTROL, "control character in a string: write it as an escape such as \\n or \\u001b") \
        X(UTF8, "not UTF-8: save the file as UTF-8") \
        X(KEY_TWICE, "is given twice in this object: rename or remove one") \
        X(DEPTH, "nested deeper than 32 levels: make it flatter") \
        X(NO_OBJECT, "expected an object, in {braces}") \
        X(MORE, "text after the object: send one document")

enum {
        VALUE_ERROR_NONE,
#define X(id, text) VALUE_ERROR_##id,
        ERRORS(X)
#undef X
};

#define X(id, text) [VALUE_ERROR_##id] = (text),
static const char *const error_texts[] = { ERRORS(X) };
#undef X

/* Fixes, by the text found in place of a value, a key, a comma or a digit. */
static const struct {
        const char *found, *fix;
        int only; /* 0: any error */
} fixes[] = {
        { "]", "remove the comma before it", VALUE_ERROR_NO_VALUE },
        { "}", "a value is missing before '}'", VALUE_ERROR_NO_VALUE },
        { "}", "remove the comma before it", VALUE_ERROR_NO_KEY },
        { "\"", "a comma is missing before it", 0 },
        { "'", "JSON has \"double quotes\", as Python's json.dumps() writes them", 0 },
        { ".", "a number begins with a digit, as in 0.5", VALUE_ERROR_NO_VALUE },
        { "+", "a number begins with a digit or -", VALUE_ERROR_NO_VALUE },
        { "True", "JSON writes true", VALUE_ERROR_NO_VALUE },
        { "False", "JSON writes false", VALUE_ERROR_NO_VALUE },
        { "None", "JSON writes null", VALUE_ERROR_NO_VALUE },
        { "#", "JSON has no comments, remove it", 0 },
        { "//", "JSON has no comments, remove it", 0 },
        { "/*", "JSON has no comments, remove it", 0 },
        { "\xef\xbb\xbf", "remove the byte order mark", VALUE_ERROR_NO_VALUE },
        { "", "an object, a list, a string, a number, true, false or null", VALUE_ERROR_NO_VALUE },
};

static const char *find_fix(const ValueError *error, const char *at, size_t n_left) {
        if (error->code < VALUE_ERROR_NO_VALUE || error->code > VALUE_ERROR_NO_DIGIT)
                return NULL;
        for (size_t i = 0; i < N_ELEMENTS(fixes); i++) {
                size_t n = strlen(fixes[i].found);

                if ((fixes[i].only == 0 || fixes[i].only == error->code) && n <= n_left &&
                    memcmp(at, fixes[i].found, n) == 0)
                        return fixes[i].fix;
        }
        return NULL;
}

/* Sets the text of an error in a text of n bytes. The fix depends on the text at the place of the error. */
static void explain_error(ValueError *error, const char *text, size_t n) {
        const char *fix = find_fix(error, text + error->at, n - error->at);

        (void)snprintf(error->text, sizeof(error->text), "%s%s%s%s%s", error->path, error->path[0] ? ": " : "",
                       error_texts[error->code], fix ? ": " : "", fix ?: "");
}

static void append_path(char path[static VALUE_ERROR_PATH_MAX], const char *text) {
        size_t n = strlen(path);

        utf8_copy(path + n, VALUE_ERROR_PATH_MAX - n, text);
}

/* Prepends a key, or an index if key is NULL, to the path. */
static void prepend_path(ValueError *error, const char *key, size_t index) {
        char within[VALUE_ERROR_PATH_MAX], piece[32];

        (void)snprintf(piece, sizeof(piece), "[%zu]", index);
        memcpy(within, error->path, sizeof(within));
        error->path[0] = '\0';
        append_path(error->path, key ?: piece);
        append_path(error->path, within[0] && within[0] != '[' ? "." : "");
        append_path(error->path, within);
}

static int malformed(Parser *parser, int code) {
        parser->error = (ValueError){ .code = code, .at = (size_t)(parser->p - parser->begin) };
        return VALUE_MALFORMED;
}

static int expected(Parser *parser, int code) {
        return malformed(parser, parser->p == parser->end ? VALUE_ERROR_CUT_OFF : code);
}

/* Only a strict parser has checked that keys are UTF-8, as a path must be. */
static int malformed_within(Parser *parser, const char *key, size_t index) {
        if (parser->is_strict)
                prepend_path(&parser->error, key, index);
        return VALUE_MALFORMED;
}

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

/* Parses the escape behind a backslash. */
static int parse_escape(Parser *parser) {
        uint32_t code_point;
        size_t n = json_text_read_escape(parser->p, (size_t)(parser->end - parser->p), &code_point);

        if (n == 0)
                return malformed(parser, VALUE_ERROR_ESCAPE);
        if (code_point == 0)
                return malformed(parser, VALUE_ERROR_NUL);
        if (json_text_is_surrogate(code_point))
                return malformed(parser, VALUE_ERROR_SURROGATE);

        /* The writer has short names for these characters, and uses \u only for characters that are unsafe on a
         * terminal. */
        if (!strchr("\"\\nrt", *parser->p))
                parser->is_canonical = false;
        parser->p += n;
        parser->strings += json_text_put_utf8(code_point, parser->strings);
        return 0;
}

/* Not ASCII, or not printable: if the writer escapes the character, the text is not canonical. */
static int take_other(Parser *parser) {
        size_t left = (size_t)(parser->end - parser->p), n = utf8_length(parser->p, left);

        if (n == 0 && parser->is_strict)
                return malformed(parser, VALUE_ERROR_UTF8);
        if (n <= 1 || utf8_is_unsafe(utf8_decode(parser->p, n)))
                parser->is_canonical = false;
        n = n > 0 ? n : 1;
        memcpy(parser->strings, parser->p, n);
        parser->strings += n;
        parser->p += n;
        return 0;
}

static size_t count_plain(const char *p, const char *end) {
        const char *begin = p;

        while (p < end && *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\')
                p++;
        return (size_t)(p - begin);
}

/* Parses from the opening quote. */
static int parse_string(Parser *parser, const char **ret) {
        const char *string = parser->strings;
        int r = 0;

        assert(*parser->p == '"');
        parser->p++;
        while (parser->p < parser->end && *parser->p != '"') {
                size_t n = count_plain(parser->p, parser->end);

                if (n > 0) {
                        memcpy(parser->strings, parser->p, n);
                        parser->strings += n;
                        parser->p += n;
                } else if (accept(parser, '\\'))
                        r = parse_escape(parser);
                else if ((unsigned char)*parser->p < 0x20)
                        r = malformed(parser, VALUE_ERROR_CONTROL);
                else
                        r = take_other(parser);
                if (r != 0)
                        return r;
        }
        if (!accept(parser, '"'))
                return malformed(parser, VALUE_ERROR_CUT_OFF);

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
                return expected(parser, VALUE_ERROR_NO_DIGIT);
        while (is_digit(parser))
                parser->p++;
        return 0;
}

/* Number of digits that a double can always represent: among numbers with at most this many digits, only the
 * writer's spelling is the shortest. */
#define SURE_DIGITS 15

/* True for digits, a point and digits, as the writer prints numbers. */
static bool is_written_so(const char *begin, const char *end) {
        const char *point = memchr(begin, '.', (size_t)(end - begin));
        ptrdiff_t n = end - begin - 1 - (*begin == '-');

        if (!point || memchr(begin, 'e', (size_t)(end - begin)) || memchr(begin, 'E', (size_t)(end - begin)))
                return false;
        if (end[-1] == '0' && end - point != 2)
                return false;
        return n <= SURE_DIGITS && (point[-1] != '0' || point - begin > 1 + (*begin == '-') || point[1] != '0');
}

/* strtod() stops at the end of the number: the grammar was checked, and either text follows or a copy ends with NUL. */
static double read_double(Parser *parser, const char *begin) {
        Buffer *number = &parser->number;

        if (parser->p < parser->end)
                return strtod(begin, NULL);

        buffer_clear(number);
        buffer_put(number, begin, (size_t)(parser->p - begin));
        return number->failed ? NAN : strtod(number->text, NULL);
}

static int parse_real(Parser *parser, const char *begin, Value *ret) {
        Buffer *number = &parser->number;
        Json json = { .out = number };
        int r = 0;

        if (accept(parser, '.'))
                r = skip_digits(parser);
        if (r == 0 && (accept(parser, 'e') || accept(parser, 'E'))) {
                if (!accept(parser, '+'))
                        (void)accept(parser, '-');
                r = skip_digits(parser);
        }
        if (r != 0)
                return r;

        *ret = (Value){ .type = VALUE_DOUBLE, .number = read_double(parser, begin) };
        if (parser->is_strict && !isfinite(ret->number))
                return malformed(parser, VALUE_ERROR_DOUBLE_RANGE);
        if (!parser->is_canonical || is_written_so(begin, parser->p))
                return 0;

        buffer_clear(number);
        json_double(&json, ret->number);
        parser->is_canonical = number->n == (size_t)(parser->p - begin) && memcmp(number->text, begin, number->n) == 0;
        return 0;
}

static int parse_integer(Parser *parser, const char *begin, bool is_negative, Value *ret) {
        const uint64_t max = is_negative ? (uint64_t)INT64_MAX + 1 : UINT64_MAX;
        uint64_t v = 0;

        for (const char *p = begin; p < parser->p; p++)
                if (__builtin_mul_overflow(v, 10U, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v) ||
                    v > max) {
                        parser->p = p;
                        return malformed(parser, VALUE_ERROR_INTEGER_RANGE);
                }

        if (is_negative && v == 0)
                parser->is_canonical = false;
        if (!is_negative && v > INT64_MAX)
                *ret = (Value){ .type = VALUE_UINT, .natural = v };
        else
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
                return malformed(parser, VALUE_ERROR_LEADING_ZERO);
        }
        if (parser->p < parser->end && (*parser->p == '.' || *parser->p == 'e' || *parser->p == 'E'))
                return parse_real(parser, begin, ret);
        return parse_integer(parser, digits, is_negative, ret);
}

/* --- values -------------------------------------------------------------------------------------- */

static int parse_word(Parser *parser, const char *word, Value value, Value *ret) {
        size_t n = strlen(word);

        if ((size_t)(parser->end - parser->p) < n || memcmp(parser->p, word, n) != 0)
                return expected(parser, VALUE_ERROR_NO_VALUE);

        parser->p += n;
        *ret = value;
        return 0;
}

/* Finds what C and Python print for numbers that JSON cannot express, in any case. Returns the length; 0: another
 * text. */
static size_t count_infinite(const Parser *parser) {
        static const char *const words[] = { "nan", "infinity", "inf" };
        const char *p = parser->p + (*parser->p == '-' || *parser->p == '+');

        for (size_t i = 0; i < N_ELEMENTS(words); i++) {
                size_t n = strlen(words[i]);

                if ((size_t)(parser->end - p) >= n && strncasecmp(p, words[i], n) == 0)
                        return n + (size_t)(p - parser->p);
        }
        return 0;
}

/*
 * Not JSON, but printed by many writers. In one of the client's values, null stands for the number, and is counted;
 * otherwise the rules for documents refuse it with its place.
 */
static int parse_infinite(Parser *parser, Value *ret) {
        double sign;

        if (parser->is_strict) {
                size_t n = count_infinite(parser);

                if (n == 0)
                        return malformed(parser, VALUE_ERROR_NO_VALUE);
                parser->p += n;
                parser->n_not_finite++;
                *ret = (Value){};
                return 0;
        }
        sign = accept(parser, '-') ? -1 : 1;
        if (*parser->p == 'N')
                return parse_word(parser, "NaN", (Value){ .type = VALUE_DOUBLE, .number = NAN }, ret);
        return parse_word(parser, "Infinity", (Value){ .type = VALUE_DOUBLE, .number = sign * INFINITY }, ret);
}

static int parse_value(Parser *parser, unsigned depth, Value *ret);

/* Skips to the position behind the bracket that closes the bracket at p. The text between them is not checked: the
 * document is refused. */
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
        return malformed(parser, VALUE_ERROR_CUT_OFF);
}

static int parse_member(Parser *parser, unsigned depth, Member *ret) {
        int r;

        skip_blanks(parser);
        if (parser->p == parser->end || *parser->p != '"')
                return expected(parser, VALUE_ERROR_NO_KEY);
        r = parse_string(parser, &ret->key);
        if (r != 0)
                return r;

        skip_blanks(parser);
        if (!accept(parser, ':'))
                return expected(parser, VALUE_ERROR_NO_COLON);
        r = parse_value(parser, depth, &ret->value);
        return r == VALUE_MALFORMED ? malformed_within(parser, ret->key, 0) : r;
}

static int parse_item(Parser *parser, unsigned depth, size_t i, Value *ret) {
        int r = parse_value(parser, depth, ret);

        return r == VALUE_MALFORMED ? malformed_within(parser, NULL, i) : r;
}

/* Parses from behind the opening bracket. Pushes the members or items, the last one on top. */
static int push_all(Parser *parser, unsigned depth, bool is_object, size_t *n) {
        const char end = is_object ? '}' : ']';
        void *pushed;
        int r;

        skip_blanks(parser);
        if (accept(parser, end))
                return 0;

        do {
                pushed = arena_push(parser->arena, is_object ? sizeof(Member) : sizeof(Value));
                if (!pushed)
                        return VALUE_NO_ROOM;
                r = is_object ? parse_member(parser, depth, pushed) : parse_item(parser, depth, *n, pushed);
                if (r != 0)
                        return r;
                ++*n;
        } while (accept(parser, ','));

        return accept(parser, end) ? 0
                                   : expected(parser, is_object ? VALUE_ERROR_NO_OBJECT_END : VALUE_ERROR_NO_LIST_END);
}

/* The place of such an error is the object itself, from `begin`. */
static int refuse_key_twice(Parser *parser, const Value *object, const char *begin) {
        size_t n_bytes = object->n_members * sizeof(char *);
        const char **keys = arena_push(parser->arena, n_bytes), *twice;

        if (!keys)
                return VALUE_NO_ROOM;
        for (size_t i = 0; i < object->n_members; i++)
                keys[i] = object->members[i].key;
        twice = value_find_key_twice(keys, object->n_members);
        arena_pop(parser->arena, n_bytes);
        if (!twice)
                return 0;

        parser->p = begin;
        (void)malformed(parser, VALUE_ERROR_KEY_TWICE);
        return malformed_within(parser, twice, 0);
}

static int parse_all(Parser *parser, unsigned depth, bool is_object, Value *ret) {
        const char *begin = parser->p - 1;
        size_t n = 0;
        void *taken;
        int r;

        r = push_all(parser, depth, is_object, &n);
        if (r != 0)
                return r;

        taken = arena_take_pushed(parser->arena, n, is_object ? sizeof(Member) : sizeof(Value));
        if (!taken)
                return VALUE_NO_ROOM;
        *ret = is_object ? (Value){ .type = VALUE_OBJECT, .members = taken, .n_members = n } :
                           (Value){ .type = VALUE_LIST, .items = taken, .n_items = n };
        return is_object && parser->is_strict ? refuse_key_twice(parser, ret, begin) : 0;
}

/* depth: number of objects and lists around this value. A strict parser allows one more, for the spool or the API
 * around a
 * document. */
static int parse_nest(Parser *parser, unsigned depth, Value *ret) {
        bool is_object = *parser->p == '{';

        if (parser->is_strict && depth > VALUE_DEPTH_MAX)
                return malformed(parser, VALUE_ERROR_DEPTH);
        if (!parser->is_strict && depth == VALUE_DEPTH_MAX) {
                *ret = (Value){ .type = is_object ? VALUE_OBJECT : VALUE_LIST };
                return skip_nest(parser);
        }
        parser->p++;
        return parse_all(parser, depth + 1, is_object, ret);
}

static int parse_bare_value(Parser *parser, unsigned depth, Value *ret) {
        if (parser->p == parser->end)
                return malformed(parser, VALUE_ERROR_CUT_OFF);

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
                if (parser->p + 1 < parser->end &&
                    (parser->p[1] == 'I' || (parser->is_strict && count_infinite(parser) > 0)))
                        return parse_infinite(parser, ret);
                return parse_number(parser, ret);
        case 'n':
        case 'i':
        case '+':
                if (parser->is_strict && count_infinite(parser) > 0)
                        return parse_infinite(parser, ret);
                return parse_word(parser, "null", (Value){ .type = VALUE_NULL }, ret);
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

/* Releases the values that the parser pushed, and the memory of a refused document. */
static int finish(Parser *parser, const Arena *before, int r, ValueError *ret_error) {
        arena_pop(parser->arena, parser->arena->n_pushed - before->n_pushed);
        buffer_deinit(&parser->number);
        if (r == 0)
                return 0;

        parser->arena->n_used = before->n_used;
        if (r == VALUE_MALFORMED) {
                explain_error(&parser->error, parser->begin, (size_t)(parser->end - parser->begin));
                *ret_error = parser->error;
        }
        return r;
}

int value_parse(const char *text, size_t n, Arena *arena, const Value **ret, bool *ret_is_canonical,
                ValueError *ret_error) {
        Parser parser = { .begin = text, .p = text, .end = text + n, .arena = arena, .is_canonical = true };
        const Arena before = *arena;
        Value *value;
        int r;

        value = arena_alloc(arena, sizeof(*value));
        parser.strings = arena_alloc(arena, n + 1);
        if (!value || !parser.strings)
                return VALUE_NO_ROOM;
        parser.strings_end = parser.strings + n + 1;

        skip_blanks(&parser);
        if (parser.p == parser.end || *parser.p != '{')
                r = malformed(&parser, VALUE_ERROR_NO_OBJECT);
        else
                r = parse_value(&parser, 0, value);
        if (r == 0 && parser.p < parser.end)
                r = malformed(&parser, VALUE_ERROR_MORE);

        r = finish(&parser, &before, r, ret_error);
        if (r != 0)
                return r;

        *ret = value;
        *ret_is_canonical = parser.is_canonical;
        return 0;
}

/* --- several documents ---------------------------------------------------------------------------- */

void value_parse_begin(ValueReader *reader, const char *text, size_t n) {
        *reader = (ValueReader){ .text = text, .n = n, .line = 1, .column = 1 };
}

static void advance(ValueReader *reader, size_t to) {
        for (; reader->at < to; reader->at++) {
                unsigned char c = (unsigned char)reader->text[reader->at];

                if (c == '\n') {
                        reader->line++;
                        reader->column = 1;
                } else if ((c & 0xc0) != 0x80)
                        reader->column++;
        }
}

#define BRACKET_BYTES_MAX 256 /* of brackets and blanks in front of an object */

/* True at an object, or at a list whose first item is one, in whatever lists. */
static bool is_at_object(const ValueReader *reader) {
        size_t n = reader->n - reader->at;
        const char *p = reader->text + reader->at, *end = p + (n < BRACKET_BYTES_MAX ? n : BRACKET_BYTES_MAX);

        while (p < end && (*p == '[' || (p > reader->text + reader->at && memchr(" \t\r\n", *p, 4))))
                p++;
        return p < end && *p == '{';
}

void value_parse_skip_line(ValueReader *reader) {
        const char *end = memchr(reader->text + reader->at, '\n', reader->n - reader->at);

        reader->at = end ? (size_t)(end - reader->text) : reader->n;
}

int value_parse_only(const char *text, size_t n, Arena *arena, const Value **ret, ValueError *ret_error) {
        const Value *value, *further;
        ValueReader reader;
        int r;

        r = arena_init(arena, value_parse_arena_size(n));
        if (r < 0)
                return r;
        value_parse_begin(&reader, text ?: "", n);
        r = value_parse_next(&reader, arena, &value, ret_error);
        if (r == 0 && value_parse_next(&reader, arena, &further, ret_error) != VALUE_END)
                return VALUE_END;
        if (r == 0)
                *ret = value;
        return r == VALUE_NO_ROOM ? -ENOMEM : r;
}

bool value_parse_write_kept(JsonText text, Json *json) {
        scoped(arena_deinit) Arena arena = {};
        const Value *unused;
        ValueError error;
        bool is_whole = !text.text || value_parse_only(text.text, text.n, &arena, &unused, &error) == 0;

        json_text_write(is_whole ? text : (JsonText){}, json);
        return is_whole;
}

bool value_parse_seek(ValueReader *reader) {
        reader->n_other_lines = 0;
        while (reader->at < reader->n) {
                while (reader->at < reader->n && memchr(" \t\r", reader->text[reader->at], 3)) {
                        reader->at++;
                        reader->column++;
                }
                if (is_at_object(reader))
                        return true;
                reader->n_other_lines += reader->at < reader->n && reader->text[reader->at] != '\n';
                value_parse_skip_line(reader);
                if (reader->at == reader->n)
                        return false;
                reader->at++;
                reader->line++;
                reader->column = 1;
        }
        return false;
}

int value_parse_next(ValueReader *reader, Arena *arena, const Value **ret, ValueError *ret_error) {
        Parser parser = { .begin = reader->text, .end = reader->text + reader->n, .arena = arena, .is_strict = true };
        ValueReader wrong;
        Arena before;
        Value *value;
        int r;

        parser.p = reader->text + reader->at;
        skip_blanks(&parser);
        if (parser.p == parser.end)
                return VALUE_END;
        advance(reader, (size_t)(parser.p - parser.begin));

        if (!reader->strings)
                reader->strings = arena_alloc(arena, reader->n + 1);
        before = *arena;
        value = arena_alloc(arena, sizeof(*value));
        if (!value || !reader->strings)
                return VALUE_NO_ROOM;
        parser.strings = reader->strings + reader->n_strings;
        parser.strings_end = reader->strings + reader->n + 1;

        r = parse_bare_value(&parser, 0, value);
        r = finish(&parser, &before, r, ret_error);
        if (r == VALUE_MALFORMED) {
                wrong = *reader;
                advance(&wrong, ret_error->at);
                ret_error->line = wrong.line;
                ret_error->column = wrong.column;
        }
        if (r != 0)
                return r;

        reader->begin_line = reader->line;
        reader->begin_column = reader->column;
        reader->n_not_finite = parser.n_not_finite;
        reader->n_strings = (size_t)(parser.strings - reader->strings);
        advance(reader, (size_t)(parser.p - parser.begin));
        *ret = value;
        return 0;
}

size_t value_parse_arena_size(size_t n) {
        return 65536 + VALUE_PARSE_FACTOR * n;
}
