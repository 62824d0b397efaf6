/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cgroup context: the control groups of this process and its permissions there
 *
 * Reads facts below a root directory, so that a captured tree can be tested; isolation.h decides what the facts allow.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/cgroup/scope_place.h"

#define CGROUP_CONTEXT_PATH_MAX 1024U

typedef struct CgroupContext {
        uint32_t uid;
        bool has_systemd;         /* systemd is process 1 of this machine or container */
        bool has_system_manager;  /* systemd manages the groups that we see */
        bool has_linger;          /* the manager of the user stays when the last session ends */
        /* path of the group for systemd; "" without a group, or when the path is too long */
        char unit[CGROUP_CONTEXT_PATH_MAX];
        ScopePlace scope;         /* derived from `unit` */
        /* in a hierarchy of version 1, this process is in a group that systemd did not make */
        bool is_apart;
        bool is_limited;          /* a group that this process would leave for a scope has a limit of its own */
        uint64_t tasks_max;       /* limit of our group; UINT64_MAX: none */

        /* Directory of our group of version 2, below the root directory; "" without such a group. */
        char directory[CGROUP_CONTEXT_PATH_MAX];
        bool is_delegated; /* systemd leaves the groups below to others */
        bool is_own;       /* the group belongs to this user */
        bool is_writable;  /* groups can be made in the directory */
} CgroupContext;

/* 0, or a negative errno when control groups cannot be read. */
int cgroup_context_read(CgroupContext *ret, int root_fd, uint32_t uid);

/* Reads the present path of this process for systemd, as in CgroupContext.unit. 0 or a negative errno. */
int cgroup_context_read_unit(int root_fd, char ret[static CGROUP_CONTEXT_PATH_MAX]);
