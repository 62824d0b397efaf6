#pragma once

/*
 * Watch: notices that a job's process is gone
 *
 * Through a pidfd, so that a reused pid is never mistaken for the job's.
 */

#include "service.h"

/* Starts watching job->info.pid. 0, WATCH_GONE when there is no such process (any more), or a negative errno. */
enum {
        WATCH_GONE = 1,
};
int watch_job(Service *service, Job *job);
