/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Template: a page of web/ with {{names}} that are replaced by words */

#include "util/buffer.h"

#define TEMPLATE_WORDS_MAX 16U

typedef struct TemplateWord {
        const char *name; /* borrowed */
        Buffer html; /* owned; may be empty */
} TemplateWord;

typedef struct Template {
        TemplateWord words[TEMPLATE_WORDS_MAX];
        size_t n;
} Template;

void template_deinit(Template *template);
/* Returns the text of the word, to append to; a new word is empty. */
Buffer *template_word(Template *template, const char *name);
/* text for a name whose word is empty or missing */
void template_write(Buffer *out, const char *page, const Template *template, const char *otherwise);
