/* SPDX-License-Identifier: Apache-2.0 */
#include "http/jobs/jobs_subject.h"

#include "util/scoped.h"

static const Route routes[] = {
        { "/api/v1/jobs",              "state name user since_ms until_ms limit page", false, api_jobs_list },
        { "/api/v1/jobs/{id}",         "",                                             false, api_jobs_job },
        { "/api/v1/jobs/{id}/metrics", "key scope compat names phases",                false, api_jobs_metrics },
        { "/api/v1/jobs/{id}/samples", "",                                             false, api_jobs_samples },
};

static const Collector collectors[] = {
        { "jobs", false, metrics_jobs },
        { "self", false, metrics_jobs_counts },
};

const Subject jobs_subject = {
        .routes = routes,
        .n_routes = N_ELEMENTS(routes),
        .collectors = collectors,
        .n_collectors = N_ELEMENTS(collectors),
};
