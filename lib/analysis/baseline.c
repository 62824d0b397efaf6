/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/baseline.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "util/scoped.h"

BaselineMoments baseline_moments(const double *series, size_t n, size_t n_less) {
        double sum = 0, squares = 0, mean;

        for (size_t i = 0; i < n; i++)
                sum += series[i];
        mean = n > 0 ? sum / (double)n : NAN;
        for (size_t i = 0; i < n; i++)
                squares += (series[i] - mean) * (series[i] - mean);
        return (BaselineMoments){ mean, n > 1 ? sqrt(squares / (double)(n - n_less)) : 0 };
}

size_t baseline_band(const BaselineMoments *moments, double value) {
        size_t band = 1;

        while (band <= BASELINE_BANDS && (value < moments->mean - (double)band * moments->sd ||
                                        value > moments->mean + (double)band * moments->sd))
                band++;
        return band;
}

/* Returns the mean without rounding error. */
static double exact_mean(const double *series, size_t n) {
        long double sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += series[i];
        return (double)(sum / (long double)n);
}

BaselineStatus baseline_stdev_status(const double *series, size_t n, double value, BaselineBool is_lower_better) {
        static const char *const worse[] = { "in-line -", "degraded", "degraded+", "degraded++" };
        static const char *const better[] = { "in-line +", "improved", "improved+", "improved++" };
        BaselineMoments moments = baseline_moments(series, n, 1);
        bool is_improved;
        size_t band;

        moments.mean = n > 0 ? exact_mean(series, n) : 0;
        if (n == 1)
                moments.sd = series[0]; /* the original's reading of a single value */
        band = baseline_band(&moments, value);
        assert(band >= 1 && band <= N_ELEMENTS(worse));
        is_improved = is_lower_better == BASELINE_TRUE ? value < moments.mean
                                                       : is_lower_better == BASELINE_FALSE && value >= moments.mean;
        return (BaselineStatus){
                .is_accepted = is_improved || band <= BASELINE_BANDS ? BASELINE_TRUE : BASELINE_FALSE,
                .is_improved = is_lower_better == BASELINE_NONE ? BASELINE_NONE
                               : is_improved                    ? BASELINE_TRUE
                                                                : BASELINE_FALSE,
                .rating = (double)band / (BASELINE_BANDS + 1),
                .description = is_improved ? better[band - 1] : worse[band - 1],
                .mean = moments.mean,
                .sd = moments.sd,
                .score = moments.mean == 0 ? 100 : (value - moments.mean) / moments.mean * 100,
        };
}

BaselineStatus baseline_zscore_status(const double *series, size_t n, double value) {
        BaselineMoments moments = baseline_moments(series, n, 0);
        double z = (value - moments.mean) / moments.sd;

        if (n == 1)
                return (BaselineStatus){
                        BASELINE_NONE, BASELINE_FALSE, NAN, "Not enough historical values", moments.mean, 0, 0
                };
        return (BaselineStatus){
                .is_accepted = fabs(z) < BASELINE_Z_MAX ? BASELINE_TRUE : BASELINE_FALSE,
                .is_improved = z > 0 ? BASELINE_TRUE : BASELINE_FALSE,
                .rating = fabs(z) / BASELINE_Z_MAX,
                .description = fabs(z) < BASELINE_Z_MAX ? "z-score lower than threshold"
                                                        : "z-score greater than threshold",
                .mean = moments.mean,
                .sd = n > 0 ? moments.sd : NAN,
                .score = z,
        };
}
