/* SPDX-License-Identifier: Apache-2.0 */
#include "http/kpis/kpis_subject.h"

static const Route routes[] = {
        { "/api/v1/kpis/{name}/regress", "where component since_ms until_ms objective direction current compare_by ignore ignore_entry across order method fdr compat", false, true, kpis_subject_regress },
        { "/api/v1/kpis/accepted", "", false, true, kpis_subject_accepted },
        {},
};

static const Collector collectors[] = {
        { "kpis", false, kpis_subject_metrics, NULL },
        { "self", false, kpis_subject_metrics_counts, NULL },
        {},
};

const Subject kpis_subject = { routes, collectors };
