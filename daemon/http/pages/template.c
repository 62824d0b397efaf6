/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pages/template.h"

#include <string.h>

/* A part that could not be built makes the page fail. */
static void put_html(Buffer *out, const Buffer *html) {
        if (buffer_error(html) < 0)
                out->failed = true;
        if (html->n > 0)
                buffer_put(out, html->text, html->n);
}

/* Puts the word named at `text`, "hostname}}…"; what comes after it. */
static const char *put_word(Buffer *out, const char *text, const TemplateWord *words, size_t n) {
        const char *end = strstr(text, "}}");

        for (size_t i = 0; end && i < n; i++)
                if (strlen(words[i].name) == (size_t)(end - text) && memcmp(words[i].name, text, (size_t)(end - text)) == 0)
                        put_html(out, &words[i].html);

        return end ? end + 2 : strchr(text, '\0');
}

void template_write(Buffer *out, const char *page, const TemplateWord *words, size_t n) {
        for (;;) {
                const char *name = strstr(page, "{{");

                if (!name)
                        break;
                buffer_put(out, page, (size_t)(name - page));
                page = put_word(out, name + 2, words, n);
        }
        buffer_puts(out, page);
}

void template_words_free(TemplateWord *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                buffer_deinit(&words[i].html);
}
