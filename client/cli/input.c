/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "text/encoding.h"
#include "text/yaml.h"
#include "util/error_text.h"
#include "value/value_parse.h"

static bool is_standard_input(const char *file) {
        return strcmp(file, "-") == 0;
}

const char *input_name(const char *file) {
        return is_standard_input(file) ? "standard input" : file;
}

int input_read_fd(int fd, Buffer *ret) {
        ssize_t k;

        ret->n_max = INPUT_BYTES_MAX;
        do
                k = buffer_read(ret, fd);
        while (k > 0 || k == -EINTR);
        ret->n_max = 0;
        return k == 0 && ret->n > 0 && encoding_unify(ret->text, &ret->n) == ENCODING_FOREIGN ? -EILSEQ : (int)k;
}

int input_read(const char *file, Buffer *ret) {
        bool is_standard = is_standard_input(file);
        scoped(closep) int opened = is_standard ? -1 : open(file, O_RDONLY | O_CLOEXEC);
        int r;

        r = is_standard || opened >= 0 ? input_read_fd(is_standard ? STDIN_FILENO : opened, ret) : -errno;
        if (r == 0)
                return EXIT_DONE;

        if (r == -EFBIG)
                message_print("cannot read %s: more than %u MiB; split it", input_name(file), INPUT_BYTES_MAX >> 20);
        else if (r == -EILSEQ)
                message_print("%s:1: " ENCODING_FOREIGN_TEXT, input_name(file));
        else
                message_print("cannot read %s: %s", input_name(file), error_text(-r));
        return EXIT_FAILED;
}

/* --- documents ------------------------------------------------------------------------------------- */

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

int input_parse(const Buffer *text, const char *file, Arena *arena, const Value **ret) {
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
                return INPUT_WRONG;
        }
        return r;
}

size_t input_arena_size(size_t n) {
        return yaml_arena_size(n) > value_parse_arena_size(n) ? yaml_arena_size(n) : value_parse_arena_size(n);
}
