/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cgroup context: the control groups of this process and its permissions there
 *
 * Reads facts below a root directory, so that a captured tree can be tested; enclosure.h decides what they allow.
 * for enclosure.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/run/scope_place.h"

#define CGROUP_CONTEXT_PATH_MAX 1024U

typedef struct CgroupContext {
        uint32_t uid;
        bool has_systemd;         /* it is process 1 of this machine or container */
        bool has_system_manager;  /* and what it manages are the groups that we see */
        bool has_linger;          /* the user's manager stays when the last session ends */
        char unit[CGROUP_CONTEXT_PATH_MAX]; /* the group, as systemd has it; "" when there is none, or when it is too long */
        ScopePlace scope;         /* what that path tells */
        bool is_apart;            /* in some hierarchy of version 1 we are in a group that systemd did not make */
        bool is_limited;          /* a group that we would leave for that scope has a limit of its own */
        uint64_t tasks_max;       /* of our group; UINT64_MAX: none */

        /* Our group in version 2's hierarchy: its directory below the root directory, "" where there is none. */
        char directory[CGROUP_CONTEXT_PATH_MAX];
        bool is_delegated; /* systemd has left what is below it to others */
        bool is_own;       /* it belongs to this user */
        bool is_writable;  /* groups can be made in it */
} CgroupContext;

/* 0, or a negative errno where there are no control groups to be read. */
int cgroup_context_read(CgroupContext *ret, int root_fd, uint32_t uid);

/* The path by which systemd knows this process now, as in Surroundings.unit. 0 or a negative errno. */
int cgroup_context_read_unit(int root_fd, char ret[static CGROUP_CONTEXT_PATH_MAX]);
