#pragma once

/*
 * Ranking: which of several alternatives is better, and what is noise
 *
 * Alternatives are ordered by the median of their values. Each has a percentile-bootstrap interval of its median. One is told
 * apart from a better one only where the interval of the difference of their medians, of the same resampling, leaves out
 * zero; the others share its rank. Of few values resampling is too sure (two samples of three are told apart in every tenth case
 * by chance), so that an exact rank-sum test must agree. Deterministic: the resampling is seeded by the caller.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the difference to the best of all. */
typedef enum Verdict {
        VERDICT_BEST,
        VERDICT_REAL,
        VERDICT_NOISE,
        VERDICT_FEW, /* so few values cannot be told apart at this confidence, whatever they are */
} Verdict;

typedef struct Alternative {
        const double *values; /* borrowed, finite */
        size_t n;
        /* Filled in: */
        double median, low, high; /* of the median; NAN with fewer than RANKING_N_MIN values */
        unsigned rank;            /* from 1; those that are not told apart from the best of a rank share it */
        bool is_tied;             /* another has this rank as well */
        double ratio;             /* of its median to the best one's */
        Verdict verdict;
} Alternative;

#define RANKING_N_MIN 3U
#define RANKING_ALTERNATIVES_MAX 1000U

typedef struct RankingConfig {
        bool is_higher_better;
        double confidence;   /* 0…1, as 0.95 */
        unsigned n_resamples; /* 100…100000 */
        uint64_t seed;
} RankingConfig;

const char *verdict_name(Verdict verdict); /* "best", "real", "noise", "too few runs" */

/* As many as a question has time for that is about so many values in all: 100 to 2000. */
unsigned ranking_resamples(size_t n_values);

/* Orders the alternatives, the best first. 0 or -ENOMEM. */
int ranking_make(Alternative *alternatives, size_t n, const RankingConfig *config);
