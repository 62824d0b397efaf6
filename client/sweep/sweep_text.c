/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/sweep_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/nearest.h"
#include "util/utf8.h"

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
