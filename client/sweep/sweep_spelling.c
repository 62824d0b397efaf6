/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/sweep_spelling.h"

#include <stdio.h>
#include <string.h>

#include "client/sweep/sweep_text.h"
#include "text/yaml.h"

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

        if (value->type != VALUE_DOUBLE || speller->n_checked++ >= SWEEP_SPELLING_CHECKED_MAX)
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
        buffer_printf(speller->warnings, "%s: %.*s is the number %s: quote it where it is a text\n", path, (int)n_digits, written,
                      passed.text);
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

void sweep_spelling_check(const Value *file, const char *text, size_t n, Buffer *warnings) {
        Speller speller = { .text = text, .n = n, .warnings = warnings };
        const Value *extra = value_get(file, "extra");
        char where[32];

        check_block(&speller, "settings", value_get(file, "settings"));
        for (size_t i = 0; extra && extra->type == VALUE_LIST && i < extra->n_items; i++) {
                (void)snprintf(where, sizeof(where), "extra[%zu]", i);
                check_block(&speller, where, &extra->items[i]);
        }
}
