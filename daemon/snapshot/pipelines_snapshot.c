/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/pipelines_snapshot.h"

#include <assert.h>
#include <stdlib.h>

void pipelines_snapshot_deinit(PipelinesSnapshot *pipelines) {
        assert(pipelines->n <= pipelines->n_allocated);
        free(pipelines->totals);
        *pipelines = (PipelinesSnapshot){};
}
