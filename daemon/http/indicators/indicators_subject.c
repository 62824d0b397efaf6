/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/indicators_subject.h"

static const Route routes[] = {
        { "/api/v1/indicators",                "", false, true,  indicators_subject_list },
        { "/api/v1/indicators/{name}/results", "where component job since_ms until_ms limit page", false, true,  indicators_subject_results },
        { "/api/v1/indicators/{name}/query",   "where component version since_ms until_ms group_by stat limit format", false, true,  indicators_subject_query },
        { "/api/v1/indicators/{name}/rank",    "where component version since_ms until_ms by objective direction confidence across hold", false, true,  indicators_subject_rank },
        { "/api/v1/batches/{id}",              "", false, true,  indicators_subject_batch },
        { "/api/v1/models",                    "", true,  false, indicators_subject_models },
        { "/api/v1/indicators/{name}/stacks",  "where component version since_ms until_ms", false, true,  indicators_subject_stacks_of_results },
        { "/api/v1/stacks",                    "", false, true,  indicators_subject_stacks },
        { "/api/v1/stacks/{digest}",           "", false, true,  indicators_subject_stack },
        { "/api/v1/stacks/{digest}/diff",      "to", false, true,  indicators_subject_stack_diff },
        { "/api/v1/specifications/{digest}",   "", false, true,  indicators_subject_specification },
        { "/api/v1/results",                   "where name component job since_ms until_ms limit page", false, true,  indicators_subject_all_results },
        {},
};

static const Collector collectors[] = {
        { "self", false, indicators_subject_metrics, NULL },
        {},
};

const Subject indicators_subject = { routes, collectors };
