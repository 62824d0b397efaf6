/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Snapshot: the state of the daemon at one tick
 *
 * Each subsystem fills its own part; the Publisher makes the complete snapshot available to the HTTP threads,
 * read-only.
 */

#include "snapshot/indicators_snapshot.h"
#include "snapshot/jobs_snapshot.h"
#include "snapshot/node_snapshot.h"
#include "snapshot/pipelines_snapshot.h"
#include "snapshot/stats.h"

typedef struct Snapshot {
        uint64_t serial; /* set by publisher_publish(): no other snapshot of the publisher has it */
        NodeSnapshot node;
        JobsSnapshot jobs;
        IndicatorsSnapshot indicators;
        PipelinesSnapshot pipelines;
        IngestStats ingest;
        StoreStats store;
        HttpPortStats http_port;
        SelfStats self;
} Snapshot;

void snapshot_deinit(Snapshot *snapshot);
