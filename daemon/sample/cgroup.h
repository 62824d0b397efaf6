/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cgroup: reads control groups
 *
 * A CgroupTree knows where the hierarchies are mounted (v2, v1, or both beside each other). A Cgroup is one group
 * with its files kept open, one pread(2) each; only its limits, of which each group above may have some, are not.
 * Paths come from the kernel (proc/PID/cgroup), are resolved beneath the mount, and never through symbolic links.
 */

#include <stdbool.h>
#include <stdint.h>

#include "measure/cgroup_sample.h"
#include "sample/cgroup_tree.h"
#include "util/scoped.h"

typedef struct Cgroup Cgroup;

/*
 * Opens the group's files. What a controller does not offer is absent from samples, and so are hierarchies in which
 * the place is "", the root, or not there: CGROUP_GONE is for the one that the group has its name from. Of a place in v2 and,
 * elsewhere, in v1's cpuacct, only one can be the job's own: it is v2's, unless that is the root or cpuacct's is not at or above
 * it; then nothing of v2 is read.
 * 0, an outcome, or a negative errno: -EMFILE, -ENFILE, -ENOMEM. The tree must outlive the group.
 */
int cgroup_open(Cgroup **ret, CgroupTree *tree, const CgroupPlace *place);
Cgroup *cgroup_free(Cgroup *cgroup);
DEFINE_SCOPED(Cgroup, cgroup_free);

/* Reads all of it at `boottime_ns`, what counts and runs first. 0, or CGROUP_GONE when the group was removed (then *ret is
 * untouched). No allocation but for a disk never seen before. */
int cgroup_read(Cgroup *cgroup, uint64_t boottime_ns, CgroupSample *ret);
/*
 * The same at a fraction of the price, for the samples between a start and an end: CPU time, memory, I/O and the number of
 * processes are of now; pressure and memory's events were read at most CGROUP_SELDOM_NS ago, limits CGROUP_LIMITS_NS.
 */
int cgroup_glance(Cgroup *cgroup, uint64_t boottime_ns, CgroupSample *ret);
/* Whether the kernel's peak of memory, where it keeps one, is all that is wanted of a glance: then it leaves memory in use at
 * what it was. At first it does not. */
void cgroup_trust_peak(Cgroup *cgroup, bool is_enough);
#define CGROUP_SELDOM_NS (10 * UINT64_C(1000000000))
#define CGROUP_LIMITS_NS (60 * UINT64_C(1000000000))

/* cgroup.events of v2, to be watched for POLLPRI; -1 where there is none. Borrowed. cgroup_is_populated() reads it, which
 * is what takes the event; without it, a group counts as populated until it is removed. */
int cgroup_events_fd(const Cgroup *cgroup);
bool cgroup_is_populated(const Cgroup *cgroup);

/* Tells it from all other groups of this boot, also from one that is made later under its name. Not 0. */
uint64_t cgroup_id(const Cgroup *cgroup);
