/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Steps: reads the control groups of the steps of a job
 *
 * Steps come and go within a job. Their groups stay open, at most as many as a job keeps steps, and are read with that
 * of the job.
 */

#include "job/job_steps.h"
#include "sample/cgroup/cgroup.h"

typedef struct Steps {
        JobSteps list;                 /* owned; room for JOB_STEPS_MAX */
        Cgroup *groups[JOB_STEPS_MAX]; /* owned; of each item; NULL: the step has ended */
} Steps;

Steps *steps_free(Steps *steps);
DEFINE_SCOPED(Steps, steps_free);

/* Continues with the steps of a checkpoint, which are copied. 0 or -ENOMEM. */
int steps_restore(Steps **ret, const JobSteps *list);

/*
 * Looks for new steps below a group (JobInfo.cgroup); *steps is NULL before the first. A step is not followed if the
 * job has too many that run, or memory or descriptors are exhausted: what it uses is in no step.
 */
void steps_find(Steps **steps, CgroupTree *tree, const char *group, uint64_t now_ms);
/* Whether a step that began at most STEPS_GROW_MS ago has no memory: v1 may still give it a group for that. */
#define STEPS_GROW_MS 10000U
bool steps_may_grow(const Steps *steps, uint64_t now_ms);
/* Reads the steps, and ends those whose group was removed. steps may be NULL. */
void steps_read(Steps *steps, uint64_t boottime_ns, uint64_t now_ms);
