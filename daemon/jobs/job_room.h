/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job room: all that perfd knows of jobs
 *
 * Embeds the parts and connects them. A room is not moved after job_room_init().
 */

#include "jobs/checkpoints.h"
#include "jobs/detection.h"
#include "jobs/phases.h"

typedef struct JobRoom {
        Jobs jobs;
        Groups groups;
        Identity identity;
        Lifecycle lifecycle;
        Phases phases;
        Detection detection;
        Checkpoints checkpoints;
} JobRoom;

/* All arguments are borrowed until job_room_deinit(); changes of config apply at once. 0 or < 0. */
int job_room_init(JobRoom *room, const JobsConfig *config, sd_event *event, Node *node, Store *store);
void job_room_deinit(JobRoom *room);

/* Takes a sample and does what is due. 0 or < 0. */
int job_room_tick(JobRoom *room);
/* At each checkpoint interval, and when perfd stops, with is_last. 0 or < 0. */
int job_room_checkpoint(JobRoom *room, bool is_last);
/* After the store has completed rows. 0 or < 0. */
int job_room_continue(JobRoom *room);

/* Fills the jobs' part of a snapshot. 0 or -ENOMEM. */
int job_room_publish(const JobRoom *room, JobsSnapshot *ret);
