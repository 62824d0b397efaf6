/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bus: creates a systemd scope over D-Bus
 *
 * The only user of libsystemd, which is loaded for the first request, so that other commands start as fast as
 * without libsystemd. The request goes to the manager's own socket, or to the bus if that socket cannot be reached.
 */

#include <stdint.h>

#include "client/cgroup/limits.h"
#include "client/cgroup/scope_place.h"

typedef struct ScopeRequest {
        ScopeManager manager;
        uint32_t uid;            /* of the user manager */
        const char *name;        /* "perfd-j1.scope" */
        const char *description; /* for people */
        const char *slice;       /* "": the default of the manager */
        uint64_t tasks_max;      /* UINT64_MAX: no limit */
        const RunLimits *limits;    /* borrowed */
} ScopeRequest;

enum {
        BUS_ABSENT = 1, /* no libsystemd, or no manager to ask */
        BUS_REFUSED,    /* systemd refused the request, or failed */
        BUS_LATE,       /* no answer in time: the scope may still be created */
};

#define BUS_REASON_MAX 200U

/*
 * Requests a scope with this process in it, and waits until the scope exists. 0, an outcome with its reason for
 * people, or -ENOMEM.
 */
int bus_start_scope(const ScopeRequest *request, uint64_t timeout_ns, char ret_reason[static BUS_REASON_MAX]);
