/* SPDX-License-Identifier: Apache-2.0 */
#include "client/stack/lock_reader.h"

#include <string.h>

#include "stack/stack.h"

#define OPTIONS_MAX_BYTES 64

bool lock_reader_next_line(const LockReader *reader, size_t *at, unsigned *line, Slice *ret) {
        const char *begin = reader->text + *at, *end;

        if (*at >= reader->n)
                return false;
        end = memchr(begin, '\n', reader->n - *at) ?: reader->text + reader->n;
        *ret = lock_reader_trim((Slice){ begin, (size_t)(end - begin) });
        *at = (size_t)(end - reader->text) + 1;
        (*line)++;
        return true;
}

Slice lock_reader_trim(Slice slice) {
        while (slice.n > 0 && strchr(" \t\r", slice.text[0])) {
                slice.text++;
                slice.n--;
        }
        while (slice.n > 0 && strchr(" \t\r", slice.text[slice.n - 1]))
                slice.n--;
        return slice;
}

static bool begins_with(Slice slice, const char *word) {
        return slice.n >= strlen(word) && memcmp(slice.text, word, strlen(word)) == 0;
}

bool lock_reader_has_line(const LockReader *reader, const char *word) {
        unsigned line = 0;
        size_t at = 0;
        Slice slice;

        while (lock_reader_next_line(reader, &at, &line, &slice))
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
                rest = tail(lock_reader_trim(rest), begins_with(lock_reader_trim(rest), "=") ? 1 : 0);
                rest = lock_reader_trim(rest);
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
        Slice rest = lock_reader_trim(tail(text, n));

        *package = (DraftPackage){ .name = head(text, n), .kind = STACK_KIND_PYTHON, .source = state->index, .line = line };
        if (n == 0 || span(package->name, "/:{}\"'") < n)
                return lock_reader_refuse(reader, line, "'%.*s' is not a requirement: expected NAME==VERSION", (int)head(text, 60).n,
                                          text.text);
        if (begins_with(rest, "["))
                rest = lock_reader_trim(tail(rest, span(rest, "]") + 1));
        if (begins_with(rest, "==")) {
                rest = lock_reader_trim(tail(rest, begins_with(rest, "===") ? 3 : 2));
                package->version = head(rest, span(rest, " \t;,\\#"));
                if (package->version.n == 0)
                        return lock_reader_refuse(reader, line, "'%.*s' has no version after ==", (int)package->name.n, package->name.text);
        } else if (begins_with(rest, "@")) {
                rest = lock_reader_trim(tail(rest, 1));
                package->source = head(rest, span(rest, " \t;\\"));
        }
        take_hashes(rest, package);
        return 0;
}

static Slice without_comment(Slice line) {
        for (size_t i = 0; i < line.n; i++)
                if (line.text[i] == '#' && (i == 0 || line.text[i - 1] == ' ' || line.text[i - 1] == '\t'))
                        return lock_reader_trim(head(line, i));
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
                        state->index = lock_reader_trim(tail(line, span(line, " =") + 1));
                return 0;
        } else if (line.n > 0) {
                r = take_requirement(reader, line, number, state);
        }
        if (r == 0 && !state->continues && state->package.name.n > 0) {
                r = lock_reader_add(reader, &state->package);
                state->package.name.n = 0;
        }
        return r;
}

int lock_reader_read_requirements(LockReader *reader) {
        Requirements state = {};
        unsigned number = 0;
        size_t at = 0;
        Slice line;
        int r = 0;

        while (r == 0 && lock_reader_next_line(reader, &at, &number, &line))
                r = take_line(reader, without_comment(line), number, &state);
        if (r == 0 && state.continues)
                return lock_reader_refuse(reader, number, "the file ends within the requirement of '%.*s': is it complete?",
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
                return lock_reader_refuse(reader, line, "'%.*s' is not the URL of a conda package: expected …/NAME-VERSION-BUILD.conda",
                                          (int)head(url, 80).n, url.text);

        package.name = (Slice){ url.text + base, dashes[1] - base };
        package.version = (Slice){ url.text + dashes[1] + 1, dashes[0] - dashes[1] - 1 };
        package.build = (Slice){ url.text + dashes[0] + 1, end - dashes[0] - 1 };
        package.source = (Slice){ url.text, base - 1 };
        if (hash.n > 0)
                package.hashes[package.n_hashes++] = hash;
        return lock_reader_add(reader, &package);
}

int lock_reader_read_explicit(LockReader *reader) {
        unsigned number = 0;
        size_t at = 0;
        Slice line;
        int r = 0;

        while (r == 0 && lock_reader_next_line(reader, &at, &number, &line))
                if (line.n > 0 && line.text[0] != '#' && line.text[0] != '@')
                        r = take_url(reader, line, number);
        reader->stack->package_manager = stack_builder_slice("conda");
        return r;
}

/* --- TOML ------------------------------------------------------------------------------------------ */

/*
 * Reads the subset of TOML that poetry and uv write: tables, and values on one line or in brackets over several lines. Strings in
 * other places are skipped.
 */
typedef struct Toml {
        DraftPackage package;
        bool is_package;    /* within [[package]] or one of its tables */
        bool is_inner;      /* within [package.dependencies] or another table of the package */
        bool is_source;     /* within [package.source] */
        unsigned n_open;    /* brackets */
} Toml;

/* Counts the brackets outside of strings. Returns false if a string does not end on the line. */
static bool count_brackets(Slice line, unsigned *n_open) {
        char quote = '\0';

        for (size_t i = 0; i < line.n; i++) {
                char c = line.text[i];

                if (quote) {
                        if (c == '\\' && quote == '"')
                                i++;
                        else if (c == quote)
                                quote = '\0';
                } else if (c == '"' || c == '\'')
                        quote = c;
                else if (c == '#')
                        break;
                else if (c == '[' || c == '{')
                        (*n_open)++;
                else if ((c == ']' || c == '}') && *n_open > 0)
                        (*n_open)--;
        }
        return !quote;
}

/* Returns the string after the first `key =` on the line, or an empty slice. *ret_rest: what follows the string. */
static Slice find_string(Slice line, const char *key, Slice *ret_rest) {
        size_t n = strlen(key);

        for (size_t i = 0; i + n < line.n; i++) {
                Slice rest = lock_reader_trim(tail(line, i + n)), text;

                if (memcmp(line.text + i, key, n) != 0 || (i > 0 && !strchr(" \t{,", line.text[i - 1])) || !begins_with(rest, "="))
                        continue;
                rest = lock_reader_trim(tail(rest, 1));
                if (!begins_with(rest, "\"") && !begins_with(rest, "'"))
                        continue;
                text = tail(rest, 1);
                text = head(text, span(text, begins_with(rest, "'") ? "'" : "\""));
                *ret_rest = tail(rest, text.n + 2);
                return text;
        }
        *ret_rest = (Slice){};
        return (Slice){};
}

static void take_toml_hashes(Slice line, DraftPackage *package) {
        Slice hash;

        for (Slice rest = line; rest.n > 0 && package->n_hashes < STACK_BUILDER_HASHES_MAX;) {
                hash = find_string(rest, "hash", &rest);
                if (hash.n > 0)
                        package->hashes[package->n_hashes++] = hash;
        }
}

static void take_member(Slice line, Toml *toml) {
        DraftPackage *package = &toml->package;
        Slice rest, source;

        if (toml->is_source) {
                source = find_string(line, "url", &rest);
                package->source = source.n > 0 ? source : package->source;
        } else if (begins_with(line, "name") && toml->n_open == 0)
                package->name = find_string(line, "name", &rest);
        else if (begins_with(line, "version") && toml->n_open == 0)
                package->version = find_string(line, "version", &rest);
        else if (begins_with(line, "source") && toml->n_open == 0) {
                source = find_string(line, "registry", &rest);
                package->source = source.n > 0 ? source : find_string(line, "git", &rest);
        } else
                take_toml_hashes(line, package);
}

static int end_package(LockReader *reader, Toml *toml) {
        int r = 0;

        if (toml->is_package && toml->package.name.n == 0)
                return lock_reader_refuse(reader, toml->package.line, "this package has no name: is the file complete?");
        if (toml->is_package)
                r = lock_reader_add(reader, &toml->package);
        toml->is_package = false;
        return r;
}

static int take_toml_line(LockReader *reader, Slice line, unsigned number, Toml *toml) {
        bool is_table = toml->n_open == 0 && begins_with(line, "[");
        int r;

        if (is_table) {
                toml->is_inner = begins_with(line, "[package.") || begins_with(line, "[[package.");
                toml->is_source = begins_with(line, "[package.source]");
                if (toml->is_inner)
                        return 0;
                r = end_package(reader, toml);
                if (r == 0 && begins_with(line, "[[package]]")) {
                        toml->package = (DraftPackage){ .kind = STACK_KIND_PYTHON, .line = number };
                        toml->is_package = true;
                }
                return r;
        }
        if (toml->is_package && (!toml->is_inner || toml->is_source))
                take_member(line, toml);
        if (!count_brackets(line, &toml->n_open))
                return lock_reader_refuse(reader, number, "a string has no end on this line: is the file complete?");
        return 0;
}

int lock_reader_read_toml(LockReader *reader) {
        Toml toml = {};
        unsigned number = 0;
        size_t at = 0;
        Slice line;
        int r = 0;

        while (r == 0 && lock_reader_next_line(reader, &at, &number, &line))
                r = take_toml_line(reader, line, number, &toml);
        if (r == 0 && toml.n_open > 0)
                return lock_reader_refuse(reader, number, "the file ends within a list or table: is it complete?");
        reader->stack->package_manager = stack_builder_slice(lock_reader_has_line(reader, "content-hash") ? "poetry" : "uv");
        return r == 0 ? end_package(reader, &toml) : r;
}
