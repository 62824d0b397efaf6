/* SPDX-License-Identifier: Apache-2.0 */
#include "value/shorten.h"

#include <errno.h>
#include <string.h>

#include "util/utf8.h"

#define MARK "_cut"

static bool is_long(const Value *value, size_t string_max) {
        return value->type == VALUE_STRING && strlen(value->string) > string_max;
}

static bool has_long(const Value *value, size_t string_max) {
        if (value->type == VALUE_LIST)
                for (size_t i = 0; i < value->n_items; i++)
                        if (has_long(&value->items[i], string_max))
                                return true;
        if (value->type == VALUE_OBJECT)
                for (size_t i = 0; i < value->n_members; i++)
                        if (has_long(&value->members[i].value, string_max))
                                return true;
        return is_long(value, string_max);
}

static bool goes_on(char c) {
        return ((unsigned char)c & 0xc0) == 0x80;
}

static int shorten_text(const char *text, bool keeps_end, size_t string_max, Arena *arena, Value *ret) {
        if (keeps_end) {
                text += strlen(text) - string_max;
                while (goes_on(*text))
                        text++;
        }

        ret->type = VALUE_STRING;
        ret->string = arena_strndup(arena, text, utf8_cut(text, string_max));
        return ret->string ? 0 : -ENOMEM;
}

static int shorten(const Value *from, const char *key, size_t string_max, Arena *arena, Value *ret);

static int shorten_list(const Value *from, size_t string_max, Arena *arena, Value *ret) {
        Value *items = arena_alloc(arena, from->n_items * sizeof(*items));
        int r = items ? 0 : -ENOMEM;

        for (size_t i = 0; i < from->n_items && r == 0; i++)
                r = shorten(&from->items[i], NULL, string_max, arena, &items[i]);
        if (r == 0)
                *ret = (Value){ .type = VALUE_LIST, .items = items, .n_items = from->n_items };
        return r;
}

/* An existing mark is set to true. */
static int put_mark(const char *key, Arena *arena, Member *members, size_t *n) {
        size_t n_key = strlen(key);
        char *mark = arena_alloc(arena, n_key + sizeof(MARK));

        if (!mark)
                return -ENOMEM;
        memcpy(mark, key, n_key);
        memcpy(mark + n_key, MARK, sizeof(MARK));

        for (size_t i = 0; i < *n; i++)
                if (strcmp(members[i].key, mark) == 0) {
                        members[i].value = (Value){ .type = VALUE_BOOL, .boolean = true };
                        return 0;
                }
        members[(*n)++] = (Member){ .key = mark, .value = { .type = VALUE_BOOL, .boolean = true } };
        return 0;
}

static int shorten_object(const Value *from, size_t string_max, Arena *arena, Value *ret) {
        size_t n = from->n_members;
        Member *members = arena_alloc(arena, 2 * n * sizeof(*members));
        int r = members ? 0 : -ENOMEM;

        for (size_t i = 0; i < from->n_members && r == 0; i++) {
                members[i].key = from->members[i].key;
                r = shorten(&from->members[i].value, members[i].key, string_max, arena, &members[i].value);
        }
        for (size_t i = 0; i < from->n_members && r == 0; i++)
                if (is_long(&from->members[i].value, string_max))
                        r = put_mark(from->members[i].key, arena, members, &n);
        if (r == 0)
                *ret = (Value){ .type = VALUE_OBJECT, .members = members, .n_members = n };
        return r;
}

static int shorten(const Value *from, const char *key, size_t string_max, Arena *arena, Value *ret) {
        if (!has_long(from, string_max)) {
                *ret = *from;
                return 0;
        }
        if (from->type == VALUE_LIST)
                return shorten_list(from, string_max, arena, ret);
        if (from->type == VALUE_OBJECT)
                return shorten_object(from, string_max, arena, ret);
        return shorten_text(from->string, key && strcmp(key, "stderr") == 0, string_max, arena, ret);
}

int shorten_value(const Value *from, size_t string_max, Arena *arena, const Value **ret) {
        Value *value;
        int r;

        if (!has_long(from, string_max)) {
                *ret = from;
                return 0;
        }

        value = arena_alloc(arena, sizeof(*value));
        if (!value)
                return -ENOMEM;
        r = shorten(from, NULL, string_max, arena, value);
        if (r == 0)
                *ret = value;
        return r;
}
