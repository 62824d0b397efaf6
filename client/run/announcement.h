/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Announcement: reports the start of a job to perfd
 *
 * Announces the job before its command runs, for no longer than a moment. If perfd is away or full, the announcement
 * is repeated while the command runs, without delaying the command: the caller waits for announcement_fd() and
 * announcement_timeout_ms() too. The last attempt follows when the command has ended, while the counters of its
 * group still exist.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/deliver/deliver.h"

typedef struct Announcement {
        JobInfo *info;        /* borrowed; the id is extended if another command of the task has it */
        Courier *courier;     /* borrowed */
        uint64_t sample_ns;   /* as in JobBegin */
        bool is_id_given;     /* by --job, and must not change */
        bool has_group;       /* this process is in a new control group of the job */
        bool is_begun;        /* perfd has the request, or may have it */
        bool is_begin_known;  /* perfd has confirmed the start */
        ClientCpu client_cpu; /* used in the new control group before the announcement */
        uint64_t begin_ns;    /* CLOCK_BOOTTIME */
        uint64_t spent_ns;    /* time spent by announcement_end() */

        Wire wire;            /* connection of the attempts while the command runs */
        uint64_t sequence;    /* of the request without a reply yet; 0: none */
        uint64_t next_ns;     /* CLOCK_BOOTTIME of the next attempt; 0: none */
        uint64_t backoff_ns;
} Announcement;

/* Initializes an announcement without a job, which announces nothing. */
void announcement_init(Announcement *announcement);
void announcement_deinit(Announcement *announcement);

/* Announces the job before the command, and reports failures. 0 or a negative errno. */
int announcement_begin(Announcement *announcement);

/* These three are called while the command runs. NULL: nothing is left to announce. */
int announcement_fd(const Announcement *announcement); /* descriptor to poll for input; -1: none */
int announcement_timeout_ms(const Announcement *announcement); /* for poll() */
/* Performs the steps that are due, without blocking. */
void announcement_go_on(Announcement *announcement);

/* Announces the job after the command if its start is not confirmed yet. 0 or a negative errno. */
int announcement_end(Announcement *announcement);
