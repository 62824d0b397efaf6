#include "analysis/ranking.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rank_sum.h"
#include "analysis/statistics.h"
#include "util/scoped.h"

#define DRAWS 5000000U /* so many in all, within the limits of resamples */
#define RESAMPLES_MIN 100U
#define RESAMPLES_MAX 2000U

unsigned ranking_resamples(size_t n_values) {
        size_t n = DRAWS / (n_values + 1);

        return n < RESAMPLES_MIN ? RESAMPLES_MIN : n > RESAMPLES_MAX ? RESAMPLES_MAX : (unsigned)n;
}

/* splitmix64: small, seeded with anything, good enough to draw with. */
static uint64_t draw(uint64_t *state) {
        uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

/* Below n, without the bias of a remainder: Lemire's multiplication. */
static size_t draw_below(uint64_t *state, size_t n) {
        return (size_t)(((unsigned __int128)draw(state) * n) >> 64);
}

static int compare_doubles(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* Medians of n_resamples samples drawn with replacement, each of n values. `room` has n. */
static void resample(const Alternative *alternative, unsigned n_resamples, uint64_t *state, double *room, double *ret) {
        for (unsigned i = 0; i < n_resamples; i++) {
                for (size_t k = 0; k < alternative->n; k++)
                        room[k] = alternative->values[draw_below(state, alternative->n)];
                ret[i] = median_in_place(room, alternative->n);
        }
}

static double median_of(const Alternative *alternative, double *room) {
        if (alternative->n == 0)
                return NAN;
        memcpy(room, alternative->values, alternative->n * sizeof(*room));
        return median_in_place(room, alternative->n);
}

const char *verdict_name(Verdict verdict) {
        static const char *const names[] = {
                [VERDICT_BEST] = "best",
                [VERDICT_REAL] = "real",
                [VERDICT_NOISE] = "noise",
                [VERDICT_FEW] = "too few runs",
        };

        return names[verdict];
}

/*
 * Room for one alternative's values, and for the resampled medians of the best of all, the best of a rank and the one in question,
 * and the difference of two.
 */
typedef struct Room {
        double *values, *first_medians, *medians, *next_medians, *differences; /* owned */
} Room;

static void room_deinit(Room *room) {
        free(room->values);
        free(room->first_medians);
        free(room->medians);
        free(room->next_medians);
        free(room->differences);
}

static int room_init(Room *room, const Alternative *alternatives, size_t n, unsigned n_resamples) {
        size_t n_max = 1;

        for (size_t i = 0; i < n; i++)
                if (alternatives[i].n > n_max)
                        n_max = alternatives[i].n;

        room->values = calloc(n_max, sizeof(double));
        room->first_medians = calloc(n_resamples, sizeof(double));
        room->medians = calloc(n_resamples, sizeof(double));
        room->next_medians = calloc(n_resamples, sizeof(double));
        room->differences = calloc(n_resamples, sizeof(double));
        return room->values && room->first_medians && room->medians && room->next_medians && room->differences ? 0 : -ENOMEM;
}

static void swap(double **a, double **b) {
        double *kept = *a;

        *a = *b;
        *b = kept;
}

static void interval_of(double *values, unsigned n, double confidence, double *ret_low, double *ret_high) {
        double tail = (1 - confidence) / 2;

        qsort(values, n, sizeof(*values), compare_doubles);
        *ret_low = quantile_of_sorted(values, n, tail);
        *ret_high = quantile_of_sorted(values, n, 1 - tail);
}

static bool can_be_judged(const Alternative *alternative) {
        return alternative->n >= RANKING_N_MIN;
}

/* Of resampled medians, in the order they were drawn. */
static bool medians_differ(const double *a, const double *b, const RankingConfig *config, double *room) {
        double low, high;

        for (unsigned i = 0; i < config->n_resamples; i++)
                room[i] = a[i] - b[i];
        interval_of(room, config->n_resamples, config->confidence, &low, &high);
        return low > 0 || high < 0;
}

/* The other one of which `medians` are, from the one of room->next_medians. 0 or -ENOMEM. */
static int judge(const Alternative *other, const double *medians, const Alternative *alternative, const RankingConfig *config,
                 Room *room, Verdict *ret) {
        double chance = 1 - config->confidence + 1e-9, probability = 0; /* 1 - 0.9 is a little less than 0.1 */
        bool is_small = other->n + alternative->n <= RANK_SUM_VALUES_MAX;
        int r = 0;

        if (!can_be_judged(other) || !can_be_judged(alternative) || (is_small && rank_sum_least(other->n, alternative->n) > chance)) {
                *ret = VERDICT_FEW;
                return 0;
        }

        *ret = medians_differ(medians, room->next_medians, config, room->differences) ? VERDICT_REAL : VERDICT_NOISE;
        if (*ret == VERDICT_REAL && is_small)
                r = rank_sum_probability(other->values, other->n, alternative->values, alternative->n, &probability);
        if (r == 0 && probability > chance)
                *ret = VERDICT_NOISE;
        return r;
}

static int compare_higher(const void *a, const void *b) {
        const Alternative *x = a, *y = b;

        if (isnan(x->median) || isnan(y->median))
                return isnan(x->median) - isnan(y->median);
        return (y->median > x->median) - (y->median < x->median);
}

static int compare_lower(const void *a, const void *b) {
        const Alternative *x = a, *y = b;

        if (isnan(x->median) || isnan(y->median))
                return isnan(x->median) - isnan(y->median);
        return (x->median > y->median) - (x->median < y->median);
}

/* Draws for alternative i; its interval is taken from a copy, since the order of the draws is needed afterwards. */
static void measure(Alternative *alternative, const RankingConfig *config, uint64_t *state, Room *room, double *ret_medians) {
        if (!can_be_judged(alternative)) {
                alternative->low = alternative->high = NAN;
                return;
        }

        resample(alternative, config->n_resamples, state, room->values, ret_medians);
        memcpy(room->differences, ret_medians, config->n_resamples * sizeof(double));
        interval_of(room->differences, config->n_resamples, config->confidence, &alternative->low, &alternative->high);
}

/* Of alternative i: what it is beside the best of all, and beside the best of the present rank, whose medians are in room->medians. */
static int place(Alternative *alternatives, size_t i, Alternative **best, const RankingConfig *config, Room *room) {
        Alternative *alternative = &alternatives[i];
        Verdict beside = VERDICT_REAL;
        int r;

        r = judge(alternatives, room->first_medians, alternative, config, room, &alternative->verdict);
        if (r == 0)
                r = judge(*best, room->medians, alternative, config, room, &beside);
        if (r < 0)
                return r;

        alternative->ratio = alternatives[0].median != 0 ? alternative->median / alternatives[0].median : NAN;
        alternative->is_tied = alternative->verdict != VERDICT_REAL || beside != VERDICT_REAL;
        if (alternative->is_tied) {
                (*best)->is_tied = true;
                alternative->rank = (*best)->rank;
                return 0;
        }

        *best = alternative;
        alternative->rank = (unsigned)i + 1;
        swap(&room->medians, &room->next_medians);
        return 0;
}

static int rank(Alternative *alternatives, size_t n, const RankingConfig *config, uint64_t *state, Room *room) {
        Alternative *best = alternatives;
        int r = 0;

        measure(best, config, state, room, room->medians);
        memcpy(room->first_medians, room->medians, config->n_resamples * sizeof(double));
        best->rank = 1;
        best->is_tied = false;
        best->verdict = VERDICT_BEST;
        best->ratio = best->median != 0 ? 1 : NAN;
        for (size_t i = 1; r == 0 && i < n; i++) {
                measure(&alternatives[i], config, state, room, room->next_medians);
                r = place(alternatives, i, &best, config, room);
        }
        return r;
}

int ranking_make(Alternative *alternatives, size_t n, const RankingConfig *config) {
        scoped(room_deinit) Room room = {};
        uint64_t state = config->seed;
        int r;

        if (n == 0)
                return 0;
        r = room_init(&room, alternatives, n, config->n_resamples);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n; i++)
                alternatives[i].median = median_of(&alternatives[i], room.values);
        qsort(alternatives, n, sizeof(*alternatives), config->is_higher_better ? compare_higher : compare_lower);
        return rank(alternatives, n, config, &state, &room);
}
