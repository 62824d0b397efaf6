#pragma once

/*
 * Finder: cgroups that are jobs
 *
 * Watches the cgroup tree for groups whose path matches a pattern of the configuration: jobs of a scheduler, pods,
 * units. The kernel tells of new groups through inotify; nothing is polled. What lies where a pattern expects a job
 * but has another name is counted, since it may be a layout nobody knew of.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/job.h"
#include "sample/cgroup_tree.h"
#include "util/scoped.h"

typedef struct FoundGroup {
        CgroupPlace place;            /* in v2, or in all of v1's hierarchies; cut to the job's own level */
        char job[JOB_ID_MAX];         /* the id that the path tells */
        bool is_sluid;                /* that id is Slurm's SLUID: the job may have been announced under another, with the label "sluid" */
        bool has_uid;                 /* the path tells whose it is */
        uint32_t uid;
        char pattern[32];             /* name of the setting that found it: "slurm", "kubernetes" */
} FoundGroup;

/* A setting of [patterns]: its name, and patterns separated by blanks ("" is off). perfd.conf(5) says how they are written. */
typedef struct FinderPattern {
        const char *name, *text;
} FinderPattern;

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
/* Takes what has changed since; the first call looks at everything. 0 or < 0. What it found is handed out by finder_next(). */
int finder_scan(Finder *finder);
/* The next group that is new, each once; one that was removed and made anew is new. 0 or FINDER_NONE. */
enum {
        FINDER_NONE = 1,
};
int finder_next(Finder *finder, FoundGroup *ret);
void finder_stats(const Finder *finder, FinderStats *ret);
