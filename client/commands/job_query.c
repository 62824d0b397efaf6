/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/job_query.h"

#include "client/cli/command.h"

/* The node that the job ran on, from the answer about the job or, where that has none, from the node's own. */
const Value *job_query_node(ApiQuery *query, const Value *job) {
        const Value *on = value_get(job, "on");

        if (on && on->type == VALUE_OBJECT)
                return on;

        return api_query_try(query, "/api/v1/node") == EXIT_DONE ? query->answer : NULL;
}
