/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/findings.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "client/cli/message.h"

#define PRINTED_MAX 20U
#define WARNING "warning: "

void findings_deinit(Findings *findings) {
        buffer_deinit(&findings->text);
}

/* Adds a line, whatever names of files contain. False: there is such a line already. */
__attribute__((format(printf, 3, 0)))
static bool add(Findings *findings, const char *kind, const char *format, va_list args) {
        size_t begin = findings->text.n;
        const char *same;

        buffer_puts(&findings->text, kind);
        buffer_vprintf(&findings->text, format, args);
        for (size_t i = begin; i < findings->text.n; i++)
                if (findings->text.text[i] == '\n')
                        findings->text.text[i] = ' ';
        buffer_putc(&findings->text, '\n');
        same = findings->text.text ? strstr(findings->text.text, findings->text.text + begin) : NULL;
        if (!same || same == findings->text.text + begin)
                return true;
        findings->text.n = begin;
        findings->text.text[begin] = '\0';
        return false;
}

void findings_error(Findings *findings, const char *format, ...) {
        va_list args;

        va_start(args, format);
        findings->n_errors += add(findings, "", format, args);
        va_end(args);
}

void findings_warn(Findings *findings, const char *format, ...) {
        va_list args;

        va_start(args, format);
        findings->n_warnings += add(findings, WARNING, format, args);
        va_end(args);
}

void findings_write_json(const Findings *findings, Json *json) {
        json_array_begin(json);
        for (const char *line = findings->text.text; line && *line; line = strchr(line, '\n') + 1)
                json_string_n(json, line, strcspn(line, "\n"));
        json_array_end(json);
}

static void add_line(Findings *findings, const char *line, int n) {
        size_t k = strlen(WARNING);

        if ((size_t)n >= k && strncmp(line, WARNING, k) == 0)
                findings_warn(findings, "%.*s", n - (int)k, line + k);
        else
                findings_error(findings, "%.*s", n, line);
}

void findings_read_json(Findings *findings, const Value *list) {
        for (size_t i = 0; list && list->type == VALUE_LIST && i < list->n_items; i++)
                if (list->items[i].type == VALUE_STRING)
                        add_line(findings, list->items[i].string, (int)strlen(list->items[i].string));
}

void findings_add(Findings *findings, const Findings *further) {
        for (const char *line = further->text.text; line && *line; line = strchr(line, '\n') + 1)
                add_line(findings, line, (int)strcspn(line, "\n"));
}

void findings_print(const Findings *findings) {
        const char *line = findings->text.text;
        size_t n = findings->n_errors + findings->n_warnings;

        for (size_t i = 0; i < n && i < PRINTED_MAX && line && *line; i++, line = strchr(line, '\n') + 1)
                message_print("%.*s", (int)strcspn(line, "\n"), line);
        if (n > PRINTED_MAX)
                message_print("%zu more; --output-matrix writes all", n - PRINTED_MAX);
}
