/* SPDX-License-Identifier: Apache-2.0 */
#include "http/format/csv.h"

#include <math.h>
#include <string.h>

#include "util/utf8.h"

static void begin_cell(Csv *csv) {
        if (csv->has_cells)
                buffer_putc(csv->out, ',');
        csv->has_cells = true;
}

void csv_text(Csv *csv, const char *text) {
        bool is_quoted = strpbrk(text, ",\"\r\n"), is_formula = *text && strchr("=+-@\t\r", *text);

        begin_cell(csv);
        if (is_quoted)
                buffer_putc(csv->out, '"');
        if (is_formula)
                buffer_putc(csv->out, '\'');
        while (*text) {
                char plain[UTF8_SAFE_MAX];

                if (*text == '"')
                        buffer_putc(csv->out, '"');
                text += utf8_make_plain(text, strnlen(text, UTF8_SAFE_MAX), plain);
                buffer_puts(csv->out, plain);
        }
        if (is_quoted)
                buffer_putc(csv->out, '"');
}

void csv_number(Csv *csv, double v) {
        begin_cell(csv);
        if (isfinite(v))
                buffer_put_double(csv->out, v);
}

void csv_json(Csv *csv, JsonText value) {
        scoped(buffer_deinit) Buffer text = {};
        JsonKind kind = json_text_kind(value);

        if (kind == JSON_KIND_NULL || kind == JSON_KIND_NONE)
                begin_cell(csv);
        else if (kind == JSON_KIND_NUMBER) {
                begin_cell(csv);
                buffer_put(csv->out, value.text, value.n);
        } else {
                json_text_decode(value, &text);
                csv_text(csv, text.text ? text.text : "");
        }
}

void csv_end_line(Csv *csv) {
        buffer_puts(csv->out, "\r\n");
        csv->has_cells = false;
}
