/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Words: the text our checkpoints are kept in
 *
 * Lines of "kind NAME=value NAME=value …". A reader looks for the names it knows, so that
 * older and newer versions read each other's. Nothing is copied: a Word points into the text.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/sample.h"
#include "util/buffer.h"

typedef struct Word {
        const char *name, *value; /* not NUL-terminated; value is empty when there is no '=' */
        size_t n_name, n_value;
} Word;

/* The next word of the line *p is in, which moves past it. False at the line's end, where *p stays. */
bool words_next(const char **p, Word *ret);
/* The first word of the next line that has one, as `ret`. False at the end of the text. */
bool words_next_line(const char **p, Word *ret);

bool word_is(const Word *word, const char *name);
/* The whole value as a number. 0, or PARSE_MALFORMED. */
int word_u64(const Word *word, uint64_t *ret);
int word_double(const Word *word, double *ret); /* finite */

/* " NAME=value"; a number that is 0 is left out, since a missing word reads as 0. */
void words_put_u64(Buffer *out, const char *name, uint64_t v);
void words_put_double(Buffer *out, const char *name, double v);

/* Text that may hold anything, as one word's value: bytes that could end it become %XX. */
void words_put_text(Buffer *out, const char *name, const char *text);
/* And back, NUL-terminated. 0, or PARSE_MALFORMED (also when it needs more than n_max bytes, or holds a NUL). */
int word_text(const Word *word, char *ret, size_t n_max);

/* Bits per Source as "NAME=stat,meminfo": by name, because the order of the bits is each version's own. */
void words_put_sources(Buffer *out, const char *name, uint32_t sources);
uint32_t word_sources(const Word *word);
