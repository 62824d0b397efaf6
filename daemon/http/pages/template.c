/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pages/template.h"

#include <assert.h>
#include <string.h>

void template_deinit(Template *template) {
        for (size_t i = 0; i < template->n; i++)
                buffer_deinit(&template->words[i].html);
}

Buffer *template_word(Template *template, const char *name) {
        size_t i = 0;

        while (i < template->n && strcmp(template->words[i].name, name) != 0)
                i++;
        assert(i < TEMPLATE_WORDS_MAX);
        if (i == template->n)
                template->words[template->n++] = (TemplateWord){ .name = name };
        return &template->words[i].html;
}

/* Appends the word named at `text`, "hostname}}…", and returns the position behind it. A word that could not be
 * built fails the page. */
static const char *put_word(Buffer *out, const char *text, const Template *template, const char *otherwise) {
        const char *end = strstr(text, "}}");

        for (const TemplateWord *word = template->words; end && word < template->words + template->n; word++)
                if (strlen(word->name) == (size_t)(end - text) && memcmp(word->name, text, (size_t)(end - text)) == 0) {
                        out->failed |= word->html.failed;
                        otherwise = word->html.n > 0 ? word->html.text : otherwise;
                }

        buffer_puts(out, end ? otherwise : "");
        return end ? end + 2 : strchr(text, '\0');
}

void template_write(Buffer *out, const char *page, const Template *template, const char *otherwise) {
        for (const char *name; (name = strstr(page, "{{")); page = put_word(out, name + 2, template, otherwise))
                buffer_put(out, page, (size_t)(name - page));
        buffer_puts(out, page);
}
