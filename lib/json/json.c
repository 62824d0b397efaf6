/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "util/utf8.h"

/* Appends a comma if the next key or value needs one. */
static void json_separate(Json *json) {
        if (json->after_key)
                json->after_key = false;
        else if (json->has_items[json->depth])
                buffer_putc(json->out, ',');

        json->has_items[json->depth] = true;
}

static void json_open(Json *json, char bracket) {
        assert(json->depth < JSON_DEPTH_MAX);

        json_separate(json);
        buffer_putc(json->out, bracket);
        json->depth++;
        json->has_items[json->depth] = false;
}

static void json_close(Json *json, char bracket) {
        assert(json->depth > 0);

        buffer_putc(json->out, bracket);
        json->depth--;
}

void json_object_begin(Json *json) {
        json_open(json, '{');
}

void json_object_end(Json *json) {
        json_close(json, '}');
}

void json_array_begin(Json *json) {
        json_open(json, '[');
}

void json_array_end(Json *json) {
        json_close(json, ']');
}

static void put_escape(Buffer *out, unsigned char c) {
        static const char escaped[] = "\"\\\n\t\r", letters[] = "\"\\ntr";
        const char *at = memchr(escaped, c, sizeof(escaped) - 1);

        if (at) {
                buffer_putc(out, '\\');
                buffer_putc(out, letters[at - escaped]);
        } else
                buffer_printf(out, "\\u%04x", c);
}

static bool is_plain(char c) {
        return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void json_string_n(Json *json, const char *text, size_t n) {
        const char *p = text, *end = text + n;

        json_separate(json);
        buffer_putc(json->out, '"');

        while (p < end) {
                const char *run = p;
                size_t k;

                while (p < end && is_plain(*p))
                        p++;
                buffer_put(json->out, run, (size_t)(p - run));
                if (p == end)
                        break;

                k = utf8_length(p, (size_t)(end - p));
                if (k == 0)
                        buffer_puts(json->out, UTF8_REPLACEMENT);
                else if (k == 1)
                        put_escape(json->out, (unsigned char)*p);
                else if (utf8_is_unsafe(utf8_decode(p, k))) /* JSON may be printed on terminals */
                        buffer_printf(json->out, "\\u%04x", utf8_decode(p, k));
                else
                        buffer_put(json->out, p, k);
                p += k > 0 ? k : 1;
        }

        buffer_putc(json->out, '"');
}

void json_string(Json *json, const char *text) {
        json_string_n(json, text, strlen(text));
}

void json_key(Json *json, const char *key) {
        json_string(json, key);
        buffer_putc(json->out, ':');
        json->after_key = true;
}

void json_int(Json *json, int64_t v) {
        json_separate(json);
        buffer_put_i64(json->out, v);
}

void json_uint(Json *json, uint64_t v) {
        json_separate(json);
        buffer_put_u64(json->out, v);
}

void json_double(Json *json, double v) {
        size_t n_before;

        if (!isfinite(v)) {
                json_null(json);
                return;
        }

        json_separate(json);
        n_before = json->out->n;
        if (v == 0 && signbit(v))
                buffer_puts(json->out, "-0.0");
        else
                buffer_put_double(json->out, v);

        if (buffer_error(json->out) == 0 && !strpbrk(json->out->text + n_before, ".e"))
                buffer_puts(json->out, ".0");
}

void json_bool(Json *json, bool v) {
        json_raw(json, v ? "true" : "false");
}

void json_null(Json *json) {
        json_raw(json, "null");
}

void json_raw(Json *json, const char *text) {
        json_separate(json);
        buffer_puts(json->out, text);
}

void json_put_string(Json *json, const char *key, const char *text) {
        json_key(json, key);
        if (text)
                json_string(json, text);
        else
                json_null(json);
}

void json_put_int(Json *json, const char *key, int64_t v) {
        json_key(json, key);
        json_int(json, v);
}

void json_put_uint(Json *json, const char *key, uint64_t v) {
        json_key(json, key);
        json_uint(json, v);
}

void json_put_double(Json *json, const char *key, double v) {
        json_key(json, key);
        json_double(json, v);
}

void json_put_bool(Json *json, const char *key, bool v) {
        json_key(json, key);
        json_bool(json, v);
}

void json_put_object_begin(Json *json, const char *key) {
        json_key(json, key);
        json_object_begin(json);
}

void json_put_array_begin(Json *json, const char *key) {
        json_key(json, key);
        json_array_begin(json);
}

void json_put_int_or_null(Json *json, const char *key, bool is_there, int64_t v) {
        if (is_there)
                json_put_int(json, key, v);
        else
                json_put_string(json, key, NULL);
}

void json_put_double_or_null(Json *json, const char *key, bool is_there, double v) {
        if (is_there)
                json_put_double(json, key, v);
        else
                json_put_string(json, key, NULL);
}

void json_put_text_or_null(Json *json, const char *key, const char *text) {
        json_put_string(json, key, text && *text ? text : NULL);
}
