/* SPDX-License-Identifier: Apache-2.0 */
#include "http/node/node_subject.h"

#include "util/scoped.h"

static const Route routes[] = {
        { "/api/v1/node",         "",                        true,  api_node_state },
        { "/api/v1/node/samples", "since_ms until_ms limit", false, api_node_samples },
};

static const Collector collectors[] = {
        { "node",   false, metrics_node },
        { "percpu", true,  metrics_node_percpu },
        { "self",   false, metrics_node_sampling },
};

const Subject node_subject = {
        .routes = routes,
        .n_routes = N_ELEMENTS(routes),
        .collectors = collectors,
        .n_collectors = N_ELEMENTS(collectors),
};
