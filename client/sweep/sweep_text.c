/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/sweep_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text/yaml.h"
#include "util/nearest.h"
#include "util/utf8.h"

#define SPELLINGS_CHECKED_MAX 200U /* numbers with a point: each is searched in the whole text */

/* Adds a decimal point, since YAML 1.1 reads 1e+20 as a string. */
static void put_double(Buffer *out, double number) {
        scoped(buffer_deinit) Buffer text = {};
        size_t n;

        buffer_put_double(&text, number);
        if (buffer_error(&text) < 0) {
                out->failed = true;
                return;
        }
        n = strcspn(text.text, "e");
        buffer_put(out, text.text, n);
        if (!memchr(text.text, '.', n))
                buffer_puts(out, ".0");
        buffer_puts(out, text.text + n);
}

void sweep_text_put(Buffer *out, const Value *value) {
        switch (value->type) {
        case VALUE_NULL:
                buffer_puts(out, "null");
                break;
        case VALUE_BOOL:
                buffer_puts(out, value->boolean ? "true" : "false");
                break;
        case VALUE_INT:
                buffer_printf(out, "%" PRId64, value->integer);
                break;
        case VALUE_UINT:
                buffer_printf(out, "%" PRIu64, value->natural);
                break;
        case VALUE_DOUBLE:
                put_double(out, value->number);
                break;
        case VALUE_STRING:
                buffer_puts(out, value->string);
                break;
        case VALUE_LIST:
        case VALUE_OBJECT:
                break;
        }
}

/* --- YAML ----------------------------------------------------------------------------------------- */

/* Characters that YAML treats as not printable or as a line break. */
static bool must_escape(uint32_t c) {
        return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe ||
               c == 0xffff;
}

static void put_quoted(Buffer *out, const char *text) {
        size_t n = strlen(text);

        buffer_putc(out, '"');
        while (n > 0) {
                size_t k = utf8_length(text, n);
                uint32_t c = k > 0 ? utf8_decode(text, k) : 0xfffd;

                if (c == '"' || c == '\\')
                        buffer_printf(out, "\\%c", (char)c);
                else if (c == '\n')
                        buffer_puts(out, "\\n");
                else if (must_escape(c) || k == 0)
                        buffer_printf(out, "\\u%04x", c);
                else
                        buffer_put(out, text, k);
                text += k > 0 ? k : 1;
                n -= k > 0 ? k : 1;
        }
        buffer_putc(out, '"');
}

/* Returns true if every reader reads the key as a string; some do not for "yes", "n" and "12". */
static bool is_plain(const char *key) {
        static const char *const words[] = { "y", "n", "yes", "no", "on", "off", "true", "false", "null" };

        if (!strchr("abcdefghijklmnopqrstuvwxyz", key[0]) ||
            strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_-") != strlen(key))
                return false;
        return key[0] != '\0' && !nearest_is_among(key, words, N_ELEMENTS(words));
}

void sweep_text_put_yaml(Buffer *out, const char *key, const Value *value) {
        if (is_plain(key))
                buffer_puts(out, key);
        else
                put_quoted(out, key);
        buffer_puts(out, ": ");
        if (value->type == VALUE_STRING)
                put_quoted(out, value->string);
        else
                sweep_text_put(out, value);
        buffer_putc(out, '\n');
}

/* --- identity ------------------------------------------------------------------------------------- */

static int compare_members(const void *a, const void *b) {
        return strcmp(((const Member *)a)->key, ((const Member *)b)->key);
}

int sweep_text_identify(const Value *settings, Buffer *out) {
        Member sorted[SWEEP_SETTINGS_MAX];

        if (settings->type != VALUE_OBJECT || settings->n_members > SWEEP_SETTINGS_MAX)
                return SWEEP_TEXT_OTHER;

        for (size_t i = 0; i < settings->n_members; i++) {
                sorted[i] = settings->members[i];
                if (sorted[i].value.type == VALUE_LIST || sorted[i].value.type == VALUE_OBJECT)
                        return SWEEP_TEXT_OTHER;
        }
        qsort(sorted, settings->n_members, sizeof(*sorted), compare_members);

        for (size_t i = 0; i < settings->n_members; i++) {
                scoped(buffer_deinit) Buffer text = {};

                sweep_text_put(&text, &sorted[i].value);
                out->failed |= text.failed;
                sweep_text_put_yaml(out, sorted[i].key, &(Value){ .type = VALUE_STRING, .string = text.text ?: "" });
        }
        return buffer_error(out);
}

/* --- spelling ------------------------------------------------------------------------------------- */

typedef struct Speller {
        const char *text;
        size_t n;
        Buffer *warnings;
        size_t n_checked;
} Speller;

/* Returns the text at a place. Columns count characters; a number has one byte for each. */
static const char *find_place(const Speller *speller, unsigned line, unsigned column) {
        const char *at = speller->text, *end = speller->text + speller->n;

        while (at && line-- > 1) {
                at = memchr(at, '\n', (size_t)(end - at));
                at = at ? at + 1 : NULL;
        }
        while (at && at < end && column > 1)
                column -= ((unsigned char)*at++ & 0xc0) != 0x80; /* only the first byte of a character counts */
        while (at && at < end && ((unsigned char)*at & 0xc0) == 0x80)
                at++;
        return at;
}

/* Returns the value behind a key, which may be quoted. The text ends with NUL. */
static const char *find_value(const char *at, const char *key) {
        at += *at == '"' || *at == '\'';
        if (strncmp(at, key, strlen(key)) != 0)
                return NULL;
        at += strlen(key);
        at += *at == '"' || *at == '\'';
        at += strspn(at, " \t");
        return *at == ':' ? at + 1 + strspn(at + 1, " \t\r\n") : NULL;
}

/* key: of the mapping to which the path leads; NULL: the path leads to the number. */
static void check_number(Speller *speller, const char *path, const char *key, const Value *value) {
        scoped(buffer_deinit) Buffer passed = {};
        unsigned line, column;
        const char *written;
        size_t n, n_digits;

        if (value->type != VALUE_DOUBLE || speller->n_checked++ >= SPELLINGS_CHECKED_MAX)
                return;

        yaml_locate(speller->text, speller->n, path, &line, &column);
        written = find_place(speller, line, column);
        if (written && key)
                written = find_value(written, key);
        sweep_text_put(&passed, value);
        n = written ? (size_t)(speller->text + speller->n - written) : 0;
        if (!passed.text || n <= passed.n || memcmp(written, passed.text, passed.n) != 0 || written[passed.n] != '0')
                return;

        for (n_digits = passed.n; n_digits < n && written[n_digits] == '0';)
                n_digits++;
        buffer_printf(speller->warnings, "%s: %.*s is read as the number %s: quote it if it is text\n", path,
                      (int)n_digits, written, passed.text);
}

static void check_block(Speller *speller, const char *where, const Value *block) {
        char path[300];

        if (!block || block->type != VALUE_OBJECT)
                return;
        for (size_t i = 0; i < block->n_members; i++) {
                const Value *value = &block->members[i].value;

                (void)snprintf(path, sizeof(path), "%s.%s", where, block->members[i].key);
                check_number(speller, path, block->members[i].key, value);
                for (size_t k = 0; value->type == VALUE_LIST && k < value->n_items; k++) {
                        (void)snprintf(path, sizeof(path), "%s.%s[%zu]", where, block->members[i].key, k);
                        check_number(speller, path, NULL, &value->items[k]);
                }
        }
}

void sweep_text_check_spelling(const Value *file, const char *text, size_t n, Buffer *warnings) {
        Speller speller = { .text = text, .n = n, .warnings = warnings };
        const Value *extra = value_get(file, "extra");
        char where[32];

        check_block(&speller, "settings", value_get(file, "settings"));
        for (size_t i = 0; extra && extra->type == VALUE_LIST && i < extra->n_items; i++) {
                (void)snprintf(where, sizeof(where), "extra[%zu]", i);
                check_block(&speller, where, &extra->items[i]);
        }
}
