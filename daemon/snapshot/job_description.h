/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JobDescription: what was said of a job, kept small
 *
 * A JobInfo has room for the longest of texts, which a thousand running jobs do not need. A card's texts lie in one block that
 * fits them. A block never changes: whoever shows the job shares it, and it goes with the last card that does. All cards that
 * share one belong to one thread; others may read.
 */

#include <stdint.h>

#include "job/job.h"

typedef struct DescriptionBlock DescriptionBlock;

typedef struct DescriptionLabel {
        const char *key, *value;
} DescriptionLabel;

/* The members are JobInfo's. Those without a pointer may be changed in place. */
typedef struct JobDescription {
        DescriptionBlock *block;                       /* shared; NULL of a zeroed card */
        const char *id, *name, *command, *user; /* "" when not given */
        const char *cgroup;                     /* NULL when it has none */
        const char *note;                       /* what must be known of its numbers; "" */
        const DescriptionLabel *labels;
        uint32_t n_labels;
        uint32_t uid, gid;
        int32_t pid;
        uint64_t pid_start_ticks;
        int64_t rank;
        int32_t node;
        uint32_t n_nodes, n_ranks;
        Enclosure enclosure;
} JobDescription;

/* A card of its own, without a note. 0 or -ENOMEM. Caller deinits. */
int job_description_make(const JobInfo *info, JobDescription *ret);
void job_description_deinit(JobDescription *card);
/* *to becomes the same as *from; what it had is given back. */
void job_description_share(const JobDescription *from, JobDescription *to);

/* The card gets a block of its own, with that. cgroup NULL: none. 0, or -ENOMEM: nothing has changed. */
int job_description_set_id(JobDescription *card, const char *id);
int job_description_set_cgroup(JobDescription *card, const char *cgroup);
int job_description_set_note(JobDescription *card, const char *note);

/* NULL when it has no such label. */
const char *job_description_label(const JobDescription *card, const char *key);
/* The other way: 0 or -ENOMEM. Caller deinits. */
int job_description_info(const JobDescription *card, JobInfo *ret);
