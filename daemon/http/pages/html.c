/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pages/html.h"

#include <math.h>
#include <string.h>

#include "text/text.h"
#include "util/clock.h"
#include "util/utf8.h"

#define NBSP "\xc2\xa0"

static const char *entity(char c) {
        switch (c) {
        case '<':
                return "&lt;";
        case '>':
                return "&gt;";
        case '&':
                return "&amp;";
        case '"':
                return "&quot;";
        case '\'':
                return "&#39;";
        }
        return NULL;
}

void html_text(Buffer *out, const char *text) {
        while (*text) {
                char plain[UTF8_SAFE_MAX];
                size_t n = utf8_make_plain(text, strnlen(text, UTF8_SAFE_MAX), plain);

                buffer_puts(out, entity(*text) ?: plain);
                text += n;
        }
}

/* The words of a text stay on one line. */
static void put_together(Buffer *out, const char *text) {
        for (; *text; text++)
                buffer_puts(out, *text == ' ' ? NBSP : (char[]){ *text, '\0' });
}

void html_bytes(Buffer *out, double bytes) {
        char text[TEXT_MAX];

        text_mib(bytes / 1048576, text);
        put_together(out, text);
}

void html_seconds(Buffer *out, double seconds) {
        char text[TEXT_MAX];

        text_seconds(seconds, text);
        put_together(out, text);
}

void html_time(Buffer *out, uint64_t realtime_ns) {
        char text[CLOCK_TEXT_MAX];

        clock_format_utc(realtime_ns, text);
        buffer_printf(out, "%.10s %.8s" NBSP "UTC", text, text + 11);
}

void html_percent(Buffer *out, double ratio) {
        buffer_printf(out, "%.1f" NBSP "%%", 100 * ratio);
}

void html_count(Buffer *out, double count) {
        buffer_printf(out, fabs(count - round(count)) < 0.05 ? "%.0f" : "%.1f", count);
}
