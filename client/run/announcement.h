/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Announcement: reports the begin of a job to perfd
 *
 * Before its command runs, for no longer than a moment. Where perfd is away, or full, again and again while the command runs, which
 * is not kept waiting for it: whoever runs the command waits for announcement_fd() and announcement_timeout_ms() as well. And once
 * more when the command has ended: what its group counted is there still.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/deliver/deliver.h"

typedef struct Announcement {
        JobInfo *info;        /* borrowed; an id that another command of the task has is made longer */
        Courier *courier;     /* borrowed */
        bool is_id_given;     /* by --job, and not to be changed */
        bool has_group;       /* the control group that this process is in is the job's own, and new */
        bool is_begun;        /* or may be: perfd has the request */
        bool is_begin_known;  /* perfd has said so */
        uint64_t begin_ns;    /* CLOCK_BOOTTIME */
        uint64_t spent_ns;    /* at the end, of what that may take */

        Wire wire;            /* of the tries while the command runs */
        uint64_t sequence;    /* of the request that waits there for its reply; 0: none does */
        uint64_t next_ns;     /* CLOCK_BOOTTIME, of the next try; 0: there is to be none */
        uint64_t backoff_ns;
} Announcement;

/* Initializes an announcement without a job, which announces nothing. */
void announcement_init(Announcement *announcement);
void announcement_deinit(Announcement *announcement);

/* Before the command. What does not work is spoken of: 0, or a negative errno. */
int announcement_begin(Announcement *announcement);

/* While the command runs. Each with NULL for an announcement of which nothing is left to do. */
int announcement_fd(const Announcement *announcement); /* to be read from; -1: none */
int announcement_timeout_ms(const Announcement *announcement); /* as poll() has it */
/* Does what is due, without waiting. May be called at any time. */
void announcement_go_on(Announcement *announcement);

/* When the command has ended: whatever became of it before. */
int announcement_end(Announcement *announcement);
