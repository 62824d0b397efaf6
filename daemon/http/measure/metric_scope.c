/* SPDX-License-Identifier: Apache-2.0 */
#include "http/measure/metric_scope.h"

#include <assert.h>
#include <string.h>

static const char *const names[N_SCOPES] = {
        [SCOPE_NODE] = "node",
        [SCOPE_JOB] = "job",
};

const char *metric_scope_name(Scope scope) {
        assert(scope < N_SCOPES);
        return names[scope];
}

int metric_scope_find(const char *name) {
        for (Scope scope = 0; scope < N_SCOPES; scope++)
                if (strcmp(names[scope], name) == 0)
                        return (int)scope;
        return -1;
}

ScopeMetrics metric_scope_of_node(const MetricSet *metrics) {
        return (ScopeMetrics){ SCOPE_NODE, N_METRICS, metric_info, metrics->value, metrics->quality };
}

ScopeMetrics metric_scope_of_job(const UsageSet *usage) {
        if (!usage)
                return (ScopeMetrics){ .scope = SCOPE_JOB };
        return (ScopeMetrics){ SCOPE_JOB, N_USAGES, usage_info, usage->value, usage->quality };
}
