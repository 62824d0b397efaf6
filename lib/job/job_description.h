#pragma once

/*
 * JobCard: what was said of a job, kept small
 *
 * A JobInfo has room for the longest of texts, which a thousand running jobs do not need. A card's texts lie in one block that
 * fits them. A block never changes: whoever shows the job shares it, and it goes with the last card that does. All cards that
 * share one belong to one thread; others may read.
 */

#include <stddef.h>
#include <stdint.h>

#include "job/job.h"
#include "util/scoped.h"

typedef struct CardBlock CardBlock;

typedef struct CardLabel {
        const char *key, *value;
} CardLabel;

/* The members are JobInfo's. Those without a pointer may be changed in place. */
typedef struct JobCard {
        CardBlock *block;                       /* shared; NULL of a zeroed card */
        const char *id, *name, *command, *user; /* "" when not given */
        const char *cgroup;                     /* NULL when it has none */
        const char *note;                       /* what must be known of its numbers; "" */
        const CardLabel *labels;
        uint32_t n_labels;
        uint32_t uid, gid;
        int32_t pid;
        uint64_t pid_start_ticks;
        int64_t rank;
        int32_t node;
        uint32_t n_nodes, n_ranks;
        Enclosure enclosure;
} JobCard;

/* A card of its own, without a note. 0 or -ENOMEM. Caller deinits. */
int job_card_make(const JobInfo *info, JobCard *ret);
void job_card_deinit(JobCard *card);
/* *to becomes the same as *from; what it had is given back. */
void job_card_share(const JobCard *from, JobCard *to);

/* The card gets a block of its own, with that. cgroup NULL: none. 0, or -ENOMEM: nothing has changed. */
int job_card_set_cgroup(JobCard *card, const char *cgroup);
int job_card_set_note(JobCard *card, const char *note);

/* NULL when it has no such label. */
const char *job_card_label(const JobCard *card, const char *key);
/* The other way: 0 or -ENOMEM. Caller deinits. */
int job_card_info(const JobCard *card, JobInfo *ret);
