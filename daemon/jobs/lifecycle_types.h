/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lifecycle types: declarations shared by lifecycle.h and job_watch.h. */

#include "base/user_names.h"
#include "desk/desk.h"
#include "jobs/groups.h"
#include "jobs/identity.h"

/* Each kind of message has a limit of its own. */
typedef struct LifecycleLogLimits {
        LogUserLimits displaced;  /* jobs whose id an administrator has taken over */
        LogUserLimits unreadable; /* checkpoints that cannot be read */
        LogUserLimits unwatched;  /* processes and cgroups that cannot be watched */
} LifecycleLogLimits;

typedef struct Lifecycle {
        const JobsConfig *config; /* borrowed, as all pointers here */
        sd_event *event;
        Node *node;
        Store *store;
        Shares *shares;
        Jobs *jobs;
        Groups *groups;
        Identity *identity;
        UserNames *names;
        LifecycleLogLimits log_limits;
        uint64_t start_realtime_ms; /* of perfd */
} Lifecycle;

/* Kinds of requests; their state is a Lifecycle, the owner in a cookie a Job or NULL. */
enum {
        LIFECYCLE_BEGIN,
        LIFECYCLE_END,
};
extern const Kind lifecycle_kinds[2];
