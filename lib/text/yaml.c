/* SPDX-License-Identifier: Apache-2.0 */
#include "text/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "util/nearest.h"
#include "util/scoped.h"
#include "util/utf8.h"

typedef struct Builder {
        const char *text; /* borrowed */
        size_t n;
        yaml_parser_t parser;
        yaml_event_t event; /* the current event */
        bool has_event;
        Arena *arena;
        YamlError *error;
} Builder;

static int builder_init(Builder *builder, const char *text, size_t n) {
        if (!yaml_parser_initialize(&builder->parser))
                return -ENOMEM;

        builder->text = text;
        builder->n = n;
        yaml_parser_set_input_string(&builder->parser, (const unsigned char *)text, n);
        yaml_parser_set_encoding(&builder->parser, YAML_UTF8_ENCODING);
        return 0;
}

static void builder_deinit(Builder *builder) {
        if (builder->has_event)
                yaml_event_delete(&builder->event);
        yaml_parser_delete(&builder->parser);
}

static int refuse_at(Builder *builder, yaml_mark_t mark, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int refuse_at(Builder *builder, yaml_mark_t mark, const char *format, ...) {
        va_list arguments;

        builder->error->line = (unsigned)mark.line + 1;
        builder->error->column = (unsigned)mark.column + 1;
        va_start(arguments, format);
        utf8_vformat(builder->error->text, sizeof(builder->error->text), format, arguments);
        va_end(arguments);
        return YAML_MALFORMED;
}

/* Computes the mark of an error of libyaml's reader, such as invalid UTF-8, for which libyaml gives only the byte
 * offset. */
static yaml_mark_t find_problem(const Builder *builder) {
        yaml_mark_t mark = builder->parser.problem_mark;
        size_t n = builder->parser.problem_offset;

        if (builder->parser.error != YAML_READER_ERROR || n > builder->n)
                return mark;

        mark = (yaml_mark_t){};
        for (const char *p = builder->text; p < builder->text + n; p++)
                if (*p == '\n') {
                        mark.line++;
                        mark.column = 0;
                } else if (((unsigned char)*p & 0xc0) != 0x80)
                        mark.column++;
        return mark;
}

/* Returns the position of a mark in the text, at most the end of the text. */
static const char *text_at(const Builder *builder, yaml_mark_t mark) {
        const char *p = builder->text, *end = p + builder->n;

        for (size_t line = 0; line < mark.line && p < end; line++) {
                const char *newline = memchr(p, '\n', (size_t)(end - p));

                p = newline ? newline + 1 : end;
        }
        for (size_t column = 0; column < mark.column && p < end; column++) {
                size_t n = utf8_length(p, (size_t)(end - p));

                p += n > 0 ? n : 1;
        }
        return p;
}

static char char_at(const Builder *builder, yaml_mark_t mark) {
        const char *p = text_at(builder, mark);

        return p < builder->text + builder->n ? *p : '\0';
}

static const char *fix_encoding(const Builder *builder) {
        size_t at = builder->parser.problem_offset;

        if (at < builder->n && utf8_length(builder->text + at, builder->n - at) > 0)
                return "remove it, or write it as \\x1b in double quotes";
        return "not UTF-8: save the file as UTF-8";
}

/* begin: first character of the invalid token. */
static const char *fix_token(char begin, char c) {
        if (begin == '"' || begin == '\'')
                return c == '\0' ? "a quote is not closed" : "write a backslash as two, or use single quotes";

        switch (c) {
        case '\t':
                return "indent with spaces instead of tabs";
        case '@':
        case '`':
        case '%':
                return "quote words that begin with @ ` or %";
        case ':':
                return "quote text that has ': ' in it, or correct the indentation";
        default:
                return NULL;
        }
}

static const char *fix_structure(const yaml_parser_t *parser, char begin) {
        if (!parser->context)
                return "text after a complete value: remove it, or indent it";
        if (parser->context_mark.index == parser->problem_mark.index)
                return "a value is missing before it";
        if (begin == '[' || begin == '{')
                return "a comma or the closing bracket is missing before it";
        if (begin == '-')
                return "items of one list begin in one column, each with '- '";
        return "keys of one mapping begin in one column, and a quoted text ends at its quote";
}

/*
 * Returns a fix for the author of the text, chosen by the kind of error and the characters at its marks; NULL if no
 * fix is known.
 */
static const char *find_fix(const Builder *builder) {
        char begin = char_at(builder, builder->parser.context_mark), c = char_at(builder, builder->parser.problem_mark);

        switch (builder->parser.error) {
        case YAML_READER_ERROR:
                return fix_encoding(builder);
        case YAML_SCANNER_ERROR:
                return fix_token(begin, c);
        case YAML_PARSER_ERROR:
                return fix_structure(&builder->parser, begin);
        case YAML_NO_ERROR:
        case YAML_MEMORY_ERROR:
        case YAML_COMPOSER_ERROR:
        case YAML_WRITER_ERROR:
        case YAML_EMITTER_ERROR:
                break;
        }
        return NULL;
}

static int step(Builder *builder) {
        const char *problem, *fix;

        if (builder->has_event)
                yaml_event_delete(&builder->event);
        builder->has_event = yaml_parser_parse(&builder->parser, &builder->event) != 0;
        if (builder->has_event)
                return 0;
        if (builder->parser.error == YAML_MEMORY_ERROR)
                return -ENOMEM;

        problem = builder->parser.problem ?: "not YAML";
        fix = find_fix(builder);
        return refuse_at(builder, find_problem(builder), "%s%s%s", problem, fix ? ": " : "", fix ?: "");
}

/* --- scalars ------------------------------------------------------------------------------------ */

#define IS_ONE_OF(text, ...)                                                                                           \
        nearest_is_among(text, (const char *const[]){ __VA_ARGS__ },                                                   \
                         sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static bool looks_like_integer(const char *text) {
        text += *text == '-' || *text == '+';
        return *text && strspn(text, "0123456789") == strlen(text);
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool looks_like_float(const char *text) {
        size_t n_whole, n_part = 0;

        text += *text == '-' || *text == '+';
        n_whole = strspn(text, "0123456789");
        text += n_whole;
        if (*text == '.') {
                n_part = strspn(++text, "0123456789");
                text += n_part;
        }
        if (n_whole + n_part == 0)
                return false;
        if (*text == 'e' || *text == 'E') {
                text++;
                text += *text == '-' || *text == '+';
                if (!*text)
                        return false;
                text += strspn(text, "0123456789");
        }
        return !*text;
}

static int convert_integer(Builder *builder, const char *text, const char *digits, int base, Value *ret) {
        errno = 0;
        ret->type = VALUE_INT;
        ret->integer = strtoll(digits, NULL, base);
        if (errno == ERANGE && *digits != '-') {
                errno = 0;
                ret->type = VALUE_UINT;
                ret->natural = strtoull(digits, NULL, base);
        }
        if (errno == ERANGE)
                return refuse_at(builder, builder->event.start_mark,
                                 "the integer %.40s has more than 64 bits: quote it to keep it as a string", text);
        return 0;
}

/* Converts a plain scalar by the core schema of YAML 1.2. */
static int convert_plain(Builder *builder, const char *text, Value *ret) {
        if (IS_ONE_OF(text, "", "~", "null", "Null", "NULL")) {
                ret->type = VALUE_NULL;
                return 0;
        }
        if (IS_ONE_OF(text, "true", "True", "TRUE", "false", "False", "FALSE")) {
                *ret = (Value){ .type = VALUE_BOOL, .boolean = text[0] == 't' || text[0] == 'T' };
                return 0;
        }
        if (looks_like_integer(text))
                return convert_integer(builder, text, text, 10, ret);
        if (strncmp(text, "0x", 2) == 0 && text[2] && strspn(text + 2, "0123456789abcdefABCDEF") == strlen(text + 2))
                return convert_integer(builder, text, text + 2, 16, ret);
        if (strncmp(text, "0o", 2) == 0 && text[2] && strspn(text + 2, "01234567") == strlen(text + 2))
                return convert_integer(builder, text, text + 2, 8, ret);
        if (looks_like_float(text)) {
                *ret = (Value){ .type = VALUE_DOUBLE, .number = strtod(text, NULL) };
                if (isinf(ret->number))
                        return refuse_at(builder, builder->event.start_mark,
                                         "the number %.40s is beyond 1.7976931348623157e308: quote it to keep it as "
                                         "a string", text);
                return 0;
        }
        if (IS_ONE_OF(text, ".inf", ".Inf", ".INF", "+.inf", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN"))
                return refuse_at(builder, builder->event.start_mark, "JSON has no number %s: use null or leave it out",
                                 text);

        ret->type = VALUE_STRING;
        ret->string = text;
        return 0;
}

static int copy_text(Builder *builder, const char **ret) {
        const char *text = (const char *)builder->event.data.scalar.value;
        size_t n = builder->event.data.scalar.length;

        if (memchr(text, '\0', n))
                return refuse_at(builder, builder->event.start_mark, "a string must not contain NUL");
        *ret = arena_strndup(builder->arena, text, n);
        return *ret ? 0 : YAML_TOO_LARGE;
}

static int refuse_tag(Builder *builder, const yaml_char_t *tag) {
        if (!tag)
                return 0;
        return refuse_at(builder, builder->event.start_mark, "unknown tag %.60s: remove it", (const char *)tag);
}

static int read_scalar(Builder *builder, Value *ret) {
        const char *text;
        int r;

        r = refuse_tag(builder, builder->event.data.scalar.tag);
        if (r == 0)
                r = copy_text(builder, &text);
        if (r != 0)
                return r;
        if (builder->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
                return convert_plain(builder, text, ret);

        *ret = (Value){ .type = VALUE_STRING, .string = text };
        return 0;
}

/* --- collections -------------------------------------------------------------------------------- */

static int read_node(Builder *builder, unsigned depth, Value *ret);

/* members: the n members before, the last in front. */
static int read_key(Builder *builder, const Member *members, size_t n, const char **ret) {
        int r;

        if (builder->event.type != YAML_SCALAR_EVENT)
                return refuse_at(builder, builder->event.start_mark,
                                 "a key must be a plain word, not a list or a mapping");
        r = copy_text(builder, ret);
        if (r != 0)
                return r;

        for (size_t i = 0; i < n; i++)
                if (strcmp(members[i].key, *ret) == 0)
                        return refuse_at(builder, builder->event.start_mark, "the key '%.60s' is given twice: keep one",
                                         *ret);
        return 0;
}

/* Reads the n-th member into the memory in front of those before. */
static int read_member(Builder *builder, unsigned depth, size_t n, Member *ret) {
        if (n == YAML_KEYS_MAX)
                return refuse_at(builder, builder->event.start_mark, "a mapping has more than %u keys", YAML_KEYS_MAX);
        return read_key(builder, ret + 1, n, &ret->key) ?: step(builder) ?: read_node(builder, depth, &ret->value);
}

/* Members or items are pushed, and taken from there when their number is known. */
static int read_all(Builder *builder, unsigned depth, bool is_object, Value *ret) {
        const yaml_event_type_t end = is_object ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
        size_t n = 0, n_bytes = is_object ? sizeof(Member) : sizeof(Value);
        void *pushed;
        int r;

        while ((r = step(builder)) == 0 && builder->event.type != end) {
                pushed = arena_push(builder->arena, n_bytes);
                if (!pushed)
                        return YAML_TOO_LARGE;
                r = is_object ? read_member(builder, depth, n, pushed) : read_node(builder, depth, pushed);
                if (r != 0)
                        return r;
                n++;
        }
        if (r != 0)
                return r;

        pushed = arena_take_pushed(builder->arena, n, n_bytes);
        if (!pushed)
                return YAML_TOO_LARGE;
        *ret = is_object ? (Value){ .type = VALUE_OBJECT, .members = pushed, .n_members = n } :
                           (Value){ .type = VALUE_LIST, .items = pushed, .n_items = n };
        return 0;
}

/* Reads the node that starts at the current event; afterwards the current event is the last of the node. */
static int read_node(Builder *builder, unsigned depth, Value *ret) {
        int r;

        if (depth > VALUE_DEPTH_MAX)
                return refuse_at(builder, builder->event.start_mark, "nested deeper than %d lists and mappings",
                                 VALUE_DEPTH_MAX);

        *ret = (Value){};
        switch ((int)builder->event.type) {
        case YAML_SCALAR_EVENT:
                return read_scalar(builder, ret);
        case YAML_SEQUENCE_START_EVENT:
                r = refuse_tag(builder, builder->event.data.sequence_start.tag);
                return r != 0 ? r : read_all(builder, depth + 1, false, ret);
        case YAML_MAPPING_START_EVENT:
                r = refuse_tag(builder, builder->event.data.mapping_start.tag);
                return r != 0 ? r : read_all(builder, depth + 1, true, ret);
        case YAML_ALIAS_EVENT:
                return refuse_at(builder, builder->event.start_mark,
                                 "aliases (*name) are not supported: repeat the aliased part");
        }

        return refuse_at(builder, builder->event.start_mark, "not YAML");
}

static int read_document(Builder *builder, Value *ret) {
        int r;

        do
                r = step(builder);
        while (r == 0 &&
               (builder->event.type == YAML_STREAM_START_EVENT || builder->event.type == YAML_DOCUMENT_START_EVENT));
        if (r != 0)
                return r;
        if (builder->event.type == YAML_STREAM_END_EVENT)
                return 0;

        r = read_node(builder, 0, ret);
        while (r == 0 && builder->event.type != YAML_STREAM_END_EVENT) {
                r = step(builder);
                if (r == 0 && builder->event.type == YAML_DOCUMENT_START_EVENT)
                        return refuse_at(builder, builder->event.start_mark,
                                         "a second document: a file may have only one");
        }
        return r;
}

int yaml_read(const char *text, size_t n, Arena *arena, const Value **ret, YamlError *ret_error) {
        scoped(builder_deinit) Builder builder = { .arena = arena, .error = ret_error };
        size_t n_pushed = arena->n_pushed;
        Value *value;
        int r;

        *ret_error = (YamlError){ .line = 1, .column = 1 };
        if (builder_init(&builder, text, n) < 0)
                return -ENOMEM;

        value = arena_alloc(arena, sizeof(*value));
        if (!value)
                return YAML_TOO_LARGE;
        *value = (Value){ .type = VALUE_NULL };
        r = read_document(&builder, value);
        if (r == 0)
                *ret = value;
        else
                (void)arena_pop(arena, arena->n_pushed - n_pushed);
        return r;
}

size_t yaml_arena_size(size_t n) {
        /* The densest text is a list of lists, "[[],[],": an item that is pushed and taken, and padding, for three
         * bytes. */
        return 4096 + n * (2 * sizeof(Member) + 32);
}

/* --- positions ------------------------------------------------------------------------------------ */

#define LOCATE_PATH_MAX 1024U

/* A list or mapping that contains the current event. */
typedef struct YamlLevel {
        bool is_mapping, has_key;
        size_t n_items, n_path; /* n_path: length of the path of the list or mapping */
} YamlLevel;

typedef struct YamlWalk {
        YamlLevel levels[VALUE_DEPTH_MAX + 1];
        size_t n_levels;
        char path[LOCATE_PATH_MAX]; /* path of the current node */
} YamlWalk;

static void walk_name(YamlWalk *walk, const YamlLevel *level, const char *key) {
        char *end = walk->path + level->n_path;

        if (key)
                (void)snprintf(end, LOCATE_PATH_MAX - level->n_path, "%s%s", level->n_path > 0 ? "." : "", key);
        else
                (void)snprintf(end, LOCATE_PATH_MAX - level->n_path, "[%zu]", level->n_items);
}

/* Returns true if the event is a key or an item of a list, which have a path; walk->path is then that path. */
static bool walk_enter(YamlWalk *walk, const yaml_event_t *event) {
        YamlLevel *level = walk->n_levels > 0 ? &walk->levels[walk->n_levels - 1] : NULL;
        bool is_key = level && level->is_mapping && !level->has_key;

        if (is_key && event->type == YAML_SCALAR_EVENT)
                walk_name(walk, level, (const char *)event->data.scalar.value);
        else if (level && !level->is_mapping)
                walk_name(walk, level, NULL);
        if (level && level->is_mapping)
                level->has_key = is_key;
        if (level)
                level->n_items++;
        if (event->type != YAML_SCALAR_EVENT)
                walk->levels[walk->n_levels++] = (YamlLevel){
                        .is_mapping = event->type == YAML_MAPPING_START_EVENT,
                        .n_path = strlen(walk->path),
                };
        return level && (is_key || !level->is_mapping);
}

/* Returns the length of the part of the wanted path that the current node matches; 0 if none. */
static size_t walk_match(const YamlWalk *walk, const char *wanted) {
        size_t n = strlen(walk->path);

        return strncmp(walk->path, wanted, n) == 0 && (wanted[n] == '\0' || wanted[n] == '.' || wanted[n] == '[') ? n
                                                                                                                  : 0;
}

void yaml_locate(const char *text, size_t n, const char *path, unsigned *ret_line, unsigned *ret_column) {
        YamlError ignored;
        scoped(builder_deinit) Builder builder = { .error = &ignored };
        size_t n_best = 0;
        YamlWalk walk = {};

        *ret_line = *ret_column = 1;
        if (builder_init(&builder, text, n) < 0)
                return;

        while (step(&builder) == 0 && builder.event.type != YAML_STREAM_END_EVENT && walk.n_levels <= VALUE_DEPTH_MAX) {
                const yaml_event_t *event = &builder.event;

                if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT)
                        walk.n_levels--;
                if (event->type != YAML_SCALAR_EVENT && event->type != YAML_SEQUENCE_START_EVENT &&
                    event->type != YAML_MAPPING_START_EVENT)
                        continue;
                if (walk_enter(&walk, event) && walk_match(&walk, path) > n_best) {
                        n_best = walk_match(&walk, path);
                        *ret_line = (unsigned)event->start_mark.line + 1;
                        *ret_column = (unsigned)event->start_mark.column + 1;
                }
        }
}
