/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/indicators_subject.h"

#include "util/scoped.h"

static const Route routes[] = {
        { "/api/v1/indicators",                "", false, api_indicators_list },
        { "/api/v1/indicators/{name}/results", "where component job since_ms until_ms limit page", false, api_indicators_results },
        { "/api/v1/indicators/{name}/query",   "where component version since_ms until_ms group_by stat limit format", false,
          api_query_answer },
        { "/api/v1/indicators/{name}/rank",    "where component version since_ms until_ms by objective direction confidence across", false,
          api_rank_answer },
        { "/api/v1/batches/{id}",              "", false, api_batch_answer },
        { "/api/v1/models",                    "", true,  api_indicators_models },
        { "/api/v1/results",                   "where name component job since_ms until_ms limit page", false, api_indicators_all_results },
};

static const Collector collectors[] = {
        { "self", false, metrics_indicators },
};

const Subject indicators_subject = {
        .routes = routes,
        .n_routes = N_ELEMENTS(routes),
        .collectors = collectors,
        .n_collectors = N_ELEMENTS(collectors),
};
