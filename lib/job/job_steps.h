/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Steps: what each step of a scheduler's job used
 *
 * Slurm runs the batch script and each srun(1) of a job in a control group below that of the job, "step_NAME". The
 * kernel counts for both, so that the steps and what is in none of them are the job. The counters of a step begin with
 * its group and are lost with it: a step that has ended has those of its last reading.
 */

#include "json/json.h"
#include "json/record.h"
#include "measure/usage.h"

/* Limit of the steps that a job keeps; of further ones, those that have ended and used least CPU time are added up. */
#define JOB_STEPS_MAX 32U
#define JOB_STEP_NAME_MAX 32U /* with NUL */

typedef struct JobStep {
        char name[JOB_STEP_NAME_MAX]; /* "0", "batch", "extern" */
        uint32_t n_steps;
        uint32_t have;     /* CGROUP_CPU, CGROUP_MEMORY_PEAK, CGROUP_IO: a bit for each that was read */
        uint64_t group_id; /* cgroup_id() */
        uint64_t begin_ms, end_ms; /* end 0: the step has not ended */
        uint64_t seen_ms;   /* of the last reading */
        uint64_t unseen_ms; /* between the last reading and the end */
        uint64_t cpu_us, memory_peak_bytes, read_bytes, written_bytes;
} JobStep;

typedef struct JobSteps {
        JobStep *items;
        size_t n;
        JobStep others; /* steps that were added up; n_steps 0: none */
} JobSteps;

/* Owns the items. */
extern const Record job_steps_record;

/* Adds a step to others. */
void job_steps_add(JobStep *others, const JobStep *step);

/* Writes "steps": one object for each, then what the job used outside of them. end_ms: of the job, 0 while it runs. */
void job_steps_write_json(const JobSteps *steps, const UsageSet *job, uint64_t end_ms, Json *json);
