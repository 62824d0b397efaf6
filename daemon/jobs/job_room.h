/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job room: the subsystem for jobs
 *
 * Embeds the parts and connects them. A room is not moved after job_room_init().
 */

#include "jobs/lifecycle.h"
#include "jobs/phases.h"
#include "jobs/table/gpu_use.h"
#include "node/node.h"
#include "sample/detection/finder.h"
#include "store/store.h"

/*
 * Puts the progress of every running job into the store. A round covers every job and consists of parts: the
 * progress of a thousand jobs is megabytes of text, and formatting all of it at once would block the loop. The next
 * part is put when the store has written rows, so that few parts are queued.
 */
typedef struct Checkpoints {
        Jobs *jobs;       /* borrowed, as are node and store */
        const Node *node;
        Store *store;
        uint32_t round;   /* number of the current or last round; Job.checkpoint_round marks the jobs that are done */
        bool is_under_way;
} Checkpoints;

/*
 * Cgroups that the finder recognizes as jobs. A detected cgroup becomes the own cgroup of the job that was announced
 * under its id, or of a new job.
 */
typedef struct Detection {
        Lifecycle *lifecycle;    /* borrowed */
        Finder *finder;          /* owned; NULL: no patterns */
        sd_event_source *source; /* owned; watches the finder's descriptor */
        FoundGroup *postponed;   /* owned; cgroups recreated while the end of their job is queued for the store */
        size_t n_postponed;
        LogUserLimits log_limits; /* for messages about jobs that cannot be followed */
} Detection;

typedef struct JobRoom {
        Jobs jobs;
        GpuUse *gpu_use; /* owned */
        Groups groups;
        Identity identity;
        UserNames names;
        Lifecycle lifecycle;
        Phases phases;
        Detection detection;
        Checkpoints checkpoints;
} JobRoom;

/* Parts of other subsystems that the room uses. Borrowed until job_room_deinit(); changes of the configuration apply
 * at once. */
typedef struct JobRoomParts {
        const JobsConfig *config;
        sd_event *event;
        Node *node;
        Store *store;
        Shares *shares;
} JobRoomParts;

/* root: directory with the cgroups' proc/ and sys/. 0 or < 0. */
int job_room_init(JobRoom *room, const JobRoomParts *parts, const char *root);
void job_room_deinit(JobRoom *room);

/*
 * Keep the totals of users, and the counters of jobs, in a file that outlives perfd; before job_room_start(). 0, or
 * < 0: the account may begin anew after a restart.
 */
int job_room_open_totals(JobRoom *room, const char *path);
int job_room_open_usage(JobRoom *room, const char *path);
/* Resumes the jobs of the previous perfd, before the first sample. 0 or < 0. */
int job_room_start(JobRoom *room);
/* Detects jobs by these patterns from now on. 0, or < 0: nothing has changed. */
int job_room_set_patterns(JobRoom *room, const FinderPattern *patterns, size_t n_patterns);
/* Applies the configuration after a reload, apart from the patterns. */
void job_room_configure(JobRoom *room);

/* Takes a sample and performs the periodic work. 0 or < 0. */
int job_room_tick(JobRoom *room);
/* Puts checkpoints at each checkpoint interval, and, with is_last, when perfd stops. 0 or < 0. */
int job_room_checkpoint(JobRoom *room, bool is_last);
/* Removes a user from the totals, and puts them. 0, STORE_QUEUE_FULL: repeat it; or < 0. */
int job_room_forget_totals(JobRoom *room, uint32_t uid);
/* Continues detection and checkpoints after the store has completed rows. 0 or < 0. */
int job_room_continue(JobRoom *room);

/* Fills the jobs' part of a snapshot. 0 or -ENOMEM. */
int job_room_publish(const JobRoom *room, JobsSnapshot *ret);
