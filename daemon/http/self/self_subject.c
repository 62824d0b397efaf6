/* SPDX-License-Identifier: Apache-2.0 */
#include "http/self/self_subject.h"

#include "http/metrics.h"
#include "util/scoped.h"

static const Route routes[] = {
        { "/metrics",             "collect[]", true,  metrics_answer },
        { "/-/healthy",           "",          false, api_self_healthy },
        { "/-/ready",             "",          false, api_self_ready },
        { "/api/v1/openapi.json", "",          false, api_self_openapi },
};

static const Collector collectors[] = {
        { "self", false, metrics_self },
};

const Subject self_subject = {
        .routes = routes,
        .n_routes = N_ELEMENTS(routes),
        .collectors = collectors,
        .n_collectors = N_ELEMENTS(collectors),
};
