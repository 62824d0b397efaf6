/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "http/kpis/kpis_subject.h"
#include "http/metrics.h"

int kpis_subject_metrics(Exposition *exposition, const Snapshot *snapshot) {
        const KpisSnapshot *kpis = &snapshot->indicators.kpis;

        _Static_assert(KPIS_FAMILY_MAX < FAMILY_NAME_MAX, "the name of a KPI is the name of a family");
        for (size_t i = 0; i < kpis->n; i++) {
                const KpiSample *sample = &kpis->samples[i];

                if (i == 0 || strcmp(kpis->samples[i - 1].family, sample->family) != 0)
                        exposition_family(exposition, sample->family, FAMILY_GAUGE, sample->unit, sample->help);
                exposition_sample(exposition);
                exposition_labels(exposition, sample->labels);
                exposition_double(exposition, sample->value);
        }
        return 0;
}

static const Scalar scalars[] = {
        SCALAR_GAUGE(KpisSnapshot, n_left_out, SCALAR_U64, "perfd_kpi_series_not_exposed", "",
                     "Series of KPIs omitted because of the limit on their number, of long labels, or of names that clash"),
};

int kpis_subject_metrics_counts(Exposition *exposition, const Snapshot *snapshot) {
        metrics_scalars(exposition, &snapshot->indicators.kpis, scalars, N_ELEMENTS(scalars));
        return 0;
}
