/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Progress: how far a running job is, as one text
 *
 * What a checkpoint keeps of it, so that the next perfd can go on: its window, its own usage, its present phase. Read by every
 * later version; an earlier one wrote the window alone.
 */

#include "jobs/jobs.h"

typedef struct Progress {
        Window window;
        bool has_usage;
        Usage usage;
        bool has_phase;
        Phase phase;
        uint32_t n_phases;
        bool is_announced; /* true where it is not said: found jobs came later */
        bool is_usage_cut;
        bool is_group_vouched;
        uint64_t group_id; /* 0: not known */
} Progress;

/* Caller frees. 0 or -ENOMEM. */
int progress_format(const Job *job, const Phase *phase, uint32_t n_phases, char **ret);
/* 0, or PARSE_MALFORMED: the window, without which there is nothing, or a part of the rest. */
int progress_parse(const char *text, Progress *ret);
