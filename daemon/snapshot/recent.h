/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recent: the last minutes of the node at the sampling rate, with each core
 *
 * At most RECENT_POINTS_MAX points of a second or more, ten minutes at the default interval, with one byte for each
 * core. Snapshots share the points: chunks are only appended to, and a snapshot refers to those points that were
 * there when it was published. All references must be taken and released by one thread; others may read.
 */

#include <stdint.h>

#include "measure/timeline.h"

#define RECENT_CHUNK_POINTS 20U
#define RECENT_CHUNKS_MAX   30U
#define RECENT_POINTS_MAX   (RECENT_CHUNK_POINTS * RECENT_CHUNKS_MAX)
#define RECENT_UNKNOWN      UINT8_MAX /* utilization of a core that was offline or not read */

typedef struct RecentPoint {
        uint64_t end_realtime_ms;
        float values[N_SERIES]; /* means; NaN: unknown */
} RecentPoint;

typedef struct RecentChunk {
        size_t n_references, n_cores;
        RecentPoint points[RECENT_CHUNK_POINTS];
        uint8_t cores[]; /* in percent; n_cores for each point */
} RecentChunk;

/* Zeroed: empty. */
typedef struct Recent {
        RecentChunk *chunks[RECENT_CHUNKS_MAX]; /* a reference each; the oldest first */
        uint8_t n_points[RECENT_CHUNKS_MAX];
        size_t n_chunks;
} Recent;

void recent_deinit(Recent *recent);
/* Adds a point, and drops the oldest ones if there are too many. 0 or -ENOMEM. */
int recent_add(Recent *recent, const RecentPoint *point, const uint8_t *cores, size_t n_cores);
/* Makes *to refer to the points of *from. */
void recent_share(const Recent *from, Recent *to);
