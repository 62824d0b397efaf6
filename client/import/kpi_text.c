/* SPDX-License-Identifier: Apache-2.0 */
#include "client/import/kpi_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "client/facts/object_builder.h"
#include "json/json_text.h"
#include "util/clock.h"
#include "util/parse.h"

#define MEMBERS_MAX (KPI_LABELS_MAX + 4) /* unit, help, value, @timestamp */
#define ARENA_FACTOR 160U /* a label of five characters takes a member and two texts */
#define ARENA_BYTES_MIN 65536U
#define SECONDS_MAX UINT64_C(16725225600)       /* the year 2500 */
#define MILLISECONDS_MIN UINT64_C(100000000000) /* 1973; as seconds, the year 5138 */

/* Position in the text, and the contents of comment lines about the next sample. Texts live in the arena. */
typedef struct KpiReader {
        Arena *arena;
        KpiError *error;
        unsigned line;
        bool is_openmetrics; /* the text ends with # EOF: its times are seconds */
        const char *help, *unit, *unit_name;
} KpiReader;

static int wrong(KpiReader *reader, const char *text) {
        reader->error->line = reader->line;
        reader->error->text = text;
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

/* OpenMetrics writes NaN, +Inf and -Inf, Python nan and inf. */
static bool is_not_finite(const char *word) {
        word += *word == '-' || *word == '+';
        return strcasecmp(word, "nan") == 0 || strcasecmp(word, "inf") == 0;
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
        if (is_not_finite(word)) {
                reader->error->n_not_finite++;
                *ret = (Value){};
        }
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
        value = strcmp(key, "kpi_settings_version") == 0 ? (Value){ .type = VALUE_STRING, .string = text }
                                                         : read_scalar(text);
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
static int split_help(KpiReader *reader, const char *help, const char *separator, const char *end,
                      const char **ret_unit) {
        const char *found = NULL, *p = help;
        size_t n = strlen(help), n_end = strlen(end);
        char *unit;

        while ((p = strstr(p, separator)))
                found = p++;
        if (!found || n < n_end || strcmp(help + n - n_end, end) != 0)
                return 0;
        unit = arena_strndup(reader->arena, found + strlen(separator),
                             n - n_end - (size_t)(found - help) - strlen(separator));
        reader->help = arena_strndup(reader->arena, help, (size_t)(found - help));
        if (!unit || !reader->help)
                return -ENOMEM;

        *ret_unit = unit;
        return 0;
}

/* Puts help and unit of the comments before the sample. given: unit after the value, or "". */
static int put_description(KpiReader *reader, const char *name, const char *given, ObjectBuilder *object) {
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

        object_builder_put_text(object, "unit", unit ?: given);
        object_builder_put_text(object, "help", reader->help);
        reader->help = help;
        return 0;
}

/* Reads "1731320430.123456" without rounding. A whole number of milliseconds, as Prometheus' text has, is known by
 * its size. */
static int read_timestamp(KpiReader *reader, const char *text, uint64_t *ret_ns) {
        uint64_t whole = 0, ns = 0, unit = NS_PER_S / 10;
        size_t n = strspn(text, "0123456789");
        double s;

        if (n > 0 && n < 19 && (!text[n] || (text[n] == '.' && !text[n + 1 + strspn(text + n + 1, "0123456789")]))) {
                for (size_t i = 0; i < n; i++)
                        whole = 10 * whole + (uint64_t)(text[i] - '0');
                for (const char *p = text + n + (text[n] == '.'); *p >= '0' && *p <= '9'; p++, unit /= 10)
                        ns += unit * (uint64_t)(*p - '0');
        } else if (parse_double(text, &s) == 0 && s >= 0 && s < SECONDS_MAX) {
                whole = (uint64_t)s;
                ns = (uint64_t)((s - (double)whole) * (double)NS_PER_S);
        } else
                whole = UINT64_MAX;

        if (!reader->is_openmetrics && n > 0 && !text[n] && whole >= MILLISECONDS_MIN && whole / 1000 < SECONDS_MAX) {
                *ret_ns = whole * NS_PER_MS;
                return 0;
        }
        if (whole >= SECONDS_MAX)
                return wrong(reader,
                             "the time is not between 1970 and 2500: OpenMetrics, which ends with # EOF, has seconds, "
                             "and Prometheus' text milliseconds");
        *ret_ns = whole * NS_PER_S + ns;
        return 0;
}

/* Splits what follows a value, "[time or unit] [# exemplar]", which is changed. */
static int read_rest(KpiReader *reader, char *rest, const char **ret_unit, uint64_t *ret_ns) {
        char *exemplar = *rest == '#' ? rest : strstr(rest, " # {"), *end;
        double number;

        if (exemplar)
                *exemplar = '\0';
        for (end = rest + strlen(rest); end > rest && end[-1] == ' ';)
                *--end = '\0';
        *ret_unit = rest;
        *ret_ns = 0;
        if (parse_double(rest, &number) != 0)
                return 0;
        *ret_unit = NULL;
        return read_timestamp(reader, rest, ret_ns);
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

static int read_sample(KpiReader *reader, char *line, Kpi *ret) {
        const char *unit, *p = line + name_length(line), *name = arena_strndup(reader->arena, line, name_length(line));
        ObjectBuilder object;
        Value *kpi = arena_alloc(reader->arena, sizeof(*kpi)), value;
        uint64_t time_ns;
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
        if (r == 0)
                r = read_rest(reader, line + (p - line) + strspn(p, " "), &unit, &time_ns);
        if (r != 0)
                return r;

        r = put_description(reader, name, unit, &object);
        object_builder_put(&object, "value", &value);
        put_time(&object, time_ns);
        if (r != 0 || object_builder_end(&object, kpi) < 0)
                return -ENOMEM;

        *ret = (Kpi){ .name = name, .object = kpi };
        return 0;
}

int kpi_text_parse(const char *text, size_t n, Arena *arena, Kpi **ret, size_t *ret_n, KpiError *ret_error) {
        const char *eof = memmem(text, n, "# EOF", 5);
        KpiReader reader = { .arena = arena,
                             .error = ret_error,
                             .is_openmetrics = eof && (eof == text || eof[-1] == '\n') };
        Kpi *kpis = arena_alloc(arena, KPIS_MAX * sizeof(*kpis));
        size_t n_kpis = 0;
        int r = 0;

        *ret_error = (KpiError){};
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
                        r = n_kpis < KPIS_MAX ? read_sample(&reader, line, &kpis[n_kpis])
                                              : wrong(&reader, "more than 20000 KPIs");
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
