/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/newest.h"

#include <math.h>
#include <stdbool.h>

NewestMoments newest_moments(const double *series, size_t n, size_t n_less) {
        double sum = 0, squares = 0, mean;

        for (size_t i = 0; i < n; i++)
                sum += series[i];
        mean = n > 0 ? sum / (double)n : NAN;
        for (size_t i = 0; i < n; i++)
                squares += (series[i] - mean) * (series[i] - mean);
        return (NewestMoments){ mean, n > 1 ? sqrt(squares / (double)(n - n_less)) : 0 };
}

size_t newest_band(const NewestMoments *moments, double value) {
        size_t band = 1;

        while (band <= NEWEST_BANDS && (value < moments->mean - (double)band * moments->sd ||
                                        value > moments->mean + (double)band * moments->sd))
                band++;
        return band;
}

/* The mean without an error of rounding. */
static double exact_mean(const double *series, size_t n) {
        long double sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += series[i];
        return (double)(sum / (long double)n);
}

NewestStatus newest_stdev_status(const double *series, size_t n, double value, NewestBool is_lower_better) {
        static const char *const worse[] = { "in-line -", "degraded", "degraded+", "degraded++" };
        static const char *const better[] = { "in-line +", "improved", "improved+", "improved++" };
        NewestMoments moments = newest_moments(series, n, 1);
        bool is_improved;
        size_t band;

        moments.mean = n > 0 ? exact_mean(series, n) : 0;
        if (n == 1)
                moments.sd = series[0]; /* the original's reading of a single value */
        band = newest_band(&moments, value);
        is_improved = is_lower_better == NEWEST_TRUE ? value < moments.mean : is_lower_better == NEWEST_FALSE && value >= moments.mean;
        return (NewestStatus){
                .is_accepted = is_improved || band <= NEWEST_BANDS ? NEWEST_TRUE : NEWEST_FALSE,
                .is_improved = is_lower_better == NEWEST_NONE ? NEWEST_NONE : is_improved ? NEWEST_TRUE : NEWEST_FALSE,
                .rating = (double)band / (NEWEST_BANDS + 1),
                .description = (is_improved ? better : worse)[band - 1],
                .mean = moments.mean,
                .sd = moments.sd,
                .score = moments.mean == 0 ? 100 : (value - moments.mean) / moments.mean * 100,
        };
}

NewestStatus newest_zscore_status(const double *series, size_t n, double value) {
        NewestMoments moments = newest_moments(series, n, 0);
        double z = (value - moments.mean) / moments.sd;

        if (n == 1)
                return (NewestStatus){ NEWEST_NONE, NEWEST_FALSE, NAN, "Not enough historical values", moments.mean, 0, 0 };
        return (NewestStatus){
                .is_accepted = fabs(z) < NEWEST_Z_MAX ? NEWEST_TRUE : NEWEST_FALSE,
                .is_improved = z > 0 ? NEWEST_TRUE : NEWEST_FALSE,
                .rating = fabs(z) / NEWEST_Z_MAX,
                .description = fabs(z) < NEWEST_Z_MAX ? "z-score lower than threshold" : "z-score greater than threshold",
                .mean = moments.mean,
                .sd = n > 0 ? moments.sd : NAN,
                .score = z,
        };
}
