/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared texts: a text in parts that several versions of it have in common
 *
 * A list of parts that changes by one part each time, such as the declarations of all models, is copied without
 * copying the parts. Parts and lists are immutable and count their references, which threads may take and release at
 * any time.
 */

#include <stddef.h>

#include "util/buffer.h"
#include "util/scoped.h"

typedef struct SharedText SharedText;
/* Moves the text out of the buffer. 0 or -ENOMEM, which a buffer that has failed is as well. */
int shared_text_new(SharedText **ret, Buffer *text);
SharedText *shared_text_ref(SharedText *text);
/* Returns the text, which is borrowed. */
const char *shared_text_get(const SharedText *text, size_t *ret_n);
/* Frees the text with its last reference; NULL: nothing happens. */
SharedText *shared_text_unref(SharedText *text);
DEFINE_SCOPED(SharedText, shared_text_unref);

typedef struct SharedTexts SharedTexts;
/* Makes an empty list for up to n_max parts between a head and a tail; takes references to both. 0 or -ENOMEM. */
int shared_texts_new(SharedTexts **ret, size_t n_max, SharedText *head, SharedText *tail);
/* Adds a part, before the list is shared, and takes a reference. */
void shared_texts_add(SharedTexts *texts, SharedText *part);
SharedTexts *shared_texts_ref(SharedTexts *texts);
SharedTexts *shared_texts_unref(SharedTexts *texts);
DEFINE_SCOPED(SharedTexts, shared_texts_unref);

/* Writes the head, the parts with commas in between, and the tail. */
void shared_texts_write(const SharedTexts *texts, Buffer *out);
