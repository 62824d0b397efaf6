/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/indicators_subject.h"

#include "http/metrics.h"
#include "util/scoped.h"

/* --- metrics --------------------------------------------------------------------------------------- */

static const Scalar scalars[] = {
        SCALAR_COUNTER(IndicatorsStats, n_stored, "perfd_indicators_stored", "Results stored"),
        SCALAR_COUNTER(IndicatorsStats, n_deviations, "perfd_indicator_deviations",
                       "Deviations of stored results from their model"),
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

static void put_metrics(Exposition *exposition, const Snapshot *snapshot) {
        const IndicatorsSnapshot *indicators = &snapshot->indicators;
        IndicatorCount all = { .name = "", .component = "" };

        metrics_scalars(exposition, &indicators->stats, scalars, N_ELEMENTS(scalars));
        exposition_family(exposition, "perfd_indicators", FAMILY_COUNTER, "",
                          "Results since the start of perfd: stored, stored of failed runs, refused by their model");
        for (size_t i = 0; i < indicators->n; i++) {
                if (exposition->has_names)
                        put_counts(exposition, &indicators->counts[i]);
                for (IndicatorOutcome outcome = 0; outcome < N_INDICATOR_OUTCOMES; outcome++)
                        all.n[outcome] += indicators->counts[i].n[outcome];
        }
        if (!exposition->has_names && indicators->n > 0)
                put_counts(exposition, &all);
}

/* --- tables ---------------------------------------------------------------------------------------- */

const Subject indicators_subject = {
        .routes = ROUTES(
                { "/api/v1/indicators",                "kpis", false, true,  indicators_subject_list },
                { "/api/v1/indicators/{name}/results", "where component job since_ms until_ms limit page", false, true,  indicators_subject_results },
                { "/api/v1/indicators/{name}/query",   "where component version since_ms until_ms group_by stat limit format", false, true,  indicators_subject_query },
                { "/api/v1/indicators/{name}/rank",    "where component version since_ms until_ms by objective direction confidence across hold", false, true,  indicators_subject_rank },
                { "/api/v1/batches/{id}",              "", false, true,  indicators_subject_batch },
                { "/api/v1/models",                    "", true,  false, indicators_subject_models },
                { "/api/v1/indicators/{name}/stacks",  "where component version since_ms until_ms", false, true,  indicators_subject_stacks_of_results },
                { "/api/v1/stacks",                    "", false, true,  indicators_subject_stacks },
                { "/api/v1/stacks/{digest}",           "", false, true,  indicators_subject_stack },
                { "/api/v1/stacks/{digest}/diff",      "to", false, true,  indicators_subject_stack_diff },
                { "/api/v1/specifications/{digest}",   "", false, true,  indicators_subject_specification },
                { "/api/v1/results",                   "where name component job since_ms until_ms limit page", false, true,  indicators_subject_all_results }),
        .collectors = COLLECTORS(
                { "self", false, put_metrics, NULL }),
};
