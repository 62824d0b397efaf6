/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/indicators_snapshot.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void indicators_snapshot_deinit_kpis(KpisSnapshot *kpis) {
        free(kpis->samples);
        free(kpis->texts);
        *kpis = (KpisSnapshot){};
}

void indicators_snapshot_deinit(IndicatorsSnapshot *indicators) {
        assert(indicators->n <= indicators->n_allocated);
        free(indicators->counts);
        free(indicators->names);
        indicators_snapshot_deinit_kpis(&indicators->kpis);
        shared_texts_unref(indicators->models);
        *indicators = (IndicatorsSnapshot){};
}

int indicators_snapshot_reserve(IndicatorsSnapshot *indicators, size_t n) {
        IndicatorCount *counts;

        if (n <= indicators->n_allocated)
                return 0;

        counts = reallocarray(indicators->counts, n, sizeof(*counts));
        if (!counts)
                return -ENOMEM;

        indicators->counts = counts;
        indicators->n_allocated = n;
        return 0;
}

void indicators_snapshot_set_models(IndicatorsSnapshot *indicators, SharedTexts *models) {
        if (indicators->models == models)
                return;

        shared_texts_unref(indicators->models);
        indicators->models = shared_texts_ref(models);
}
