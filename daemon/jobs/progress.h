/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Progress: the state of a running job in a checkpoint
 *
 * After a restart, perfd resumes the job from its window, its own usage and its current phase.
 */

#include "jobs/table/jobs.h"

typedef struct Progress {
        Window window;
        bool has_usage;
        Usage usage;
        bool has_phase;
        Phase phase;
        uint32_t n_phases;
        bool is_announced;
        bool is_usage_cut;
        bool is_group_vouched;
        uint64_t group_id; /* cgroup_id() of the job's cgroup; 0: unknown */
        JobSteps steps;    /* owned, as the GPUs */
        JobGpus gpus;
        uint64_t cpu_interval_ns; /* as in JobReadings */
        bool is_cpu_interval_granted;
} Progress;

/* Formats a checkpoint of the job with this phase (NULL: none) as current phase. The caller frees *ret. 0 or
 * -ENOMEM. */
int progress_format(const Job *job, const Phase *phase, uint32_t n_phases, char **ret);
/* Parses the text of progress_format(). 0, -ENOMEM, or PARSE_MALFORMED. */
int progress_parse(const char *text, Progress *ret);
void progress_deinit(Progress *progress);
