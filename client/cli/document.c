/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/document.h"

#include <errno.h>
#include <string.h>

#include "client/cli/message.h"
#include "text/yaml.h"
#include "value/value_parse.h"

/*
 * Tries to parse the text as one complete JSON document; all other texts are left to the YAML parser, which reports
 * errors.
 */
static int try_json(const Buffer *text, Arena *arena, const Value **ret) {
        const Value *value, *more;
        ValueReader reader;
        ValueError error;
        int r;

        value_parse_begin(&reader, text->text, text->n);
        r = value_parse_next(&reader, arena, &value, &error);
        if (r == 0 && value_parse_next(&reader, arena, &more, &error) != VALUE_END)
                return VALUE_MALFORMED;
        if (r == 0)
                *ret = value;
        return r;
}

int document_parse(const Buffer *text, const char *file, Arena *arena, const Value **ret) {
        YamlError error;
        int r;

        if (text->n > 0 && text->text[strspn(text->text, " \t\r\n")] == '{') {
                r = try_json(text, arena, ret);
                if (r <= 0)
                        return r;
                arena_reset(arena);
        }

        r = yaml_read(text->n > 0 ? text->text : "", text->n, arena, ret, &error);
        if (r == YAML_TOO_LARGE)
                return -ENOMEM;
        if (r == YAML_MALFORMED) {
                message_print("%s:%u:%u: %s", file, error.line, error.column, error.text);
                return DOCUMENT_WRONG;
        }
        return r;
}

size_t document_arena_size(size_t n) {
        return yaml_arena_size(n) > value_parse_arena_size(n) ? yaml_arena_size(n) : value_parse_arena_size(n);
}
