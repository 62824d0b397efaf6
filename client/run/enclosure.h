/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Enclosure: what tells a job's processes from all others
 *
 * Chosen before the command starts, best first: a scope of systemd, an own control group, or this process as the
 * subreaper of all that the command starts. Neither limits nor accounts that somebody else set are left.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/run/cgroup_context.h"
#include "client/run/child_group.h"
#include "client/run/limits.h"
#include "job/job.h"

/* Kinds of isolation that can be tried. The reasons explain to users why a kind cannot. */
typedef struct EnclosureChoice {
        bool may_scope, may_group;
        char no_scope[SCOPE_REASON_MAX], no_group[SCOPE_REASON_MAX];
} EnclosureChoice;

void enclosure_choose(const CgroupContext *context, EnclosureChoice *ret);

#define ENCLOSED_TEXT_MAX 512U

typedef struct Enclosed {
        Enclosure kind;
        ChildGroup group;
        char text[ENCLOSED_TEXT_MAX]; /* what it is, and why it is nothing better; for people; "" for ENCLOSURE_NONE */
} Enclosed;

void enclosure_init(Enclosed *enclosed);
/*
 * Moves this process into the best that can be had from `best` on, and never takes longer than timeout_ns for what it
 * asks others. With ENCLOSURE_SUBREAPER and ENCLOSURE_NONE it stays where it is. limits: systemd is asked for them with a scope,
 * since it enables the controllers they need; for any group they are still to be applied.
 */
void enclosure_enter(Enclosed *ret, const char *job, Enclosure best, const RunLimits *limits, uint64_t timeout_ns);
/*
 * Back out of a group of one's own, which is removed unless somebody else is left in it, or a later run is to do that. A
 * scope ends with its last process.
 */
void enclosure_leave(Enclosed *enclosed, bool removes);
