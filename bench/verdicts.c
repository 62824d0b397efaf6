/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Change points and verdicts of the series on standard input
 *
 * Each line is METHOD WORK FIRST DIRECTION VALUE…, and has one line as answer. `points`: the indexes of the change
 * points. `online`: these for each of the first FIRST, FIRST + 1, … values, separated by semicolons. `verdict`: the
 * verdict, the index since which it holds, the number of values that are needed, the index of the level that came
 * back, the smallest change and the number of values that show it; an index is that behind the series if there is none.
 * hunter has the settings of Apache Otava, with changes of 1 % or more.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/judge.h"
#include "util/scoped.h"

#define N_MAX 4096U

static void put_points(const JudgeResult *judgement) {
        for (size_t i = 0; i < judgement->n_points; i++)
                printf("%s%zu", i > 0 ? " " : "", judgement->points[i].index);
}

static int find(const char *const *words, const char *word, int n) {
        int i = 0;

        while (i < n && strcmp(words[i], word) != 0)
                i++;
        return i;
}

static int answer(char *line, double *series) {
        char *rest = line, *method = strsep(&rest, " "), *work = strsep(&rest, " ");
        size_t first = strtoul(strsep(&rest, " ") ?: "", NULL, 10), n = 0;
        const char *direction = strsep(&rest, " ");
        JudgeSettings settings = { .hunter = { HUNTER_WINDOW, HUNTER_P_VALUE_MAX, 0.01 }, .shift = SHIFT_DEFAULTS };
        bool is_online = work && strcmp(work, "online") == 0;

        if (!rest)
                return -1;
        for (char *end; n < N_MAX && *rest; rest = *end ? end + 1 : end)
                series[n++] = strtod(rest, &end);
        settings.method = (JudgeMethod)find(judge_method_names, method, N_JUDGE_METHODS - 1);
        settings.direction = (JudgeDirection)find(judge_direction_names, direction, N_JUDGE_DIRECTIONS - 1);
        for (size_t k = is_online ? first : n; k <= n; k++) {
                scoped(judge_deinit) JudgeResult judgement = {};

                if (judge_series(series, k, &settings, &judgement) < 0)
                        return -1;
                if (strcmp(work, "verdict") == 0)
                        printf("%s;%zu;%zu;%zu;%.9g;%zu", judge_verdict_names[judgement.verdict], judgement.since,
                               judgement.n_needed, judgement.back_to, judgement.smallest.change,
                               judgement.smallest.n_after);
                else
                        put_points(&judgement);
                if (k < n)
                        putchar(';');
        }
        putchar('\n');
        return 0;
}

int main(void) {
        static double series[N_MAX];
        scoped(freep) char *line = NULL;
        size_t n_line = 0;
        ssize_t n;

        while ((n = getline(&line, &n_line, stdin)) > 0) {
                if (line[n - 1] == '\n')
                        line[n - 1] = '\0';
                if (answer(line, series) < 0)
                        return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
}
