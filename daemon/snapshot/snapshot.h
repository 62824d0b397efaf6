/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Snapshot: the loop's state as of one tick
 *
 * Each subject fills its own part; the Publisher hands it to HTTP's threads, for which it does not change any more.
 */

#include "snapshot/indicators_snapshot.h"
#include "snapshot/jobs_snapshot.h"
#include "snapshot/node_snapshot.h"
#include "snapshot/stats.h"

typedef struct Snapshot {
        NodeSnapshot node;
        JobsSnapshot jobs;
        IndicatorsSnapshot indicators;
        IngestStats ingest;
        StoreStats store;
        SelfStats self;
} Snapshot;

void snapshot_deinit(Snapshot *snapshot);
