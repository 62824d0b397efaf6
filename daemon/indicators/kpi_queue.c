/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/kpi_queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/user_counts.h"

struct QueuedKpis {
        Ticket ticket;
        LiveKpis kpis;
        QueuedKpis *next;
};

/* Removes the request after `before`, NULL: the first. The caller owns its KPIs. */
static LiveKpis remove_after(KpiQueue *queue, QueuedKpis *before) {
        QueuedKpis **link = before ? &before->next : &queue->first, *removed = *link;
        LiveKpis kpis = removed->kpis;

        assert(queue->n_series >= kpis.n);
        queue->n_series -= kpis.n;
        *link = removed->next;
        if (queue->last == removed)
                queue->last = before;
        free(removed);
        return kpis;
}

void kpi_queue_deinit(KpiQueue *queue) {
        while (queue->first) {
                LiveKpis kpis = remove_after(queue, NULL);

                live_kpis_deinit(&kpis);
        }
}

static uint32_t user_of(const QueuedKpis *queued) {
        return queued->kpis.n > 0 ? queued->kpis.items[0].uid : 0;
}

/*
 * Drops the series of the request with the most, of the user with the most series; of several requests, those of the
 * newest. Returns their number.
 */
static size_t drop_largest(KpiQueue *queue) {
        QueuedKpis *before_largest = NULL, *before = NULL;
        UserCounts counts = {};
        size_t n_most = 0, n;
        LiveKpis kpis;

        _Static_assert(KPI_QUEUE_SERIES_MAX < USER_COUNTS_MAX, "each series may be of another user");
        for (const QueuedKpis *queued = queue->first; queued; queued = queued->next)
                user_counts_add(&counts, user_of(queued), (uint32_t)queued->kpis.n);
        for (QueuedKpis *queued = queue->first; queued; before = queued, queued = queued->next)
                if (queued->kpis.n >= n_most && user_counts_get(&counts, user_of(queued)) == counts.n_most) {
                        n_most = queued->kpis.n;
                        before_largest = before;
                }
        kpis = remove_after(queue, before_largest);
        n = kpis.n + (size_t)kpis.n_not_exposed;
        live_kpis_deinit(&kpis);
        return n;
}

size_t kpi_queue_put(KpiQueue *queue, Ticket ticket, LiveKpis *kpis) {
        QueuedKpis *queued;
        size_t n_dropped = 0;

        if (kpis->n + kpis->n_not_exposed == 0)
                return 0;
        queued = malloc(sizeof(*queued));
        if (!queued) {
                n_dropped = kpis->n + (size_t)kpis->n_not_exposed;
                live_kpis_deinit(kpis);
                return n_dropped;
        }

        *queued = (QueuedKpis){ .ticket = ticket, .kpis = *kpis };
        *kpis = (LiveKpis){};
        *(queue->last ? &queue->last->next : &queue->first) = queued;
        queue->last = queued;
        queue->n_series += queued->kpis.n;
        while (queue->n_series > KPI_QUEUE_SERIES_MAX)
                n_dropped += drop_largest(queue);
        return n_dropped;
}

LiveKpis kpi_queue_take(KpiQueue *queue, Ticket ticket) {
        QueuedKpis *before = NULL;

        for (QueuedKpis *queued = queue->first; queued; before = queued, queued = queued->next)
                if (ticket_is_same(queued->ticket, ticket))
                        return remove_after(queue, before);
        return (LiveKpis){};
}
