/* SPDX-License-Identifier: Apache-2.0 */
#include "http/jobs/jobs_subject.h"

#include "util/scoped.h"

static const Route routes[] = {
        { "/api/v1/jobs",              "state name user since_ms until_ms limit page", false, true,  jobs_subject_list },
        { "/api/v1/jobs/{id}",         "",                                             false, true,  jobs_subject_job },
        { "/api/v1/jobs/{id}/metrics", "key scope compat names phases",                false, true,  jobs_subject_job_metrics },
        { "/api/v1/jobs/{id}/samples", "",                                             false, true,  jobs_subject_job_samples },
};

static const Collector collectors[] = {
        { "jobs", false, jobs_subject_metrics },
        { "self", false, jobs_subject_metrics_counts },
};

const Subject jobs_subject = {
        .routes = routes,
        .n_routes = N_ELEMENTS(routes),
        .collectors = collectors,
        .n_collectors = N_ELEMENTS(collectors),
};
