/* SPDX-License-Identifier: Apache-2.0 */
#include "http/format/exposition.h"

#include <assert.h>
#include <string.h>

#include "text/openmetrics.h"

#define KEYWORD_LENGTH 7U /* bytes of "# TYPE " and the like */

void exposition_init(Exposition *exposition, Buffer *out, bool is_openmetrics) {
        *exposition = (Exposition){ .out = out, .is_openmetrics = is_openmetrics, .has_names = true };
}

/* The format 0.0.4 has no type for info. */
static const struct {
        const char *suffix, *type, *openmetrics_type; /* suffix: of the samples' names */
} family_types[] = {
        [FAMILY_GAUGE] = { "", "gauge", "gauge" },
        [FAMILY_COUNTER] = { "_total", "counter", "counter" },
        [FAMILY_INFO] = { "_info", "gauge", "info" },
};

void exposition_family(Exposition *exposition, const char *name, FamilyType type, const char *unit, const char *help) {
        const char *suffix = family_types[type].suffix;
        size_t n_suffix = strlen(suffix);

        assert(strlen(name) < FAMILY_NAME_MAX && n_suffix <= SAMPLE_SUFFIX_MAX);
        assert(!strpbrk(help, "\"\\\n"));
        exposition->n_name = strnlen(name, FAMILY_NAME_MAX);
        exposition->n_sample_name = exposition->n_name + n_suffix;
        memcpy(mempcpy(exposition->name, name, exposition->n_name), suffix, n_suffix);
        exposition->type = type;
        exposition->unit = unit;
        exposition->help = help;
        exposition->has_header = false;
}

/* OpenMetrics uses the family's name in these lines, and the format 0.0.4 uses the samples' name. */
static void put_about(const Exposition *exposition, const char keyword[static KEYWORD_LENGTH], const char *text) {
        size_t n_name = exposition->is_openmetrics ? exposition->n_name : exposition->n_sample_name,
               n_text = strlen(text);
        char *p = buffer_extend(exposition->out, KEYWORD_LENGTH + n_name + n_text + 2);

        if (!p)
                return;

        p = mempcpy(p, keyword, KEYWORD_LENGTH);
        p = mempcpy(p, exposition->name, n_name);
        *p++ = ' ';
        p = mempcpy(p, text, n_text);
        *p = '\n';
}

static void put_header(Exposition *exposition) {
        put_about(exposition, "# TYPE ", exposition->is_openmetrics ? family_types[exposition->type].openmetrics_type
                                                                     : family_types[exposition->type].type);
        if (exposition->is_openmetrics && *exposition->unit)
                put_about(exposition, "# UNIT ", exposition->unit);
        put_about(exposition, "# HELP ", exposition->help);
        exposition->has_header = true;
}

void exposition_created(Exposition *exposition, uint64_t realtime_ms) {
        exposition->created_ms = realtime_ms;
}

void exposition_sample(Exposition *exposition) {
        if (!exposition->has_header)
                put_header(exposition);

        exposition->sample_at = exposition->out->n;
        buffer_put(exposition->out, exposition->name, exposition->n_sample_name);
        exposition->has_labels = false;
}

static void put_separator(Exposition *exposition) {
        buffer_putc(exposition->out, exposition->has_labels ? ',' : '{');
        exposition->has_labels = true;
}

/* Returns the length of the run at `text` that needs no escapes. */
static size_t plain_length(const char *text) {
        size_t n = 0;

        while (text[n] >= 0x20 && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
                n++;
        return n;
}

/* Writes the characters without escapes in one piece. False for all others. */
static bool put_plain_label(Exposition *exposition, const char *key, const char *value) {
        size_t n_key = strlen(key), n_value = plain_length(value);
        char *p;

        if (value[n_value])
                return false;

        p = buffer_extend(exposition->out, n_key + n_value + strlen(",=\"\""));
        if (!p)
                return true;

        *p++ = exposition->has_labels ? ',' : '{';
        p = mempcpy(p, key, n_key);
        p = mempcpy(p, "=\"", 2);
        p = mempcpy(p, value, n_value);
        *p = '"';
        exposition->has_labels = true;
        return true;
}

void exposition_label(Exposition *exposition, const char *key, const char *value) {
        if (put_plain_label(exposition, key, value))
                return;

        put_separator(exposition);
        buffer_puts(exposition->out, key);
        buffer_puts(exposition->out, "=\"");

        openmetrics_put_escaped(exposition->out, value);
        buffer_putc(exposition->out, '"');
}

void exposition_label_i64(Exposition *exposition, const char *key, int64_t value) {
        put_separator(exposition);
        buffer_puts(exposition->out, key);
        buffer_puts(exposition->out, "=\"");
        buffer_put_i64(exposition->out, value);
        buffer_putc(exposition->out, '"');
}

void exposition_labels(Exposition *exposition, const char *text) {
        size_t n = strlen(text);
        char *p;

        if (n == 0)
                return;

        p = buffer_extend(exposition->out, n + 1);
        if (!p)
                return;

        *p = exposition->has_labels ? ',' : '{';
        memcpy(p + 1, text, n);
        exposition->has_labels = true;
}

/* Returns the length of the sample so far, with its labels. */
static size_t end_labels(Exposition *exposition) {
        buffer_puts(exposition->out, exposition->has_labels ? "} " : " ");
        return exposition->out->n - exposition->sample_at;
}

/* n: as returned by end_labels(). */
static void end_value(Exposition *exposition, size_t n) {
        Buffer *out = exposition->out;
        char *p;

        buffer_putc(out, '\n');
        if (exposition->created_ms == 0 || exposition->type != FAMILY_COUNTER || !exposition->is_openmetrics)
                return;

        buffer_put(out, exposition->name, exposition->n_name);
        buffer_puts(out, "_created");
        assert(n >= exposition->n_sample_name || out->failed);
        n -= exposition->n_sample_name;
        p = buffer_extend(out, n);
        if (!p)
                return;
        memcpy(p, out->text + exposition->sample_at + exposition->n_sample_name, n);
        buffer_put_decimal(out, exposition->created_ms, 3);
        buffer_putc(out, '\n');
}

void exposition_u64(Exposition *exposition, uint64_t value) {
        size_t n = end_labels(exposition);

        buffer_put_u64(exposition->out, value);
        end_value(exposition, n);
}

void exposition_double(Exposition *exposition, double value) {
        size_t n = end_labels(exposition);

        buffer_put_double(exposition->out, value);
        end_value(exposition, n);
}

void exposition_decimal(Exposition *exposition, uint64_t value, unsigned n_decimals) {
        size_t n = end_labels(exposition);

        buffer_put_decimal(exposition->out, value, n_decimals);
        end_value(exposition, n);
}

void exposition_sample_u64(Exposition *exposition, const char *key, const char *label, uint64_t value) {
        exposition_sample(exposition);
        exposition_label(exposition, key, label);
        exposition_u64(exposition, value);
}

void exposition_single(Exposition *exposition, const char *name, FamilyType type, const char *help, uint64_t value) {
        exposition_family(exposition, name, type, "", help);
        exposition_sample(exposition);
        exposition_u64(exposition, value);
}

void exposition_end(Exposition *exposition) {
        if (exposition->is_openmetrics)
                buffer_puts(exposition->out, "# EOF\n");
}
