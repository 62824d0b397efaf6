/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json_text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 64 /* perfd's own writer needs far fewer */

static bool is_blank(char c) {
        return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static const char *skip_blanks(const char *p, const char *end) {
        while (p < end && is_blank(*p))
                p++;
        return p;
}

/* Returns the position after the closing quote; NULL if there is none. */
static const char *skip_string(const char *p, const char *end) {
        for (p++; p < end; p += 2) {
                while (p < end && *p != '"' && *p != '\\')
                        p++;
                if (p < end && *p == '"')
                        return p + 1;
        }
        return NULL;
}

/* Returns the position after the bracket that closes the bracket at p; NULL if there is none. */
static const char *skip_nest(const char *p, const char *end) {
        size_t depth = 0;

        while (p && p < end)
                switch (*p) {
                case '"':
                        p = skip_string(p, end);
                        break;
                case '{':
                case '[':
                        depth++;
                        p++;
                        break;
                case '}':
                case ']':
                        p++;
                        if (--depth == 0)
                                return p;
                        break;
                default:
                        p++;
                }
        return NULL;
}

/* Bytes that end a number, true, false or null. */
static const bool ends_scalar[256] = {
        [','] = true, ['}'] = true,  [']'] = true,  [':'] = true,
        [' '] = true, ['\n'] = true, ['\t'] = true, ['\r'] = true,
};

static const char *skip_value(const char *p, const char *end) {
        const char *begin = p;

        if (p == end)
                return NULL;
        if (*p == '"')
                return skip_string(p, end);
        if (*p == '{' || *p == '[')
                return skip_nest(p, end);

        while (p < end && !ends_scalar[(unsigned char)*p])
                p++;
        return p > begin ? p : NULL;
}

JsonText json_text(const char *text, size_t n) {
        const char *p = text ? skip_blanks(text, text + n) : NULL, *end = text ? text + n : NULL;

        while (end > p && is_blank(end[-1]))
                end--;
        return p < end ? (JsonText){ p, (size_t)(end - p) } : (JsonText){};
}

JsonWalk json_text_walk(JsonText text) {
        bool is_object = text.n > 1 && text.text[0] == '{';

        if (!is_object && !(text.n > 1 && text.text[0] == '['))
                return (JsonWalk){};
        return (JsonWalk){ .p = text.text + 1, .end = text.text + text.n - 1, .is_object = is_object };
}

static bool walk_value(JsonWalk *walk, JsonText *ret) {
        const char *begin = skip_blanks(walk->p, walk->end), *end = skip_value(begin, walk->end);

        if (!end)
                return false;

        assert(begin < end && end <= walk->end);
        *ret = (JsonText){ begin, (size_t)(end - begin) };
        walk->p = skip_blanks(end, walk->end);
        return true;
}

static bool walk_key(JsonWalk *walk, JsonText *ret) {
        if (!walk_value(walk, ret) || ret->text[0] != '"' || walk->p == walk->end || *walk->p != ':')
                return false;

        walk->p++;
        return true;
}

bool json_text_walk_next(JsonWalk *walk, JsonText *ret_key, JsonText *ret_value) {
        JsonText key = {}, value;

        if (!walk->p || skip_blanks(walk->p, walk->end) == walk->end)
                return false;
        if ((walk->is_object && !walk_key(walk, &key)) || !walk_value(walk, &value)) {
                walk->is_broken = true;
                return false;
        }
        if (walk->p < walk->end)
                walk->is_broken |= *walk->p++ != ',';

        if (walk->is_object)
                *ret_key = key;
        *ret_value = value;
        return true;
}

bool json_text_equals(JsonText a, JsonText b) {
        return a.n == b.n && (a.n == 0 || memcmp(a.text, b.text, a.n) == 0);
}

JsonKind json_text_kind(JsonText text) {
        if (!text.text || text.n == 0)
                return JSON_KIND_NONE;

        switch (text.text[0]) {
        case '{':
                return JSON_KIND_OBJECT;
        case '[':
                return JSON_KIND_LIST;
        case '"':
                return JSON_KIND_STRING;
        case 't':
        case 'f':
                return JSON_KIND_BOOL;
        case 'n':
                return JSON_KIND_NULL;
        default:
                return JSON_KIND_NUMBER;
        }
}

/* --- numbers ------------------------------------------------------------------------------------- */

/* strtod() and strtoll() need a NUL-terminated copy: they take no length. */
static bool copy_number(JsonText text, char ret[static NUMBER_MAX]) {
        if (json_text_kind(text) != JSON_KIND_NUMBER || text.n >= NUMBER_MAX)
                return false;

        memcpy(ret, text.text, text.n);
        ret[text.n] = '\0';
        return true;
}

bool json_text_double(JsonText text, double *ret) {
        char number[NUMBER_MAX], *end;
        double v;

        if (!copy_number(text, number))
                return false;

        v = strtod(number, &end);
        if (*end || !isfinite(v))
                return false;

        *ret = v;
        return true;
}

bool json_text_int(JsonText text, int64_t *ret) {
        char number[NUMBER_MAX], *end;
        long long v;

        if (!copy_number(text, number))
                return false;

        errno = 0;
        v = strtoll(number, &end, 10);
        if (*end || errno != 0)
                return false;

        *ret = v;
        return true;
}

bool json_text_uint(JsonText text, uint64_t *ret) {
        char number[NUMBER_MAX], *end;
        unsigned long long v;

        if (!copy_number(text, number) || number[0] < '0' || number[0] > '9')
                return false;

        errno = 0;
        v = strtoull(number, &end, 10);
        if (*end || errno != 0)
                return false;

        *ret = v;
        return true;
}

/* --- strings ------------------------------------------------------------------------------------- */

static int hex4(const char *p, size_t n) {
        int v = 0;

        if (n < 4)
                return -1;
        for (int i = 0; i < 4; i++) {
                char c = p[i];
                int digit = c >= '0' && c <= '9'                 ? c - '0'
                            : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                                 : -1;

                if (digit < 0)
                        return -1;
                v = v * 16 + digit;
        }
        return v;
}

/* Reads four digits, or a surrogate pair. p: after "\u". */
static size_t read_unicode(const char *p, size_t n, uint32_t *ret) {
        int high = hex4(p, n), low = -1;

        if (high < 0)
                return 0;
        if (high >= 0xd800 && high < 0xdc00 && n >= 10 && p[4] == '\\' && p[5] == 'u')
                low = hex4(p + 6, n - 6);
        if (low >= 0xdc00 && low < 0xe000) {
                *ret = 0x10000 + ((uint32_t)high - 0xd800) * 1024 + ((uint32_t)low - 0xdc00);
                return 10;
        }

        *ret = (uint32_t)high;
        return 4;
}

size_t json_text_read_escape(const char *text, size_t n, uint32_t *ret) {
        static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        const char *name;
        size_t k;

        if (n == 0)
                return 0;
        if (text[0] == 'u') {
                k = read_unicode(text + 1, n - 1, ret);
                return k > 0 ? k + 1 : 0;
        }

        name = text[0] ? strchr(names, text[0]) : NULL;
        if (!name)
                return 0;
        *ret = (uint32_t)meanings[name - names];
        return 1;
}

size_t json_text_put_utf8(uint32_t code_point, char ret[static 4]) {
        static const unsigned char first_bits[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
        size_t n = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;

        assert(code_point <= 0x10ffff);

        for (size_t i = n - 1; i > 0; i--, code_point >>= 6)
                ret[i] = (char)(0x80 | (code_point & 63));
        ret[0] = (char)(first_bits[n] | code_point);
        return n;
}

/*
 * Decodes one character of a string, p before end, and returns the position after it. A malformed escape yields the
 * character after its backslash.
 */
static const char *decode_character(const char *p, const char *end, char ret[static 4], size_t *ret_n) {
        uint32_t code_point;
        size_t n;

        *ret_n = 1;
        ret[0] = *p++;
        if (ret[0] != '\\' || p == end)
                return p;

        n = json_text_read_escape(p, (size_t)(end - p), &code_point);
        if (n > 0 && !json_text_is_surrogate(code_point)) {
                *ret_n = json_text_put_utf8(code_point, ret);
                return p + n;
        }
        if (*p == 'u') {
                *ret_n = json_text_put_utf8(0xfffd, ret);
                return p + (n > 0 ? n : 1);
        }
        ret[0] = *p;
        return p + 1;
}

static const char *string_end(JsonText text) {
        return text.n > 1 ? text.text + text.n - 1 : text.text + text.n;
}

bool json_text_is_string(JsonText text, const char *plain, size_t n) {
        const char *p = text.text + 1, *end, *plain_end = plain + n;

        if (json_text_kind(text) != JSON_KIND_STRING)
                return false;

        for (end = string_end(text); p < end && *p != '\\' && plain < plain_end && *p == *plain; plain++)
                p++;
        if (p < end && *p != '\\')
                return false;
        while (p < end) { /* from the first escape on */
                char character[4];
                size_t k;

                p = decode_character(p, end, character, &k);
                if ((size_t)(plain_end - plain) < k || memcmp(plain, character, k) != 0)
                        return false;
                plain += k;
        }
        return plain == plain_end;
}

JsonText json_text_find_n(JsonText object, const char *key, size_t n) {
        JsonWalk walk = json_text_walk(object);
        JsonText name = {}, value;

        while (walk.is_object && json_text_walk_next(&walk, &name, &value))
                if (json_text_is_string(name, key, n))
                        return value;
        return (JsonText){};
}

JsonText json_text_find(JsonText object, const char *key) {
        return json_text_find_n(object, key, strlen(key));
}

JsonText json_text_find_key(JsonText object, JsonText key) {
        JsonWalk walk = json_text_walk(object);
        JsonText name = {}, value;

        while (walk.is_object && json_text_walk_next(&walk, &name, &value))
                if (json_text_equals(name, key))
                        return value;
        return (JsonText){};
}

JsonText json_text_find_path(JsonText object, const char *path) {
        JsonText found = json_text_find(object, path);
        JsonWalk walk = json_text_walk(object);
        JsonText name, value;

        if (found.text || !strchr(path, '.'))
                return found;
        while (walk.is_object && json_text_walk_next(&walk, &name, &value))
                for (const char *dot = strchr(path, '.'); dot && json_text_kind(value) == JSON_KIND_OBJECT;
                     dot = strchr(dot + 1, '.'))
                        if (json_text_is_string(name, path, (size_t)(dot - path))) {
                                found = json_text_find_path(value, dot + 1);
                                if (found.text)
                                        return found;
                        }
        return (JsonText){};
}

void json_text_decode(JsonText text, Buffer *out) {
        const char *end = text.text + text.n;

        if (json_text_kind(text) != JSON_KIND_STRING) {
                buffer_put(out, text.text, text.n);
                return;
        }

        end = string_end(text);
        buffer_put(out, "", 0);
        for (const char *p = text.text + 1; p < end;) {
                char character[4];
                size_t n;

                p = decode_character(p, end, character, &n);
                buffer_put(out, character, n);
        }
}

/* --- order --------------------------------------------------------------------------------------- */

typedef struct Entry {
        JsonText key, value;
} Entry;

static int on_compare(const void *a, const void *b) {
        const JsonText *x = &((const Entry *)a)->key, *y = &((const Entry *)b)->key;

        return memcmp(x->text, y->text, x->n < y->n ? x->n : y->n) ?: COMPARE(x->n, y->n);
}

/* Writes 512.0 and 5.12e2 as 512 if that is exact. */
static void put_value(JsonText value, Buffer *out) {
        int64_t integer;
        double number;

        if (!json_text_int(value, &integer) && json_text_double(value, &number) && fabs(number) < 0x1p53 &&
            number == trunc(number))
                buffer_printf(out, "%.0f", number + 0.0);
        else
                buffer_put(out, value.text, value.n);
}

static void put_members(const Entry *members, size_t n, Buffer *out) {
        buffer_putc(out, '{');
        for (size_t i = 0; i < n; i++) {
                if (i > 0)
                        buffer_putc(out, ',');
                buffer_put(out, members[i].key.text, members[i].key.n);
                buffer_putc(out, ':');
                put_value(members[i].value, out);
        }
        buffer_putc(out, '}');
}

void json_text_write(JsonText text, Json *json) {
        if (!text.text) {
                json_null(json);
                return;
        }

        json_raw(json, "");
        buffer_put(json->out, text.text, text.n);
}

int json_text_put_sorted(JsonText object, Buffer *out) {
        scoped(freep) Entry *many = NULL;
        Entry few[32], *members = few, *more;
        size_t n = 0, n_max = N_ELEMENTS(few);
        JsonWalk walk = json_text_walk(object);
        bool is_sorted = true;

        while (walk.is_object && json_text_walk_next(&walk, &members[n].key, &members[n].value)) {
                is_sorted &= n == 0 || on_compare(&members[n - 1], &members[n]) <= 0;
                if (++n < n_max)
                        continue;

                n_max *= 4;
                more = reallocarray(many, n_max, sizeof(*more));
                if (!more)
                        return -ENOMEM;
                if (members == few)
                        memcpy(more, few, sizeof(few));
                members = many = more;
        }

        if (!is_sorted)
                qsort(members, n, sizeof(*members), on_compare);
        put_members(members, n, out);
        return buffer_error(out);
}
