/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Nearest: finds the word that a misspelt word probably stands for */

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_WORD_MAX 32U /* longer words are not compared */

/* Returns the number of insertions, deletions, replacements and swaps between two words; 0 if they are equal. */
unsigned nearest_distance(const char *a, const char *b);
/* Returns the most similar of n words, or NULL if none is similar enough. */
const char *nearest_word(const char *word, const char *const *words, size_t n);
/* Returns true if the word equals one of n words. */
bool nearest_is_among(const char *word, const char *const *words, size_t n);
