/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts of paired comparisons on standard input, as perfctl compare reaches them
 *
 * Each line has the ratios of B to A of the pairs, in order, and one line as answer: the verdict (0 unknown, 1 same,
 * 2 less, 3 more) and the number of pairs after which it was clear. 1 % counts as the same.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/paired_comparison.h"

int main(void) {
        double differences[PAIRED_PAIRS_MAX];
        char *line = NULL;
        size_t n_allocated = 0;

        while (getline(&line, &n_allocated, stdin) > 0) {
                PairedVerdict verdict = PAIRED_UNKNOWN;
                size_t n = 0;

                for (char *rest = line, *end; verdict == PAIRED_UNKNOWN && n < PAIRED_PAIRS_MAX; rest = end) {
                        PairedInterval interval;
                        double ratio = strtod(rest, &end);

                        if (end == rest)
                                break;
                        differences[n++] = log(ratio);
                        interval = paired_comparison_interval(differences, n);
                        verdict = paired_comparison_judge(&interval, -log1p(0.01), log1p(0.01));
                }
                printf("%d %zu\n", (int)verdict, n);
        }
        free(line);
        return 0;
}
