/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JobDescription: a compact copy of a JobInfo
 *
 * JobInfo has fixed arrays for the longest texts, which would waste memory for a thousand running jobs. The texts of
 * a description are in one block of the necessary size. A block is immutable and shared by all copies, and is
 * released with the last of them. All descriptions that share a block must be released by one thread; others may
 * read.
 */

#include <stdint.h>

#include "job/job.h"

typedef struct DescriptionBlock DescriptionBlock;

typedef struct DescriptionLabel {
        const char *key, *value;
} DescriptionLabel;

/* The members are those of JobInfo. Members that are not pointers may be changed in place. */
typedef struct JobDescription {
        DescriptionBlock *block;                       /* shared; NULL if the description is zeroed */
        const char *id, *name, *command, *user; /* "" if not given */
        const char *cgroup;                     /* NULL if there is none */
        const char *note;                       /* remark on the accuracy of the job's numbers; may be "" */
        const DescriptionLabel *labels;
        uint32_t n_labels;
        uint32_t uid, gid;
        int32_t pid;
        uint64_t pid_start_ticks;
        int64_t rank;
        int32_t node;
        uint32_t n_nodes, n_ranks;
        Isolation isolation;
} JobDescription;

/* Makes a description with a block of its own and without a note. Returns 0 or -ENOMEM. Caller deinits. */
int job_description_make(const JobInfo *info, JobDescription *ret);
void job_description_deinit(JobDescription *description);
/* Makes *to a copy of *from that shares its block; releases the previous content of *to. */
void job_description_share(const JobDescription *from, JobDescription *to);

/* Gives the description a new block in which one of its texts is another; that of the cgroup may be NULL. Returns 0, or
 * -ENOMEM without a change. */
#define JOB_DESCRIPTION_SET(description, member, text) \
        job_description_set_text(description, offsetof(JobDescription, member), text)
int job_description_set_text(JobDescription *description, size_t offset, const char *text);

/* Returns the value of a label; NULL if there is none. */
const char *job_description_label(const JobDescription *description, const char *key);
/* Converts back to a JobInfo. Returns 0 or -ENOMEM. Caller deinits. */
int job_description_info(const JobDescription *description, JobInfo *ret);

/*
 * JobView: a job with its metrics, current (running) or final
 *
 * Returned by the store's readers, and made from a snapshot by snapshot_jobs_record_view().
 */

typedef struct JobView {
        JobDescription info; /* the only member to deinit */
        JobState state;
        uint32_t n_phases;                           /* number of phases begun; 0: the job has no marks */
        uint64_t begin_realtime_ms, end_realtime_ms; /* end 0: the job is running */
        JobEnd end;                                  /* all zero while the job is running */
        MetricSet metrics;
        UsageSet usage;
} JobView;
