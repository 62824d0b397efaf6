/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline room: the subsystem for data pipelines
 *
 * Stores the reports of the pipelines' producers and keeps the totals of running jobs for /metrics.
 */

#include "desk/desk.h"
#include "jobs/identity.h"
#include "pipelines/live_pipelines.h"

typedef struct PipelineRoom {
        Store *store;       /* borrowed, like the next two */
        Identity *identity;
        const Jobs *jobs;
        LivePipelines live;
        PipelinesStats stats;
} PipelineRoom;

/* All arguments are borrowed until pipeline_room_deinit(). */
void pipeline_room_init(PipelineRoom *room, Store *store, Identity *identity, const Jobs *jobs);
void pipeline_room_deinit(PipelineRoom *room);

extern const Kind pipeline_room_kinds[1];

/* Fills the pipelines' part of a snapshot. 0 or -ENOMEM. */
int pipeline_room_publish(PipelineRoom *room, PipelinesSnapshot *ret);
