/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Template: a page of web/ with {{names}} in the place of what is there at the moment
 */

#include "util/buffer.h"

typedef struct TemplateWord {
        const char *name;
        Buffer html; /* owned; empty: nothing */
} TemplateWord;

/* A name that none of the words has leaves nothing. */
void template_write(Buffer *out, const char *page, const TemplateWord *words, size_t n);
void template_words_free(TemplateWord *words, size_t n);
