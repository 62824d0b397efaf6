/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pages/run_html.h"

#include <inttypes.h>
#include <string.h>

#include "http/pages/html.h"
#include "util/clock.h"
#include "util/utf8.h"

#define NUMBERS_MAX 4U
#define LINE_MAX_BYTES 160U
#define BATCH_LETTERS 8

/* Writes "elapsed 1.2 ms, rate 223.6 GFLOP/s". */
static void put_numbers(Buffer *out, const ResultRow *row, const Vocabulary *vocabulary) {
        JsonWalk walk = json_text_walk(json_text_find(json_text(row->document, strlen(row->document)), "@result"));
        JsonText key, value;
        size_t n = 0;

        while (walk.is_object && json_text_walk_next(&walk, &key, &value)) {
                scoped(buffer_deinit) Buffer name = {}, unit = {};
                double number;

                if (!json_text_double(value, &number))
                        continue;
                if (n++ == NUMBERS_MAX) {
                        buffer_puts(out, ", …");
                        return;
                }
                json_text_decode(key, &name);
                buffer_puts(out, n > 1 ? ", " : "");
                html_text(out, name.text ?: "");
                buffer_printf(out, " %.5g", number);
                if (vocabulary_say(vocabulary, name.text ?: "", "unit", &unit) == 0 && unit.text) {
                        buffer_putc(out, ' ');
                        html_text(out, unit.text);
                }
        }
}

/* Writes the last line of standard error, which often contains the reason. */
static void put_last_line(Buffer *out, const char *run) {
        scoped(buffer_deinit) Buffer text = {};
        char *line;

        if (!run)
                return;
        json_text_decode(json_text_find(json_text(run, strlen(run)), "stderr"), &text);
        if (text.n == 0)
                return;

        while (text.n > 0 && strchr(" \n\r\t", text.text[text.n - 1]))
                text.text[--text.n] = '\0';
        line = strrchr(text.text, '\n');
        line = line ? line + 1 : text.text;
        line[utf8_cut(line, LINE_MAX_BYTES)] = '\0';
        buffer_puts(out, ": ");
        html_text(out, line);
}

static void put_outcome(Buffer *out, const ResultRow *row, const Vocabulary *vocabulary, const Viewer *viewer) {
        buffer_puts(out, "<td class=\"text\">");
        if (row->has_exit_status && row->exit_status != 0) {
                buffer_printf(out, "<b class=\"failed\">failed, exit %" PRId64 "</b>", row->exit_status);
                if (privacy_may_see(viewer, row->uid))
                        put_last_line(out, row->run);
                else if (row->run)
                        buffer_puts(out, "; its standard error is " PRIVACY_REASON);
        } else
                put_numbers(out, row, vocabulary);
        buffer_puts(out, "</td>");
}

static void put_batch(Buffer *out, const ResultRow *row) {
        buffer_puts(out, "<td>");
        if (row->batch.is_known) {
                buffer_puts(out, "<a href=\"../api/v1/batches/");
                for (size_t i = 0; i < sizeof(row->batch.id); i++)
                        buffer_printf(out, "%02x", row->batch.id[i]);
                buffer_puts(out, "\">");
                for (size_t i = 0; i < BATCH_LETTERS / 2; i++)
                        buffer_printf(out, "%02x", row->batch.id[i]);
                buffer_printf(out, "</a> #%" PRIu64, row->batch.index);
        }
        buffer_puts(out, "</td>");
}

void run_html(Buffer *out, const ResultRow *row, const Vocabulary *vocabulary, const Viewer *viewer) {
        buffer_puts(out, "<tr><th scope=\"row\">");
        html_text(out, row->component);
        if (row->version) {
                buffer_putc(out, ' ');
                html_text(out, row->version);
        }
        buffer_puts(out, "</th><td>");
        html_time(out, row->time_ms * NS_PER_MS);
        buffer_puts(out, "</td>");
        put_outcome(out, row, vocabulary, viewer);
        buffer_puts(out, "<td>");
        if (row->job) {
                buffer_puts(out, "<a href=\"../jobs/");
                html_text(out, row->job);
                buffer_puts(out, "\">");
                html_text(out, row->job);
                buffer_puts(out, "</a>");
        }
        buffer_puts(out, "</td>");
        put_batch(out, row);
        buffer_puts(out, "</tr>\n");
}
