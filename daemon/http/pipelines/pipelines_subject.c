/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pipelines/pipelines_subject.h"

static const Route routes[] = {
        { "/api/v1/jobs/{id}/pipeline",           "",                                    false, true, pipelines_subject_stages },
        { "/api/v1/jobs/{id}/pipeline/intervals", "stage since_ms until_ms limit format page", false, true, pipelines_subject_intervals },
        { "/api/v1/jobs/{id}/pipeline/events",    "since_ms until_ms limit format",      false, true, pipelines_subject_events },
        {},
};

static const Collector collectors[] = {
        { "jobs", false, pipelines_subject_metrics, NULL },
        { "self", false, pipelines_subject_metrics_counts, NULL },
        {},
};

const Subject pipelines_subject = { routes, collectors };
