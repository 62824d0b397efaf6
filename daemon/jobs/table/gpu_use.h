/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Use of GPUs: finds the GPUs of each job, and counts what it does there
 *
 * perfd-gpu lists the processes of each GPU (gpu_file.h). A process is looked up when it is seen first: its cgroup, or
 * the process that stands for a job without one among its ancestors, shows whose it is. What a GPU has counted is in
 * the node's samples, as for all equipment. A job that begins or ends asks perfd-gpu for a reading, which follows
 * within 50 ms; the loop does not wait for it.
 */

#include <systemd/sd-event.h>

#include "jobs/table/jobs.h"
#include "node/node.h"
#include "sample/cgroup/cgroup_tree.h"
#include "util/scoped.h"

/* Longest time for which a reading is waited for: perfd-gpu may wait for the driver. */
#define GPU_USE_WAIT_NS (300 * UINT64_C(1000000))

typedef struct GpuUse GpuUse;

/* root: as for the sampler. tree: of the jobs' cgroups, borrowed. 0 or a negative errno. */
int gpu_use_new(GpuUse **ret, const char *root, const CgroupTree *tree);
GpuUse *gpu_use_free(GpuUse *use);
DEFINE_SCOPED(GpuUse, gpu_use_free);
/* Creates the timer for the readings that were asked for. Its handler calls gpu_use_is_waiting(). */
int gpu_use_watch(GpuUse *use, sd_event *event, sd_event_time_handler_t handler, void *userdata);

/* In all of the following, use may be NULL: no job has a GPU. */

/* Reads the processes; before a sample. Does nothing on a node without GPUs. */
void gpu_use_read(GpuUse *use, const Node *node);
/* Adds the sample to the GPUs of all jobs that run, or whose last reading is due. */
void gpu_use_advance(GpuUse *use, const Jobs *jobs, const Node *node);
/* Notes the GPUs that a job was given: words as of JobInfo.gpus, or NULL. */
void gpu_use_give(GpuUse *use, Job *job, const Node *node, const char *words);

/* Asks for a reading. Returns the time that it will be after; 0: none will come. */
uint64_t gpu_use_ask(GpuUse *use);
/* Returns whether a reading after that time is there, or is not waited for any more. */
bool gpu_use_is_answered(const GpuUse *use, uint64_t asked_ns);
/* Called by the handler: looks for the reading, and sets the timer again until it is there. */
bool gpu_use_is_waiting(GpuUse *use, const Node *node);
