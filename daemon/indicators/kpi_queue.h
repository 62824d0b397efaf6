/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * KPI queue: KPIs of requests whose results are queued for the store
 *
 * /metrics shows them when the store has the results. The number of series is limited, as a small request may have
 * hundreds. Beyond the limit, the request with the most series, of the user with the most, loses them: its numbers
 * appear with later results.
 */

#include "indicators/live_kpis.h"

#define KPI_QUEUE_SERIES_MAX (4 * LIVE_KPIS_MAX)

typedef struct QueuedKpis QueuedKpis;

/* A zeroed struct is valid. */
typedef struct KpiQueue {
        QueuedKpis *first, *last; /* owned; in the order of the requests, in which most are completed */
        size_t n_series;
} KpiQueue;

void kpi_queue_deinit(KpiQueue *queue);
/* Moves the KPIs of a request to the queue. Returns the number of series that are dropped. */
size_t kpi_queue_put(KpiQueue *queue, Ticket ticket, LiveKpis *kpis);
/* Removes the KPIs of a request, which the caller then owns; an empty list if there are none. */
LiveKpis kpi_queue_take(KpiQueue *queue, Ticket ticket);
