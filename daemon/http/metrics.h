/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Metrics: what /metrics exposes
 *
 * Four collectors, each a function from a Snapshot to families. perfd_node_… are the kernel's counters of
 * this machine, perfd_job_… the windows of jobs, perfd_… and process_… perfd itself. How many series there are
 * depends on devices and exposed jobs, both with a limit, and not on the number of CPUs unless asked for.
 */

#include <stddef.h>

#include "http/exposition.h"
#include "http/http_stats.h"
#include "snapshot/snapshot.h"

/* More devices or file systems of one class than this are counted, not shown. */
#define DEVICES_MAX 64U

void metrics_node(Exposition *exposition, const NodeSnapshot *node);
void metrics_node_percpu(Exposition *exposition, const NodeSnapshot *node);
/* 0 or -ENOMEM. */
int metrics_jobs(Exposition *exposition, const Snapshot *snapshot);
void metrics_self(Exposition *exposition, const Snapshot *snapshot, const HttpStats *http);

/* A member of a part of the Snapshot that is a family's only sample. */
typedef enum ScalarType {
        SCALAR_U64,
        SCALAR_U32,
        SCALAR_BOOL,
        SCALAR_DOUBLE,
} ScalarType;

typedef struct Scalar {
        size_t offset; /* in the part of the Snapshot */
        ScalarType scalar;
        unsigned n_decimals; /* of a SCALAR_U64 that counts fractions: 9 for nanoseconds */
        FamilyType type;
        const char *name, *unit, *help;
} Scalar;

void metrics_scalars(Exposition *exposition, const void *part, const Scalar *scalars, size_t n);
