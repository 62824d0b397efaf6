/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cgroup: reads control groups
 *
 * A CgroupTree knows the mount points of the hierarchies (v2, v1, or both). A Cgroup is one group whose files are
 * kept open and read with one pread(2) each; only the files of limits, which may exist at each level above, are
 * opened for each read. Paths come from the kernel (proc/PID/cgroup), and are resolved beneath the mount, without
 * following symbolic links.
 */

#include <stdbool.h>
#include <stdint.h>

#include "measure/cgroup_sample.h"
#include "sample/cgroup/cgroup_tree.h"
#include "util/scoped.h"

typedef struct Cgroup Cgroup;

/*
 * Opens the group's files. Samples lack the parts of controllers that are not enabled, and of hierarchies in which
 * the path is "", the root, or does not exist; CGROUP_GONE is returned only if the group is missing from its main
 * hierarchy. A process can be in both a group of v2 and one of v1's cpuacct, but only one of them can belong to the
 * job: the v2 group, unless it is the root or the cpuacct group is not at or above it; then v2 is ignored. Returns 0,
 * an outcome, or a negative errno: -EMFILE, -ENFILE, -ENOMEM. The tree must outlive the group.
 */
int cgroup_open(Cgroup **ret, CgroupTree *tree, const CgroupPlace *place);
/* As cgroup_open() for a part of a job: samples have CPU time, the peak of memory, and I/O, at a lower cost. */
int cgroup_open_step(Cgroup **ret, CgroupTree *tree, const CgroupPlace *place);
Cgroup *cgroup_free(Cgroup *cgroup);
DEFINE_SCOPED(Cgroup, cgroup_free);

/*
 * Reads all parts at `boottime_ns`, counters first. Returns 0, or CGROUP_GONE if the group was removed (*ret is
 * unchanged). Allocates only for a new disk.
 */
int cgroup_read(Cgroup *cgroup, uint64_t boottime_ns, CgroupSample *ret);
/*
 * As cgroup_read() at a fraction of the cost, for samples between the first and the last: CPU time, memory, I/O and
 * the number of processes are current; pressure, the parts of memory and memory events are at most CGROUP_SELDOM_NS
 * old, limits CGROUP_LIMITS_NS.
 */
int cgroup_refresh(Cgroup *cgroup, uint64_t boottime_ns, CgroupSample *ret);
/*
 * Sets whether cgroup_refresh() may rely on the kernel's peak of memory, if there is one, and skip the memory in use,
 * which then keeps its old value. The default is false.
 */
void cgroup_trust_peak(Cgroup *cgroup, bool is_enough);
#define CGROUP_SELDOM_NS (10 * UINT64_C(1000000000))
#define CGROUP_LIMITS_NS (60 * UINT64_C(1000000000))

/*
 * Returns the descriptor of v2's cgroup.events, to be polled for POLLPRI; -1 without v2. Borrowed.
 * cgroup_is_populated() reads the file, which clears the event; without the file, a group counts as populated until
 * it is removed.
 */
int cgroup_events_fd(const Cgroup *cgroup);
bool cgroup_is_populated(const Cgroup *cgroup);

CgroupTree *cgroup_tree(const Cgroup *cgroup);
/*
 * Returns a number that identifies the group among all groups of this boot, including later groups of the same name.
 * Never 0.
 */
uint64_t cgroup_id(const Cgroup *cgroup);
