/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/indicators_subject.h"
#include "http/metrics.h"
#include "util/scoped.h"

static const Scalar scalars[] = {
        SCALAR_COUNTER(IndicatorsStats, n_stored, "perfd_indicators_stored", "Results stored"),
        SCALAR_COUNTER(IndicatorsStats, n_deviations, "perfd_indicator_deviations", "Deviations of stored results from their model"),
};

static void put_counts(Exposition *exposition, const IndicatorCount *count) {
        static const char *const outcomes[] = {
                [INDICATOR_STORED] = "stored",
                [INDICATOR_FAILED] = "failed",
                [INDICATOR_REFUSED] = "refused",
        };

        _Static_assert(N_ELEMENTS(outcomes) == N_INDICATOR_OUTCOMES, "a name for each outcome");
        for (IndicatorOutcome outcome = 0; outcome < N_INDICATOR_OUTCOMES; outcome++) {
                exposition_sample(exposition);
                exposition_label(exposition, "indicator", count->name);
                exposition_label(exposition, "component", count->component);
                if (*count->name)
                        exposition_label_i64(exposition, "uid", count->uid);
                else
                        exposition_label(exposition, "uid", "");
                exposition_label(exposition, "outcome", outcomes[outcome]);
                exposition_u64(exposition, count->n[outcome]);
        }
}

int indicators_subject_metrics(Exposition *exposition, const Snapshot *snapshot) {
        const IndicatorsSnapshot *indicators = &snapshot->indicators;

        metrics_scalars(exposition, &indicators->stats, scalars, N_ELEMENTS(scalars));
        exposition_family(exposition, "perfd_indicators", FAMILY_COUNTER, "",
                          "Results since the start of perfd: stored, stored of failed runs, refused by their model");
        for (size_t i = 0; i < indicators->n; i++)
                put_counts(exposition, &indicators->counts[i]);
        return 0;
}
