/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Statistics of the HTTP server since start. */

#include <stdint.h>

typedef struct HttpStats {
        uint64_t n_requests_by_class[6]; /* [2]: 2xx … [5]: 5xx */
        uint64_t n_bytes_sent;
        uint64_t n_connections; /* open */
        uint64_t n_exhausted; /* failures to accept a connection for lack of descriptors or memory */
        uint64_t cpu_ns; /* CPU time spent on answering */
} HttpStats;
