/* SPDX-License-Identifier: Apache-2.0 */
#include "text/openmetrics.h"

#include <string.h>

#include "util/utf8.h"

void openmetrics_put_name(Buffer *out, const char *text) {
        if (*text >= '0' && *text <= '9')
                buffer_putc(out, '_');
        for (; *text; text++) {
                bool is_letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');

                buffer_putc(out, is_letter || (*text >= '0' && *text <= '9') ? *text : '_');
        }
}

void openmetrics_put_prefix(Buffer *out, const char *name) {
        scoped(buffer_deinit) Buffer words = {};
        char last = '_';

        openmetrics_put_name(&words, name);
        for (const char *c = words.text; c && *c; last = *c++) {
                bool is_upper = *c >= 'A' && *c <= 'Z';

                if (is_upper && last >= 'a' && last <= 'z')
                        buffer_putc(out, '_');
                buffer_putc(out, is_upper ? (char)(*c - 'A' + 'a') : *c);
        }
        buffer_putc(out, '_');
}

void openmetrics_put_escaped(Buffer *out, const char *text) {
        while (*text) {
                char plain[UTF8_SAFE_MAX];
                size_t n = utf8_make_plain(text, strnlen(text, UTF8_SAFE_MAX), plain);

                if (*plain == '\\' || *plain == '"')
                        buffer_putc(out, '\\');
                buffer_puts(out, *plain == '\n' ? "\\n" : plain);
                text += n;
        }
}
