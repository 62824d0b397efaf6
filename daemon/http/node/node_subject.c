/* SPDX-License-Identifier: Apache-2.0 */
#include "http/node/node_subject.h"

#include "util/scoped.h"

static const Route routes[] = {
        { "/api/v1/node",         "",                        true,  false, node_subject_state },
        { "/api/v1/node/samples", "since_ms until_ms limit", false, true,  node_subject_samples },
};

static const Collector collectors[] = {
        { "node",   false, node_subject_metrics },
        { "percpu", true,  node_subject_metrics_percpu },
        { "self",   false, node_subject_metrics_sampling },
};

const Subject node_subject = {
        .routes = routes,
        .n_routes = N_ELEMENTS(routes),
        .collectors = collectors,
        .n_collectors = N_ELEMENTS(collectors),
};
