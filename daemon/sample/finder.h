#pragma once

/*
 * Finder: cgroups that are jobs
 *
 * Watches the cgroup tree for groups whose path matches a pattern of the configuration: jobs of a scheduler, pods,
 * units. The kernel tells of new groups through inotify; nothing is polled. What lies where a pattern expects a job
 * but has another name is counted, since it may be a layout nobody knew of.
 *
 * Every hierarchy is watched, v1's and v2's. A group is handed out with all the hierarchies it is in at that time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/job.h"
#include "sample/cgroup_tree.h"
#include "sample/finder_rules.h"
#include "util/scoped.h"

/* What others can make us hold. What is beyond is not found, and counted in n_not_watched. */
#define FINDER_WATCHES_MAX 4096U
#define FINDER_GROUPS_MAX 32768U

typedef struct FoundGroup {
        CgroupPlace place;            /* cut to the job's own level */
        char job[JOB_ID_MAX];         /* the id that the path tells, with ".NODE" behind it when node is not this machine's name */
        char path_job[JOB_ID_MAX];    /* the same without a node */
        char node[JOB_ID_MAX];        /* of several daemons of a scheduler on this machine; "" when the path tells none */
        bool is_sluid;                /* path_job is Slurm's SLUID */
        bool is_wider;                /* it was handed out before, and is in more hierarchies now: v1's come one after the other */
        bool has_uid;                 /* the path tells whose it is */
        uint32_t uid;
        char pattern[32];             /* name of the setting that found it: "slurm", "kubernetes" */
} FoundGroup;

/*
 * Whether a job that was announced is the one that was found. It is when the ids are the same, or when its labels say so:
 * "sluid" for a SLUID, else "slurm_job" for the job and, if it is there, "slurm_node" for the node. Slurm's prolog sets them,
 * since a job that was requeued has an id of its own.
 */
bool found_group_is_of(const FoundGroup *found, const JobInfo *info);

typedef struct FinderStats {
        uint64_t n_found;         /* groups handed out */
        uint64_t n_unrecognized;  /* groups in a job's place whose name is none of a job */
        uint64_t n_not_watched;   /* directories that could not be watched: a limit, no permission */
        size_t n_watches;
} FinderStats;

typedef struct Finder Finder;

/* Patterns are copied and have been checked by pattern_check(). The tree must outlive it. 0 or < 0. */
int finder_new(Finder **ret, CgroupTree *tree, const FinderPattern *patterns, size_t n_patterns);
Finder *finder_free(Finder *finder);
DEFINE_SCOPED(Finder, finder_free);

/* Readable when something has changed. Borrowed. */
int finder_fd(const Finder *finder);
/* Takes what has changed since; the first call looks at everything. When very much has changed it takes a part, and the
 * descriptor stays readable. 0 or < 0. What it found is handed out by finder_next(). */
int finder_scan(Finder *finder);
/* The next group that is new, each once; one that was removed and made anew is new. 0 or FINDER_NONE. */
enum {
        FINDER_NONE = 1,
};
int finder_next(Finder *finder, FoundGroup *ret);
void finder_stats(const Finder *finder, FinderStats *ret);
