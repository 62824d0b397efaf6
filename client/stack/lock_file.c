/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/lock_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/stack/stack_builder.h"
#include "stack/stack.h"
#include "util/utf8.h"

#define ERROR_MAX_BYTES 400

typedef struct LockReader {
        const char *text; /* UTF-8, NUL-terminated */
        size_t n;
        const Value *document; /* tree of a JSON or YAML file; NULL: another text */
        StackBuilder *stack;
        unsigned line; /* of the error; 0: unknown */
        char error[ERROR_MAX_BYTES];
} LockReader;

enum {
        READER_INVALID = 1, /* the reader has the error */
};

/* Sets the error. Returns READER_INVALID. */
__attribute__((format(printf, 3, 4))) static int refuse(LockReader *reader, unsigned line, const char *format, ...) {
        va_list args;

        va_start(args, format);
        utf8_vformat(reader->error, sizeof(reader->error), format, args);
        va_end(args);
        reader->line = line;
        return READER_INVALID;
}

/* Adds a package within the limit. Returns 0 or READER_INVALID. */
static int add_package(LockReader *reader, const DraftPackage *package) {
        if (reader->stack->n == STACK_PACKAGES_MAX)
                return refuse(reader, package->line, "has more than %u packages: a result can have up to %u",
                              STACK_PACKAGES_MAX, STACK_PACKAGES_MAX);
        stack_builder_add(reader->stack, package);
        return reader->stack->failed ? -ENOMEM : 0;
}

/* --- texts ------------------------------------------------------------------------------------------ */

/* Removes blanks on both sides. */
static Slice trim(Slice slice) {
        while (slice.n > 0 && strchr(" \t\r", slice.text[0])) {
                slice.text++;
                slice.n--;
        }
        while (slice.n > 0 && strchr(" \t\r", slice.text[slice.n - 1]))
                slice.n--;
        return slice;
}

/* Returns the next line without its end, or false at the end of the text. *at: offset; *line: number, from 0. */
static bool next_line(const LockReader *reader, size_t *at, unsigned *line, Slice *ret) {
        const char *begin = reader->text + *at, *end;

        if (*at >= reader->n)
                return false;
        end = memchr(begin, '\n', reader->n - *at) ?: reader->text + reader->n;
        *ret = trim((Slice){ begin, (size_t)(end - begin) });
        *at = (size_t)(end - reader->text) + 1;
        (*line)++;
        return true;
}

static bool begins_with(Slice slice, const char *word) {
        return slice.n >= strlen(word) && memcmp(slice.text, word, strlen(word)) == 0;
}

/* Returns true if a line begins with the word. */
static bool has_line(const LockReader *reader, const char *word) {
        unsigned line = 0;
        size_t at = 0;
        Slice slice;

        while (next_line(reader, &at, &line, &slice))
                if (begins_with(slice, word))
                        return true;
        return false;
}

/* Cuts the slice after n bytes. */
static Slice head(Slice slice, size_t n) {
        return (Slice){ slice.text, n < slice.n ? n : slice.n };
}

static Slice tail(Slice slice, size_t n) {
        n = n < slice.n ? n : slice.n;
        return (Slice){ slice.text + n, slice.n - n };
}

/* Returns the number of bytes before the first of the characters. */
static size_t span(Slice slice, const char *stops) {
        size_t n = 0;

        while (n < slice.n && !strchr(stops, slice.text[n]))
                n++;
        return n;
}

/* --- requirements.txt ------------------------------------------------------------------------------ */

typedef struct Requirements {
        Slice index; /* of --index-url */
        DraftPackage package;
        bool continues; /* the line before ended with a backslash */
} Requirements;

static void take_hashes(Slice rest, DraftPackage *package) {
        static const char option[] = "--hash";

        for (; rest.n > 0; rest = tail(rest, 1)) {
                if (!begins_with(rest, option))
                        continue;
                rest = tail(rest, sizeof(option) - 1);
                rest = tail(trim(rest), begins_with(trim(rest), "=") ? 1 : 0);
                rest = trim(rest);
                if (package->n_hashes < STACK_BUILDER_HASHES_MAX && span(rest, " \t\\") > 0)
                        package->hashes[package->n_hashes++] = head(rest, span(rest, " \t\\"));
                if (rest.n == 0)
                        return;
        }
}

/* Takes "numpy[extra]==1.18.5 ; marker --hash=…" or "numpy @ https://…". */
static int take_requirement(LockReader *reader, Slice text, unsigned line, Requirements *state) {
        DraftPackage *package = &state->package;
        size_t n = span(text, " \t[=<>!~;@\\");
        Slice rest = trim(tail(text, n));

        *package = (DraftPackage){
                .name = head(text, n), .kind = STACK_KIND_PYTHON, .source = state->index, .line = line
        };
        if (n == 0 || span(package->name, "/:{}\"'") < n)
                return refuse(reader, line,
                              "'%.*s' is not a requirement: expected NAME==VERSION, as `pip freeze`, `poetry export` "
                              "and `uv export` write it",
                              (int)head(text, 60).n, text.text);
        if (begins_with(rest, "["))
                rest = trim(tail(rest, span(rest, "]") + 1));
        if (begins_with(rest, "==")) {
                rest = trim(tail(rest, begins_with(rest, "===") ? 3 : 2));
                package->version = head(rest, span(rest, " \t;,\\#"));
                if (package->version.n == 0)
                        return refuse(reader, line, "'%.*s' has no version after ==", (int)package->name.n,
                                      package->name.text);
        } else if (begins_with(rest, "@")) {
                rest = trim(tail(rest, 1));
                package->source = head(rest, span(rest, " \t;\\"));
        }
        take_hashes(rest, package);
        return 0;
}

static Slice without_comment(Slice line) {
        for (size_t i = 0; i < line.n; i++)
                if (line.text[i] == '#' && (i == 0 || line.text[i - 1] == ' ' || line.text[i - 1] == '\t'))
                        return trim(head(line, i));
        return line;
}

static int take_line(LockReader *reader, Slice line, unsigned number, Requirements *state) {
        bool is_more = state->continues;
        int r = 0;

        state->continues = line.n > 0 && line.text[line.n - 1] == '\\';
        if (is_more) {
                take_hashes(line, &state->package);
        } else if (begins_with(line, "-")) { /* -r, -e and others name no package; -i and --index-url an index */
                if (begins_with(line, "--index-url") || begins_with(line, "-i "))
                        state->index = trim(tail(line, span(line, " =") + 1));
                return 0;
        } else if (line.n > 0) {
                r = take_requirement(reader, line, number, state);
        }
        if (r == 0 && !state->continues && state->package.name.n > 0) {
                r = add_package(reader, &state->package);
                state->package.name.n = 0;
        }
        return r;
}

static int read_requirements(LockReader *reader) {
        Requirements state = {};
        unsigned number = 0;
        size_t at = 0;
        Slice line;
        int r = 0;

        while (r == 0 && next_line(reader, &at, &number, &line))
                r = take_line(reader, without_comment(line), number, &state);
        if (r == 0 && state.continues)
                return refuse(reader, number, "the file ends within the requirement of '%.*s': is it complete?",
                              (int)state.package.name.n, state.package.name.text ?: "");
        reader->stack->package_manager = stack_builder_slice("pip");
        return r;
}

/* --- conda list --explicit ------------------------------------------------------------------------- */

/* Takes https://CHANNEL/PLATFORM/NAME-VERSION-BUILD.conda#HASH. */
static int take_url(LockReader *reader, Slice url, unsigned line) {
        DraftPackage package = { .kind = "conda", .line = line };
        size_t n = span(url, "#"), dashes[2] = {}, n_dashes = 0, base = 0, end;
        Slice hash = tail(url, n + 1);

        end = n;
        for (size_t i = 0; i < n; i++)
                base = url.text[i] == '/' ? i + 1 : base;
        if (end - base > 6 && memcmp(url.text + end - 6, ".conda", 6) == 0)
                end -= 6;
        else if (end - base > 8 && memcmp(url.text + end - 8, ".tar.bz2", 8) == 0)
                end -= 8;
        for (size_t i = end; i-- > base && n_dashes < 2;)
                if (url.text[i] == '-')
                        dashes[n_dashes++] = i;
        if (n_dashes < 2 || base == 0 || end == n)
                return refuse(reader, line,
                              "'%.*s' is not the URL of a conda package: expected …/NAME-VERSION-BUILD.conda",
                              (int)head(url, 80).n, url.text);

        package.name = (Slice){ url.text + base, dashes[1] - base };
        package.version = (Slice){ url.text + dashes[1] + 1, dashes[0] - dashes[1] - 1 };
        package.build = (Slice){ url.text + dashes[0] + 1, end - dashes[0] - 1 };
        package.source = (Slice){ url.text, base - 1 };
        if (hash.n > 0)
                package.hashes[package.n_hashes++] = hash;
        return add_package(reader, &package);
}

static int read_explicit(LockReader *reader) {
        unsigned number = 0;
        size_t at = 0;
        Slice line;
        int r = 0;

        while (r == 0 && next_line(reader, &at, &number, &line))
                if (line.n > 0 && line.text[0] != '#' && line.text[0] != '@')
                        r = take_url(reader, line, number);
        reader->stack->package_manager = stack_builder_slice("conda");
        return r;
}

static Slice text_of(const Value *object, const char *key) {
        return stack_builder_slice(value_get_string(object, key));
}

static void add_hash(DraftPackage *package, const char *hash) {
        if (hash && package->n_hashes < STACK_BUILDER_HASHES_MAX)
                package->hashes[package->n_hashes++] = stack_builder_slice(hash);
}

/* --- Pipfile.lock ---------------------------------------------------------------------------------- */

const char *lock_file_find_source(const Value *sources, const char *name) {
        size_t n = sources && sources->type == VALUE_LIST ? sources->n_items : 0;

        if (!name)
                return n == 1 ? value_get_string(&sources->items[0], "url") : NULL;
        for (size_t i = 0; i < n; i++) {
                const char *other = value_get_string(&sources->items[i], "name");

                if (other && strcmp(other, name) == 0)
                        return value_get_string(&sources->items[i], "url");
        }
        return name;
}

static int read_pipfile(LockReader *reader) {
        const Value *meta = value_get(reader->document, "_meta"), *locked = value_get(reader->document, "default");
        int r = 0;

        if (!locked || locked->type != VALUE_OBJECT)
                return refuse(reader, 1, "default: expected an object of packages");
        for (size_t i = 0; i < locked->n_members && r == 0; i++) {
                const Value *from = &locked->members[i].value, *hashes = value_get(from, "hashes");
                DraftPackage package = { .name = stack_builder_slice(locked->members[i].key),
                                         .kind = STACK_KIND_PYTHON };

                package.version = text_of(from, "version");
                while (package.version.n > 0 && *package.version.text == '=')
                        package.version = (Slice){ package.version.text + 1, package.version.n - 1 };
                package.source = stack_builder_slice(
                        lock_file_find_source(value_get(meta, "sources"), value_get_string(from, "index")));
                for (size_t k = 0; hashes && hashes->type == VALUE_LIST && k < hashes->n_items; k++)
                        add_hash(&package, hashes->items[k].type == VALUE_STRING ? hashes->items[k].string : NULL);
                r = add_package(reader, &package);
        }
        reader->stack->package_manager = stack_builder_slice("pipenv");
        reader->stack->python = text_of(value_get(meta, "requires"), "python_version");
        return r;
}

/* --- conda ----------------------------------------------------------------------------------------- */

static int read_conda_list(LockReader *reader) {
        int r = 0;

        for (size_t i = 0; i < reader->document->n_items && r == 0; i++) {
                const Value *from = &reader->document->items[i];
                Slice channel = text_of(from, "channel");
                bool is_python = channel.n == 4 && memcmp(channel.text, "pypi", 4) == 0;
                DraftPackage package = { .name = text_of(from, "name"),
                                         .version = text_of(from, "version"),
                                         .source = channel,
                                         .build = is_python ? (Slice){} : text_of(from, "build_string"),
                                         .kind = is_python ? STACK_KIND_PYTHON : "conda" };

                if (package.name.n == 0)
                        return refuse(reader, 0, "item %zu has no name: expected the output of `conda list --json`", i);
                r = add_package(reader, &package);
        }
        reader->stack->package_manager = stack_builder_slice("conda");
        return r;
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

static bool is_explicit(const LockReader *reader) {
        return !reader->document && has_line(reader, "@EXPLICIT");
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
        { "Pipfile.lock", is_pipfile, read_pipfile },
        { "conda list --json", is_conda_list, read_conda_list },
        { "conda list --explicit", is_explicit, read_explicit },
        { "requirements.txt", is_requirements, read_requirements },
};

static int refuse_form(LockReader *reader) {
        scoped(buffer_deinit) Buffer names = {};

        for (size_t i = 0; i < N_ELEMENTS(forms); i++)
                buffer_printf(&names, "%s, ", forms[i].name);
        if (buffer_error(&names) < 0)
                return -ENOMEM;
        return refuse(reader, 0, "is not a list of packages: expected %sor a stack document", names.text);
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
                        return refuse(reader, line, n == 0 ? "is not UTF-8: convert the file" : "has a NUL byte");
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
                stack_put_name(value_get_string(&stack->packages[i], "name"),
                               value_get_string(&stack->packages[i], "kind"), &name);
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
        return refuse(reader, find_line(reader->stack, &complaint), "%s%s%s", complaint.path,
                      complaint.path[0] ? " " : "", complaint.text);
}

/* --- reading ---------------------------------------------------------------------------------------- */

static bool is_document(const LockReader *reader) {
        char first = reader->text[strspn(reader->text, " \t\r\n")];

        return first == '{' || first == '[';
}

static int read_form(LockReader *reader, const Value **ret) {
        int r;

        for (size_t i = 0; i < N_ELEMENTS(forms); i++) {
                if (!forms[i].recognise(reader))
                        continue;
                r = forms[i].read(reader);
                if (r == 0 && reader->stack->n == 0)
                        return refuse(reader, 0, "names no package (read as %s)", forms[i].name);
                return r == 0 ? stack_builder_end(reader->stack, ret) : r;
        }
        return refuse_form(reader);
}

static int read_text(LockReader *reader, const char *file, const Buffer *text, const Value **ret) {
        int r;

        r = check_text(reader);
        if (r == 0 && is_document(reader)) {
                r = input_parse(text, input_name(file), reader->stack->arena, &reader->document);
                if (r == INPUT_WRONG) {
                        reader->error[0] = '\0'; /* printed already */
                        return READER_INVALID;
                }
        }
        if (r == 0 && is_stack(reader->document))
                *ret = reader->document;
        else if (r == 0)
                r = read_form(reader, ret);
        return r == 0 ? check_stack(reader, *ret) : r;
}

int lock_file_read(const char *file, Arena *ret_arena, const Value **ret) {
        scoped(stack_builder_deinit) StackBuilder stack = { .arena = ret_arena };
        scoped(buffer_deinit) Buffer text = {};
        LockReader reader = { .stack = &stack };
        int r;

        if (input_read(file, &text) != EXIT_DONE)
                return LOCK_FILE_WRONG;
        buffer_puts(&text, "");
        if (buffer_error(&text) < 0)
                return -ENOMEM;
        reader.text = text.text ?: "";
        reader.n = text.n;

        r = arena_init(ret_arena, 2 * input_arena_size(text.n) + (1U << 20));
        if (r == 0)
                r = read_text(&reader, file, &text, ret);
        if (r != READER_INVALID)
                return r;
        if (reader.error[0] && reader.line > 0)
                message_print("%s:%u: %s", input_name(file), reader.line, reader.error);
        else if (reader.error[0])
                message_print("%s: %s", input_name(file), reader.error);
        return LOCK_FILE_WRONG;
}
