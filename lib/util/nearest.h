/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Nearest: which of the words that there are was probably meant */

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_WORD_MAX 32U /* longer ones are like no other */

/* Like strcmp() in what it returns 0 for: insertions, deletions, replacements and swaps between two words. */
unsigned nearest_distance(const char *a, const char *b);
/* The word of n that was probably meant, or NULL. */
const char *nearest_word(const char *word, const char *const *words, size_t n);
/* Whether the word is one of n. */
bool nearest_is_among(const char *word, const char *const *words, size_t n);
