/* SPDX-License-Identifier: Apache-2.0 */
#include "util/nearest.h"

#include <string.h>

static unsigned min3(unsigned a, unsigned b, unsigned c) {
        unsigned m = a < b ? a : b;

        return m < c ? m : c;
}

/*
 * Computes the Damerau-Levenshtein distance, restricted to one swap per pair of neighbours (optimal string
 * alignment).
 */
unsigned nearest_distance(const char *a, const char *b) {
        unsigned cost[NEAREST_WORD_MAX + 1][NEAREST_WORD_MAX + 1];
        size_t n_a = strlen(a), n_b = strlen(b);

        if (n_a > NEAREST_WORD_MAX || n_b > NEAREST_WORD_MAX)
                return NEAREST_WORD_MAX;

        for (unsigned i = 0; i <= n_a; i++) {
                for (unsigned k = 0; k <= n_b; k++) {
                        if (i == 0 || k == 0) {
                                cost[i][k] = i + k;
                                continue;
                        }
                        cost[i][k] = min3(cost[i - 1][k] + 1, cost[i][k - 1] + 1,
                                          cost[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
                        if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
                            cost[i - 2][k - 2] + 1 < cost[i][k])
                                cost[i][k] = cost[i - 2][k - 2] + 1;
                }
        }

        return cost[n_a][n_b];
}

const char *nearest_word(const char *word, const char *const *words, size_t n) {
        const char *nearest = NULL;
        unsigned best = strlen(word) < 4 ? 2 : 3; /* a smaller distance is considered a typo */

        for (size_t i = 0; i < n; i++) {
                unsigned distance = nearest_distance(word, words[i]);

                if (distance >= best)
                        continue;
                best = distance;
                nearest = words[i];
        }

        return nearest;
}

bool nearest_is_among(const char *word, const char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(word, words[i]) == 0)
                        return true;
        return false;
}
