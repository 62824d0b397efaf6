/* SPDX-License-Identifier: Apache-2.0 */
#include "http/kpis/kpis_subject.h"

#include <stddef.h>
#include <string.h>

#include "http/metrics.h"

static const Route routes[] = {
        { "/api/v1/kpis/{name}/regress", "where component since_ms until_ms objective direction current compare_by ignore ignore_entry across order method fdr compat", false, true, kpis_subject_regress },
        { "/api/v1/kpis/accepted", "", false, true, kpis_subject_accepted },
        {},
};

/* --- current numbers ------------------------------------------------------------------------------ */

static int write_kpis(Exposition *exposition, const Snapshot *snapshot) {
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

static int write_counts(Exposition *exposition, const Snapshot *snapshot) {
        metrics_scalars(exposition, &snapshot->indicators.kpis, scalars, N_ELEMENTS(scalars));
        return 0;
}

static const Collector collectors[] = {
        { "kpis", false, write_kpis, NULL },
        { "self", false, write_counts, NULL },
        {},
};

const Subject kpis_subject = { routes, collectors };
