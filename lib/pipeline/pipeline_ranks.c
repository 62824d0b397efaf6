/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_ranks.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/statistics.h"
#include "util/scoped.h"

#define READINESS_LESS 0.2 /* than the median */
#define TIME_RATIO     2.0 /* to the median: the rule of SPDL's documentation */
#define SPREADS_MIN    4.0 /* median absolute deviations from the median */

const char *const pipeline_measure_names[N_PIPELINE_MEASURES + 1] = {
        [PIPELINE_MEASURE_READINESS] = "readiness", [PIPELINE_MEASURE_TIME] = "time",
};

static bool is_clear(double value, double median, PipelineMeasure measure) {
        return measure == PIPELINE_MEASURE_READINESS ? value <= median - READINESS_LESS : value >= TIME_RATIO * median;
}

size_t pipeline_ranks_straggler(const double *values, size_t n, PipelineMeasure measure, double *ret_median) {
        scoped(freep) double *sorted = calloc(n + 1, sizeof(*sorted));
        size_t n_known = 0, found = n;
        double median, spread;

        for (size_t i = 0; sorted && i < n; i++)
                if (!isnan(values[i]))
                        sorted[n_known++] = values[i];
        if (n_known < PIPELINE_RANKS_MIN)
                return n;
        median = statistics_median_in_place(sorted, n_known);
        for (size_t i = 0; i < n_known; i++)
                sorted[i] = fabs(sorted[i] - median);
        spread = statistics_median_in_place(sorted, n_known);

        for (size_t i = 0; i < n; i++) {
                double distance = fabs(values[i] - median);

                if (isnan(values[i]) || !is_clear(values[i], median, measure) || distance < SPREADS_MIN * spread)
                        continue;
                if (found == n || distance > fabs(values[found] - median))
                        found = i;
        }
        *ret_median = median;
        return found;
}
