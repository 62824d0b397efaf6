/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Progress of a running job
 *
 * What a checkpoint keeps, so that the next perfd can resume the job: its window, its own usage and its present phase.
 */

#include "jobs/jobs.h"

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
        uint64_t group_id; /* 0: not known */
} Progress;

/* Caller frees. 0 or -ENOMEM. */
int progress_format(const Job *job, const Phase *phase, uint32_t n_phases, char **ret);
/* 0, -ENOMEM, or PARSE_MALFORMED. */
int progress_parse(const char *text, Progress *ret);
