/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Remote values: what Prometheus and perfd know about a test */

#include "client/api/api_query.h"
#include "client/api/json_server.h"
#include "client/matrix/results_file.h"

typedef struct RemoteValues {
        const GlobalOptions *global; /* borrowed; NULL: perfd is not asked */
        ApiQuery perfd;
        JsonServer prometheus;
        bool has_perfd; /* the query is open */
} RemoteValues;

enum {
        REMOTE_VALUES_NONE = 1, /* there is no such value; the reason is appended */
        REMOTE_VALUES_WRONG,    /* the server refused the question, or answered something else */
        REMOTE_VALUES_AWAY,     /* the server cannot be reached */
};

void remote_values_deinit(RemoteValues *remote);

/*
 * Appends the value of a query over the time of a test, as JSON. prometheus: URL. 0, an outcome with the reason, or a
 * negative errno.
 */
int remote_values_query(RemoteValues *remote, const char *prometheus, const ValueRule *rule, uint64_t start_ns,
                        uint64_t end_ns, Buffer *out, Buffer *ret_reason);
/* Appends a metric of a job. As above. */
int remote_values_metric(RemoteValues *remote, const char *job, const char *metric, Buffer *out, Buffer *ret_reason);
