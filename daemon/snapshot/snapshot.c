/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/snapshot.h"

void snapshot_deinit(Snapshot *snapshot) {
        node_snapshot_deinit(&snapshot->node);
        jobs_snapshot_deinit(&snapshot->jobs);
        indicators_snapshot_deinit(&snapshot->indicators);
        pipelines_snapshot_deinit(&snapshot->pipelines);
        *snapshot = (Snapshot){};
}
