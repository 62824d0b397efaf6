/* SPDX-License-Identifier: Apache-2.0 */
#include "client/import/kpi_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/facts/object_builder.h"
#include "json/json_text.h"
#include "util/clock.h"
#include "util/parse.h"

#define MEMBERS_MAX (KPI_LABELS_MAX + 4) /* unit, help, value, @timestamp */
#define ARENA_FACTOR 160U /* a label of five characters takes a member and two texts */
#define ARENA_BYTES_MIN 65536U

/* Position in the text, and the contents of comment lines about the next sample. Texts live in the arena. */
typedef struct KpiReader {
        Arena *arena;
        KpiError *error;
        unsigned line;
        const char *help, *unit, *unit_name;
} KpiReader;

static int wrong(KpiReader *reader, const char *text) {
        *reader->error = (KpiError){ .line = reader->line, .text = text };
        return KPI_MALFORMED;
}

static size_t name_length(const char *p) {
        return strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:");
}

/* --- values --------------------------------------------------------------------------------------- */

/* A text that reads as a number, True, False or None is one: the text forms have no types. */
static Value read_scalar(const char *text) {
        JsonText json = { text, strlen(text) };
        Value value = { .type = VALUE_STRING, .string = text };
        double number;
        int64_t integer;

        if (json_text_int(json, &integer))
                return (Value){ .type = VALUE_INT, .integer = integer };
        if (json_text_kind(json) == JSON_KIND_NUMBER && parse_double(text, &number) == 0)
                return (Value){ .type = VALUE_DOUBLE, .number = number };
        if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
                return (Value){ .type = VALUE_BOOL, .boolean = *text == 'T' };
        if (strcmp(text, "None") == 0)
                return (Value){};
        return value;
}

/* "[1, 2]" */
static int read_list(KpiReader *reader, const char **at, Value *ret) {
        const char *end = strchr(*at, ']'), *p = *at + 1;
        Value *items;
        size_t n = 0;

        if (!end)
                return wrong(reader, "the list has no end");
        items = arena_alloc(reader->arena, (size_t)(end - p + 1) * sizeof(*items));
        while (items && p < end) {
                size_t length = strcspn(p += strspn(p, ", "), ", ]");
                const char *word = arena_strndup(reader->arena, p, length);

                if (!word)
                        return -ENOMEM;
                if (length > 0)
                        items[n++] = read_scalar(word);
                if (length > 0 && !value_is_number(&items[n - 1]))
                        return wrong(reader, "a list has an item that is not a number");
                p += length;
        }
        if (!items)
                return -ENOMEM;

        *ret = (Value){ .type = VALUE_LIST, .items = items, .n_items = n };
        *at = end + 1;
        return 0;
}

static int read_value(KpiReader *reader, const char **at, Value *ret) {
        size_t n = strcspn(*at, " ");
        const char *word;

        if (**at == '[')
                return read_list(reader, at, ret);
        word = arena_strndup(reader->arena, *at, n);
        if (!word)
                return -ENOMEM;

        *ret = read_scalar(word);
        if (ret->type != VALUE_NULL && !value_is_number(ret))
                return wrong(reader, "the value is not a number, a list of numbers or None");
        *at += n;
        return 0;
}

/* --- labels --------------------------------------------------------------------------------------- */

/* Returns true if a quote ends a value: another label or the KPI's value follows. */
static bool is_end(const char *after) {
        if (*after == '}')
                return after[1] == ' ';
        if (*after != ',')
                return false;
        after += 1 + strspn(after + 1, " ");
        return *after == '}' || (name_length(after) > 0 && strncmp(after + name_length(after), "=\"", 2) == 0);
}

/* Returns the quote that ends a value. Values that MatrixBenchmarking prints have quotes that are not escaped. */
static const char *find_end(const char *p) {
        for (; *p; p++) {
                if (*p == '\\' && p[1])
                        p++;
                else if (*p == '"' && is_end(p + 1))
                        return p;
        }
        return NULL;
}

static char *unescape(KpiReader *reader, const char *p, const char *end) {
        char *text = arena_strndup(reader->arena, p, (size_t)(end - p)), *to = text;

        for (; text && p < end; p++) {
                if (*p == '\\' && p + 1 < end && strchr("\\\"n", p[1]))
                        *to++ = *++p == 'n' ? '\n' : *p;
                else
                        *to++ = *p;
        }
        if (text)
                *to = '\0';
        return text;
}

static int read_label(KpiReader *reader, const char **at, ObjectBuilder *object) {
        const char *p = *at + strspn(*at, " ,"), *end;
        size_t n = name_length(p);
        char *key, *text;
        Value value;

        if (n == 0 || strncmp(p + n, "=\"", 2) != 0)
                return wrong(reader, "a label is not of the form name=\"value\"");
        end = find_end(p + n + 2);
        if (!end)
                return wrong(reader, "the value of a label has no end");

        key = arena_strndup(reader->arena, p, n);
        text = unescape(reader, p + n + 2, end);
        if (!key || !text)
                return -ENOMEM;
        value = strcmp(key, "kpi_settings_version") == 0 ? (Value){ .type = VALUE_STRING, .string = text } : read_scalar(text);
        if (object->n == KPI_LABELS_MAX)
                return wrong(reader, "the KPI has more than 128 labels");
        object_builder_put(object, key, &value);
        *at = end + 1;
        return 0;
}

static int read_labels(KpiReader *reader, const char **at, ObjectBuilder *object) {
        int r = 0;

        if (**at != '{')
                return 0;
        (*at)++;
        while (r == 0 && *(*at += strspn(*at, " ,")) != '}')
                r = read_label(reader, at, object);
        if (r == 0)
                (*at)++;
        return r;
}

/* --- lines ---------------------------------------------------------------------------------------- */

/* "# HELP name text", "# HELP text, in unit", or "# UNIT name unit". TYPE and EOF say nothing that is needed. */
static int read_comment(KpiReader *reader, const char *line) {
        const char *text = arena_strndup(reader->arena, line + 7, strlen(line) > 7 ? strlen(line) - 7 : 0);

        if (!text)
                return -ENOMEM;
        if (strncmp(line, "# HELP ", 7) == 0)
                reader->help = text;
        else if (strncmp(line, "# UNIT ", 7) == 0) {
                reader->unit_name = text;
                reader->unit = strchr(text, ' ') ? strchr(text, ' ') + 1 : NULL;
        }
        return 0;
}

/* Splits "text (in unit)" or "text, in unit". */
static int split_help(KpiReader *reader, const char *help, const char *separator, const char *end, const char **ret_unit) {
        const char *found = NULL, *p = help;
        size_t n = strlen(help), n_end = strlen(end);
        char *unit;

        while ((p = strstr(p, separator)))
                found = p++;
        if (!found || n < n_end || strcmp(help + n - n_end, end) != 0)
                return 0;
        unit = arena_strndup(reader->arena, found + strlen(separator), n - n_end - (size_t)(found - help) - strlen(separator));
        reader->help = arena_strndup(reader->arena, help, (size_t)(found - help));
        if (!unit || !reader->help)
                return -ENOMEM;

        *ret_unit = unit;
        return 0;
}

/* Puts help and unit of the comments before the sample. rest: text after the value, a unit or a time. */
static int put_description(KpiReader *reader, const char *name, const char *rest, ObjectBuilder *object) {
        size_t n = strlen(name);
        bool is_named = reader->help && strncmp(reader->help, name, n) == 0 && reader->help[n] == ' ';
        bool has_unit = reader->unit && strncmp(reader->unit_name, name, n) == 0 && reader->unit_name[n] == ' ';
        const char *unit = has_unit ? reader->unit : NULL, *help = reader->help;
        int r = 0;

        if (is_named) {
                reader->help += n + 1;
                r = has_unit ? 0 : split_help(reader, reader->help, " (in ", ")", &unit);
        } else if (help)
                r = split_help(reader, help, ", in ", "", &unit);
        if (r != 0)
                return r;

        object_builder_put_text(object, "unit", unit ?: *rest && !strchr("0123456789-", *rest) ? rest : NULL);
        object_builder_put_text(object, "help", reader->help);
        reader->help = help;
        return 0;
}

/* Reads "1731320430.123456" without rounding. */
static uint64_t read_timestamp(const char *text) {
        uint64_t seconds = 0, ns = 0, unit = NS_PER_S / 10;

        for (; *text >= '0' && *text <= '9' && seconds < UINT64_MAX / (100 * NS_PER_S); text++)
                seconds = 10 * seconds + (uint64_t)(*text - '0');
        if (*text == '.')
                for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
                        ns += unit * (uint64_t)(*text - '0');
        return *text ? 0 : seconds * NS_PER_S + ns;
}

/* With microseconds, as Python writes a time. */
static void put_time(ObjectBuilder *object, uint64_t realtime_ns) {
        char milliseconds[CLOCK_TEXT_MAX], text[CLOCK_TEXT_MAX + 8];

        if (realtime_ns == 0)
                return;
        clock_format_utc(realtime_ns, milliseconds);
        (void)snprintf(text, sizeof(text), "%.19s.%06uZ", milliseconds, (unsigned)(realtime_ns % NS_PER_S / NS_PER_US));
        object_builder_put_text(object, "@timestamp", text);
}

/* A bound of the number of labels: each has an equals sign. */
static size_t count_members(const char *line) {
        size_t n = 4;

        for (; *line; line++)
                n += *line == '=';
        return n < MEMBERS_MAX ? n : MEMBERS_MAX;
}

static int read_sample(KpiReader *reader, const char *line, Kpi *ret) {
        const char *p = line + name_length(line), *name = arena_strndup(reader->arena, line, name_length(line));
        ObjectBuilder object;
        Value *kpi = arena_alloc(reader->arena, sizeof(*kpi)), value;
        int r;

        if (!name || !kpi)
                return -ENOMEM;
        if (!*name)
                return wrong(reader, "the line is not a comment and does not begin with the name of a KPI");
        object_builder_init(&object, reader->arena, count_members(line));
        r = read_labels(reader, &p, &object);
        p += strspn(p, " ");
        if (r == 0)
                r = read_value(reader, &p, &value);
        if (r != 0)
                return r;

        p += strspn(p, " ");
        r = put_description(reader, name, p, &object);
        object_builder_put(&object, "value", &value);
        put_time(&object, read_timestamp(p));
        if (r != 0 || object_builder_end(&object, kpi) < 0)
                return -ENOMEM;

        *ret = (Kpi){ name, kpi };
        return 0;
}

int kpi_text_parse(const char *text, size_t n, Arena *arena, const Kpi **ret, size_t *ret_n, KpiError *ret_error) {
        KpiReader reader = { .arena = arena, .error = ret_error };
        Kpi *kpis = arena_alloc(arena, KPIS_MAX * sizeof(*kpis));
        size_t n_kpis = 0;
        int r = 0;

        if (!kpis)
                return -ENOMEM;
        for (const char *p = text, *end; p < text + n && r == 0; p = end + 1) {
                char *line;

                end = memchr(p, '\n', (size_t)(text + n - p)) ?: text + n;
                line = arena_strndup(arena, p, (size_t)(end - p));
                reader.line++;
                if (!line)
                        return -ENOMEM;
                if (*line == '#')
                        r = read_comment(&reader, line);
                else if (line[strspn(line, " \t\r")]) {
                        r = n_kpis < KPIS_MAX ? read_sample(&reader, line, &kpis[n_kpis]) : wrong(&reader, "more than 20000 KPIs");
                        n_kpis++;
                }
        }
        if (r != 0)
                return r;

        *ret = kpis;
        *ret_n = n_kpis;
        return 0;
}

size_t kpi_text_arena_size(size_t n) {
        return ARENA_FACTOR * n + KPIS_MAX * sizeof(Kpi) + ARENA_BYTES_MIN;
}
