/* SPDX-License-Identifier: Apache-2.0 */
#include "http/self/self_subject.h"

#include "http/metrics.h"
#include "util/scoped.h"

static const Route routes[] = {
        { "/metrics",             "collect[]", true,  false, metrics_answer },
        { "/-/healthy",           "",          false, false, self_subject_healthy },
        { "/-/ready",             "",          false, false, self_subject_ready },
        { "/api/v1/openapi.json", "",          false, false, self_subject_openapi },
        { "/api/v1/quota",        "uid",       false, false, self_subject_quota },
};

static const Collector collectors[] = {
        { "self", false, self_subject_metrics },
        { "self", false, self_subject_metrics_shares },
};

const Subject self_subject = {
        .routes = routes,
        .n_routes = N_ELEMENTS(routes),
        .collectors = collectors,
        .n_collectors = N_ELEMENTS(collectors),
};
