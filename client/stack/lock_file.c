/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/lock_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/document.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/stack/lock_reader.h"
#include "stack/stack.h"
#include "util/utf8.h"

/* --- for the readers -------------------------------------------------------------------------------- */

int lock_reader_refuse(LockReader *reader, unsigned line, const char *format, ...) {
        va_list args;

        va_start(args, format);
        utf8_vformat(reader->error, sizeof(reader->error), format, args);
        va_end(args);
        reader->line = line;
        return LOCK_READER_INVALID;
}

int lock_reader_add(LockReader *reader, const DraftPackage *package) {
        if (reader->stack->n == STACK_PACKAGES_MAX)
                return lock_reader_refuse(reader, package->line, "has more than %u packages: a result can have up to %u",
                                          STACK_PACKAGES_MAX, STACK_PACKAGES_MAX);
        stack_builder_add(reader->stack, package);
        return reader->stack->failed ? -ENOMEM : 0;
}

/* --- forms ------------------------------------------------------------------------------------------ */

static bool is_list(const Value *value) {
        return value && value->type == VALUE_LIST;
}

static bool is_pipfile(const LockReader *reader) {
        return value_get(reader->document, "_meta") && value_get(reader->document, "default");
}

static bool is_conda_list(const LockReader *reader) {
        return is_list(reader->document);
}

static bool is_conda_environment(const LockReader *reader) {
        return is_list(value_get(reader->document, "dependencies"));
}

static bool is_conda_lock(const LockReader *reader) {
        return is_list(value_get(reader->document, "package"));
}

static bool is_explicit(const LockReader *reader) {
        return !reader->document && lock_reader_has_line(reader, "@EXPLICIT");
}

static bool is_toml(const LockReader *reader) {
        return !reader->document && lock_reader_has_line(reader, "[[package]]");
}

static bool is_requirements(const LockReader *reader) {
        return !reader->document;
}

typedef struct LockForm {
        const char *name;
        bool (*recognise)(const LockReader *reader);
        int (*read)(LockReader *reader);
} LockForm;

static const LockForm forms[] = { /* the first that recognises a file reads it */
        { "Pipfile.lock", is_pipfile, lock_reader_read_pipfile },
        { "conda list --json", is_conda_list, lock_reader_read_conda_list },
        { "environment.yml", is_conda_environment, lock_reader_read_conda_environment },
        { "conda-lock.yml", is_conda_lock, lock_reader_read_conda_lock },
        { "conda list --explicit", is_explicit, lock_reader_read_explicit },
        { "poetry.lock or uv.lock", is_toml, lock_reader_read_toml },
        { "requirements.txt", is_requirements, lock_reader_read_requirements },
};

static int refuse_form(LockReader *reader) {
        scoped(buffer_deinit) Buffer names = {};

        for (size_t i = 0; i < N_ELEMENTS(forms); i++)
                buffer_printf(&names, "%s, ", forms[i].name);
        if (buffer_error(&names) < 0)
                return -ENOMEM;
        return lock_reader_refuse(reader, 0, "is not a list of packages: expected %sor a stack document", names.text);
}

/* A document of a stack has `packages` with names. */
static bool is_stack(const Value *document) {
        return is_list(value_get(document, "packages")) && !value_get(document, "_meta");
}

/* --- checks ----------------------------------------------------------------------------------------- */

/* Refuses a text that is not UTF-8, and one with a NUL. */
static int check_text(LockReader *reader) {
        unsigned line = 1;

        for (size_t at = 0, n; at < reader->n; at += n) {
                n = utf8_length(reader->text + at, reader->n - at);
                if (n == 0 || reader->text[at] == '\0')
                        return lock_reader_refuse(reader, line, n == 0 ? "is not UTF-8: convert the file" : "has a NUL byte");
                line += reader->text[at] == '\n';
        }
        return 0;
}

/* Finds the line of the later of two packages with one name, or of the package that the complaint names. */
static unsigned find_line(const StackBuilder *stack, const Complaint *complaint) {
        size_t index;

        if (sscanf(complaint->path, "packages[%zu]", &index) == 1 && index < stack->n)
                return stack->lines[index];
        for (size_t i = stack->n; i-- > 0;) {
                scoped(buffer_deinit) Buffer name = {};

                buffer_putc(&name, '\'');
                stack_put_name(value_get_string(&stack->packages[i], "name"), value_get_string(&stack->packages[i], "kind"), &name);
                buffer_putc(&name, '\'');
                if (buffer_error(&name) == 0 && strstr(complaint->text, name.text))
                        return stack->lines[i];
        }
        return 0;
}

static int check_stack(LockReader *reader, const Value *document) {
        scoped(arena_deinit) Arena arena = {};
        Complaint complaint;
        Stack stack;
        int r;

        r = arena_init(&arena, reader->stack->arena->n_max);
        if (r == 0)
                r = stack_from_value(document, &arena, &stack, &complaint);
        if (r != STACK_INVALID)
                return r;
        return lock_reader_refuse(reader, find_line(reader->stack, &complaint), "%s%s%s", complaint.path, complaint.path[0] ? " " : "",
                                  complaint.text);
}

/* --- reading ---------------------------------------------------------------------------------------- */

static bool is_document(const LockReader *reader) {
        char first = reader->text[strspn(reader->text, " \t\r\n")];

        return first == '{' || (first == '[' && !is_toml(reader)) || lock_reader_has_line(reader, "dependencies:") ||
               lock_reader_has_line(reader, "package:");
}

static int read_form(LockReader *reader, const Value **ret) {
        int r;

        for (size_t i = 0; i < N_ELEMENTS(forms); i++) {
                if (!forms[i].recognise(reader))
                        continue;
                r = forms[i].read(reader);
                if (r == 0 && reader->stack->n == 0)
                        return lock_reader_refuse(reader, 0, "names no package (read as %s)", forms[i].name);
                return r == 0 ? stack_builder_end(reader->stack, ret) : r;
        }
        return refuse_form(reader);
}

static int read_text(LockReader *reader, const char *file, const Buffer *text, const Value **ret) {
        int r;

        r = check_text(reader);
        if (r == 0 && is_document(reader)) {
                r = document_parse(text, input_name(file), reader->stack->arena, &reader->document);
                if (r == DOCUMENT_WRONG) {
                        reader->error[0] = '\0'; /* printed already */
                        return LOCK_READER_INVALID;
                }
        }
        if (r == 0 && is_stack(reader->document))
                *ret = reader->document;
        else if (r == 0)
                r = read_form(reader, ret);
        return r == 0 ? check_stack(reader, *ret) : r;
}

/* Removes the byte order mark with which some editors begin a file. */
static void skip_mark(Buffer *text) {
        static const char mark[] = "\xef\xbb\xbf";
        size_t n = sizeof(mark) - 1;

        if (text->n < n || memcmp(text->text, mark, n) != 0)
                return;
        text->n -= n;
        memmove(text->text, text->text + n, text->n);
}

int lock_file_read(const char *file, Arena *ret_arena, const Value **ret) {
        scoped(stack_builder_deinit) StackBuilder stack = { .arena = ret_arena };
        scoped(buffer_deinit) Buffer text = {};
        LockReader reader = { .stack = &stack };
        int r;

        if (input_read(file, &text) != EXIT_DONE)
                return LOCK_FILE_WRONG;
        skip_mark(&text);
        buffer_puts(&text, "");
        if (buffer_error(&text) < 0)
                return -ENOMEM;
        reader.text = text.text ?: "";
        reader.n = text.n;

        r = arena_init(ret_arena, 2 * document_arena_size(text.n) + (1U << 20));
        if (r == 0)
                r = read_text(&reader, file, &text, ret);
        if (r != LOCK_READER_INVALID)
                return r;
        if (reader.error[0] && reader.line > 0)
                message_print("%s:%u: %s", input_name(file), reader.line, reader.error);
        else if (reader.error[0])
                message_print("%s: %s", input_name(file), reader.error);
        return LOCK_FILE_WRONG;
}
