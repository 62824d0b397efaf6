/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/recent.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void chunk_unref(RecentChunk *chunk) {
        assert(chunk->n_references > 0);
        if (--chunk->n_references == 0)
                free(chunk);
}

void recent_deinit(Recent *recent) {
        for (size_t i = 0; i < recent->n_chunks; i++)
                chunk_unref(recent->chunks[i]);
        *recent = (Recent){};
}

static void drop_oldest(Recent *recent) {
        chunk_unref(recent->chunks[0]);
        recent->n_chunks--;
        memmove(recent->chunks, recent->chunks + 1, recent->n_chunks * sizeof(recent->chunks[0]));
        memmove(recent->n_points, recent->n_points + 1, recent->n_chunks * sizeof(recent->n_points[0]));
}

static int begin_chunk(Recent *recent, size_t n_cores) {
        RecentChunk *chunk = calloc(1, sizeof(*chunk) + RECENT_CHUNK_POINTS * n_cores);

        if (!chunk)
                return -ENOMEM;
        chunk->n_references = 1;
        chunk->n_cores = n_cores;
        if (recent->n_chunks == RECENT_CHUNKS_MAX)
                drop_oldest(recent);
        recent->chunks[recent->n_chunks] = chunk;
        recent->n_points[recent->n_chunks++] = 0;
        return 0;
}

int recent_add(Recent *recent, const RecentPoint *point, const uint8_t *cores, size_t n_cores) {
        size_t last = recent->n_chunks - 1, n;
        RecentChunk *chunk;

        if (recent->n_chunks == 0 || recent->n_points[last] == RECENT_CHUNK_POINTS ||
            recent->chunks[last]->n_cores != n_cores) {
                if (begin_chunk(recent, n_cores) < 0)
                        return -ENOMEM;
                last = recent->n_chunks - 1;
        }

        chunk = recent->chunks[last];
        n = recent->n_points[last]++;
        chunk->points[n] = *point;
        if (n_cores > 0)
                memcpy(&chunk->cores[n * n_cores], cores, n_cores);
        return 0;
}

void recent_share(const Recent *from, Recent *to) {
        Recent before = *to;

        *to = *from;
        for (size_t i = 0; i < to->n_chunks; i++)
                to->chunks[i]->n_references++;
        recent_deinit(&before);
}
