#pragma once

/*
 * Watch: a process, unmistakably
 *
 * By a pidfd and the process's start time, so that a reused pid is never taken for the one meant.
 */

#include <stdbool.h>

#include "model/job.h"
#include "node.h"

/* A descriptor that becomes readable when info->pid is gone. 0, WATCH_GONE when it is already, or < 0. Caller closes. */
enum {
        WATCH_GONE = 1,
};
int watch_open(const Node *node, const JobInfo *info, int *ret_fd);

/* False when the process that stands for the job is gone; one that cannot be looked at is not. */
bool watch_is_alive(const Node *node, const JobInfo *info);
