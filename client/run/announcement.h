#pragma once

/*
 * Announcement: perfd is told that a job has begun
 *
 * Before its command runs, for no longer than a moment, and where perfd is away, or full, once more when the command has
 * ended: what its group counted is there still.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/wire/deliver.h"

typedef struct Announcement {
        JobInfo *info;        /* borrowed; an id that another command of the task has is made longer */
        Courier *courier;     /* borrowed */
        bool is_id_given;     /* by --job, and not to be changed */
        bool has_group;       /* the control group that this process is in is the job's own, and new */
        bool is_begun;        /* or may be: perfd has the request */
        bool is_begin_known;  /* perfd has said so */
        uint64_t begin_ns;    /* CLOCK_BOOTTIME */
        uint64_t spent_ns;    /* on announcing it late, of what the end may take */
} Announcement;

/* Before the command. What does not work is spoken of: 0, or a negative errno. */
int announcement_begin(Announcement *announcement);
/* When the command has ended: whatever became of it before. */
int announcement_end(Announcement *announcement);
