/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Run facts: times and resources of one run of a command */

#include <stdbool.h>
#include <stdint.h>

#include "client/run/output_tail.h"
#include "request/request.h"

typedef struct RunFacts {
        bool has_rusage;
        JobRusage rusage;
        const OutputTail *error; /* NULL: standard error was not kept */
        uint64_t begin_realtime_ns, end_realtime_ns;
        double wall_seconds;
        uint64_t n_oom_kills;
} RunFacts;
