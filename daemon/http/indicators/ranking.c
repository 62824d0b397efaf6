/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/ranking.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rank_sum.h"
#include "util/clock.h"
#include "util/scoped.h"

#define RESAMPLES_PER_LOOK 10U /* at the clock */

/* The generator is splitmix64: it is small, takes any seed and suffices for resampling. */
static uint64_t draw(uint64_t *state) {
        uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

/* Draws a number below n by Lemire's multiplication, which has less bias than a remainder. */
static size_t draw_below(uint64_t *state, size_t n) {
        return (size_t)(((unsigned __int128)draw(state) * n) >> 64);
}

/* Computes the medians of n_resamples samples, each of n values drawn with replacement. `room` has space for n
 * values. */
static void resample(const Alternative *alternative, unsigned n_resamples, uint64_t *state, double *room, double *ret) {
        for (unsigned i = 0; i < n_resamples; i++) {
                for (size_t k = 0; k < alternative->n; k++)
                        room[k] = alternative->values[draw_below(state, alternative->n)];
                ret[i] = statistics_median_in_place(room, alternative->n);
        }
}

static double median_of(const Alternative *alternative, double *room) {
        if (alternative->n == 0)
                return NAN;
        memcpy(room, alternative->values, alternative->n * sizeof(*room));
        return statistics_median_in_place(room, alternative->n);
}

const char *ranking_verdict_name(Verdict verdict) {
        static const char *const names[] = {
                [VERDICT_BEST] = "best",
                [VERDICT_SIGNIFICANT] = "significant",
                [VERDICT_NOISE] = "noise",
                [VERDICT_FEW] = "too few runs",
        };

        return names[verdict];
}

/*
 * Working space: the values of one alternative, the resampled medians of the best of all, of the best of a rank and
 * of the alternative under test, the differences of two sets of medians, and the rank-sum test.
 */
typedef struct Room {
        double *values, *first_medians, *medians, *next_medians, *differences, *rank_sums; /* owned */
} Room;

/* Comparison of an alternative with the best of all. */
typedef struct Comparison {
        Alternative *alternative;
        /* uncorrected probability of the test; smallest possible probability for samples of these sizes */
        double probability, least;
        bool are_medians_apart;
} Comparison;

typedef struct Ranking {
        Alternative *alternatives; /* best first */
        size_t n;
        const RankingConfig *config;
        size_t n_judged;       /* alternatives with enough values */
        bool is_over;          /* the time is up: no number is right */
        uint64_t *seeds;       /* owned; a seed for each alternative, with which its draws can be repeated */
        double *sorted;        /* owned; all values, in ascending order for each alternative */
        const double **begins; /* owned; start of each alternative's values in `sorted` */
        Comparison *comparisons;       /* owned; an entry for each of the n - 1 alternatives after the best */
        Room room;
} Ranking;

static void room_deinit(Room *room) {
        free(room->values);
        free(room->first_medians);
        free(room->medians);
        free(room->next_medians);
        free(room->differences);
        free(room->rank_sums);
}

static int room_init(Room *room, size_t n_values_max, unsigned n_resamples) {
        room->values = calloc(n_values_max + 1, sizeof(double));
        room->first_medians = calloc(n_resamples, sizeof(double));
        room->medians = calloc(n_resamples, sizeof(double));
        room->next_medians = calloc(n_resamples, sizeof(double));
        room->differences = calloc(n_resamples, sizeof(double));
        room->rank_sums = calloc(RANK_SUM_SCRATCH, sizeof(double));
        return room->values && room->first_medians && room->medians && room->next_medians && room->differences &&
                               room->rank_sums
                       ? 0
                       : -ENOMEM;
}

static void ranking_deinit(Ranking *ranking) {
        free(ranking->seeds);
        free(ranking->sorted);
        free(ranking->begins);
        free(ranking->comparisons);
        room_deinit(&ranking->room);
}

static int ranking_init(Ranking *ranking, Alternative *alternatives, size_t n, const RankingConfig *config) {
        size_t n_values = 0, n_values_max = 0;

        *ranking = (Ranking){ .alternatives = alternatives, .n = n, .config = config };
        for (size_t i = 0; i < n; i++) {
                n_values += alternatives[i].n;
                n_values_max = alternatives[i].n > n_values_max ? alternatives[i].n : n_values_max;
        }

        ranking->seeds = calloc(n, sizeof(*ranking->seeds));
        ranking->sorted = calloc(n_values + 1, sizeof(*ranking->sorted));
        ranking->begins = calloc(n, sizeof(*ranking->begins));
        ranking->comparisons = calloc(n, sizeof(*ranking->comparisons));
        if (!ranking->seeds || !ranking->sorted || !ranking->begins || !ranking->comparisons)
                return -ENOMEM;
        return room_init(&ranking->room, n_values_max, config->n_resamples);
}

static void swap(double **a, double **b) {
        double *kept = *a;

        *a = *b;
        *b = kept;
}

static void interval_of(double *values, unsigned n, double confidence, double *ret_low, double *ret_high) {
        double tail = (1 - confidence) / 2;

        statistics_sort(values, n);
        *ret_low = statistics_quantile_of_sorted(values, n, tail);
        *ret_high = statistics_quantile_of_sorted(values, n, 1 - tail);
}

static bool can_be_judged(const Alternative *alternative) {
        return alternative->n >= RANKING_N_MIN;
}

/* Orders alternatives, best first; alternatives without a median come last. userdata: the RankingConfig. */
static int compare_medians(const void *a, const void *b, void *userdata) {
        const RankingConfig *config = userdata;
        const Alternative *x = config->is_higher_better ? b : a, *y = config->is_higher_better ? a : b;

        if (isnan(x->median) || isnan(y->median))
                return config->is_higher_better ? isnan(y->median) - isnan(x->median)
                                                : isnan(x->median) - isnan(y->median);
        return COMPARE(x->median, y->median);
}

/* Sorts the alternatives and sets up the seed and the sorted values of each. */
static void put_in_order(Ranking *ranking) {
        uint64_t state = ranking->config->seed;
        double *end = ranking->sorted;

        for (size_t i = 0; i < ranking->n; i++)
                ranking->alternatives[i].median = median_of(&ranking->alternatives[i], ranking->room.values);
        qsort_r(ranking->alternatives, ranking->n, sizeof(*ranking->alternatives), compare_medians,
                (void *)(uintptr_t)ranking->config);

        for (size_t i = 0; i < ranking->n; i++) {
                const Alternative *alternative = &ranking->alternatives[i];

                if (alternative->n > 0)
                        memcpy(end, alternative->values, alternative->n * sizeof(*end));
                statistics_sort(end, alternative->n);
                ranking->begins[i] = end;
                ranking->seeds[i] = draw(&state);
                ranking->n_judged += can_be_judged(alternative);
                end += alternative->n;
        }
}

/* --- comparison of two alternatives --------------------------------------------------------------- */

static void draw_medians(Ranking *ranking, size_t i, double *ret) {
        const RankingConfig *config = ranking->config;
        uint64_t state = ranking->seeds[i];

        for (unsigned k = 0; k < config->n_resamples && !ranking->is_over; k += RESAMPLES_PER_LOOK) {
                unsigned n = config->n_resamples - k < RESAMPLES_PER_LOOK ? config->n_resamples - k
                                                                          : RESAMPLES_PER_LOOK;

                resample(&ranking->alternatives[i], n, &state, ranking->room.values, ret + k);
                ranking->is_over = config->until_ns > 0 && clock_boottime_ns() > config->until_ns;
        }
}

/* True if the interval of the difference of resampled medians, paired in the order of drawing, excludes zero. */
static bool medians_differ(const double *a, const double *b, const RankingConfig *config, double *room) {
        double low, high;

        for (unsigned i = 0; i < config->n_resamples; i++)
                room[i] = a[i] - b[i];
        interval_of(room, config->n_resamples, config->confidence, &low, &high);
        return low > 0 || high < 0;
}

static double test(const Ranking *ranking, size_t i, size_t k) {
        return rank_sum_test(ranking->begins[i], ranking->alternatives[i].n, ranking->begins[k],
                             ranking->alternatives[k].n, SIZE_MAX, ranking->room.rank_sums)
                .two_sided;
}

/* n_told: number of the n alternatives that are already distinguished from one of the two; up to n - 2. */
static double correct(double probability, size_t n, size_t n_told) {
        return fmin(1, probability * (double)n * (double)(n - n_told - 1) / 2);
}

static bool is_enough(double chance, double confidence) {
        return chance <= 1 - confidence + 1e-9; /* 1 - 0.9 is a little less than 0.1 */
}

size_t ranking_values_needed(size_t n, double confidence) {
        size_t n_values = RANKING_N_MIN;

        while (!is_enough(correct(rank_sum_least(n_values, n_values), n, 0), confidence))
                n_values++;
        return n_values;
}

/* --- verdicts: against the best of all ----------------------------------------------------------- */

/* Sets the numbers of alternative i that need no test, and draws its medians. */
static void measure(Ranking *ranking, size_t i, double *ret_medians) {
        Alternative *alternative = &ranking->alternatives[i];

        alternative->ratio = ranking->alternatives[0].median > 0 ? alternative->median / ranking->alternatives[0].median
                                                                 : NAN;
        alternative->chance = NAN;
        alternative->verdict = VERDICT_FEW;
        alternative->interval = statistics_median_interval(ranking->begins[i], alternative->n,
                                                           ranking->config->confidence);
        if (can_be_judged(alternative))
                draw_medians(ranking, i, ret_medians);
}

static int compare_probabilities(const void *a, const void *b) {
        const Comparison *x = a, *y = b;

        /* Equal probabilities are ordered by rank, so that every implementation of qsort() gives the same order. */
        return COMPARE(x->probability, y->probability) ?: COMPARE(x->alternative, y->alternative);
}

/* Tests the most certain difference first: each distinguished alternative weakens the correction for the next. */
static void step_down(const Ranking *ranking, Comparison *comparisons, size_t n) {
        double confidence = ranking->config->confidence, chance = 0;
        size_t n_judged = ranking->n_judged, n_told = 0;

        qsort(comparisons, n, sizeof(*comparisons), compare_probabilities);
        for (size_t i = 0; i < n; i++) {
                Alternative *alternative = comparisons[i].alternative;

                chance = fmax(chance, correct(comparisons[i].probability, n_judged, n_told));
                alternative->chance = chance;
                if (is_enough(chance, confidence) && comparisons[i].are_medians_apart) {
                        alternative->verdict = VERDICT_SIGNIFICANT;
                        n_told++;
                } else if (is_enough(correct(comparisons[i].least, n_judged, n_told), confidence))
                        alternative->verdict = VERDICT_NOISE;
        }
}

static void judge(Ranking *ranking) {
        Alternative *best = ranking->alternatives;
        Room *room = &ranking->room;
        size_t n = 0;

        measure(ranking, 0, room->first_medians);
        for (size_t i = 1; i < ranking->n && !ranking->is_over; i++) {
                Alternative *alternative = &ranking->alternatives[i];
                Comparison *comparison = &ranking->comparisons[n];

                measure(ranking, i, room->next_medians);
                if (!can_be_judged(best) || !can_be_judged(alternative))
                        continue;
                *comparison = (Comparison){ .alternative = alternative,
                                            .least = rank_sum_least(best->n, alternative->n) };
                comparison->are_medians_apart = medians_differ(room->first_medians, room->next_medians, ranking->config,
                                                               room->differences);
                comparison->probability = test(ranking, 0, i);
                n++;
        }

        step_down(ranking, ranking->comparisons, n);
        best->verdict = VERDICT_BEST;
}

/* --- ranks: against the best alternative of each rank ---------------------------------------------- */

/* Tests whether alternative i differs significantly from `best`, the best of a rank other than the first. Both
 * already differ from the best of all, and `best` also differs from the best of the rank before. */
static bool is_below(Ranking *ranking, size_t best, size_t n_told, size_t i) {
        Room *room = &ranking->room;

        if (!is_enough(correct(test(ranking, best, i), ranking->n_judged, n_told), ranking->config->confidence))
                return false;

        draw_medians(ranking, i, room->next_medians);
        return medians_differ(room->medians, room->next_medians, ranking->config, room->differences);
}

static void give_ranks(Ranking *ranking) {
        Alternative *alternatives = ranking->alternatives;
        size_t best = 0, n_told = 0;

        alternatives[0].rank = 1;
        alternatives[0].is_tied = false;
        for (size_t i = 1; i < ranking->n && !ranking->is_over; i++) {
                bool is_apart = alternatives[i].verdict == VERDICT_SIGNIFICANT &&
                                (best == 0 || is_below(ranking, best, n_told, i));

                alternatives[i].is_tied = !is_apart;
                if (!is_apart) {
                        alternatives[best].is_tied = true;
                        alternatives[i].rank = alternatives[best].rank;
                        continue;
                }
                if (best > 0)
                        swap(&ranking->room.medians, &ranking->room.next_medians);
                else
                        draw_medians(ranking, i, ranking->room.medians);
                n_told = best > 0 ? 2 : 1;
                best = i;
                alternatives[i].rank = (unsigned)i + 1;
        }
}

int ranking_make(Alternative *alternatives, size_t n, const RankingConfig *config) {
        scoped(ranking_deinit) Ranking ranking = {};
        int r;

        if (n == 0)
                return 0;

        r = ranking_init(&ranking, alternatives, n, config);
        if (r < 0)
                return r;

        put_in_order(&ranking);
        judge(&ranking);
        give_ranks(&ranking);
        return ranking.is_over ? RANKING_TIMEOUT : 0;
}
