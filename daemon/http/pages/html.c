/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pages/html.h"

#include <math.h>
#include <string.h>

#include "util/clock.h"
#include "util/utf8.h"

#define NBSP "\xc2\xa0"
#define KIB 1024.0

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

void html_bytes(Buffer *out, double bytes) {
        static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
        size_t i = 0;

        for (; bytes >= KIB && i + 1 < sizeof(units) / sizeof(units[0]); i++)
                bytes /= KIB;
        buffer_printf(out, i == 0 ? "%.0f" NBSP "%s" : "%.1f" NBSP "%s", bytes, units[i]);
}

/* Formats two units, the larger first. */
static void put_two(Buffer *out, double seconds, double larger, const char *larger_unit, double smaller, const char *smaller_unit) {
        double n = floor(seconds / larger);

        buffer_printf(out, "%.0f" NBSP "%s" NBSP "%.0f" NBSP "%s", n, larger_unit, floor((seconds - n * larger) / smaller),
                      smaller_unit);
}

void html_seconds(Buffer *out, double seconds) {
        if (seconds < 9.995)
                buffer_printf(out, "%.2f" NBSP "s", seconds);
        else if (seconds < 99.95)
                buffer_printf(out, "%.1f" NBSP "s", seconds);
        else if (seconds < 3600)
                put_two(out, seconds, 60, "min", 1, "s");
        else if (seconds < 86400)
                put_two(out, seconds, 3600, "h", 60, "min");
        else
                put_two(out, seconds, 86400, "d", 3600, "h");
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
