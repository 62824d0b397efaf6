/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bus: creates a systemd scope over D-Bus
 *
 * The only place that knows libsystemd, which is loaded when it is asked for something: other
 * commands start as fast as without it. The manager's own socket is asked first, the bus where that cannot be reached.
 */

#include <stdint.h>

#include "client/run/limits.h"
#include "client/run/scope_place.h"

typedef struct ScopeRequest {
        ScopeManager manager;
        uint32_t uid;            /* of the user manager */
        const char *name;        /* "perfd-j1.scope" */
        const char *description; /* for people */
        const char *slice;       /* "": where the manager puts it */
        uint64_t tasks_max;      /* UINT64_MAX: no limit */
        const RunLimits *limits;    /* borrowed */
} ScopeRequest;

enum {
        BUS_ABSENT = 1, /* no libsystemd, or nobody to be asked */
        BUS_REFUSED,    /* systemd cannot or will not */
        BUS_LATE,       /* no answer in time: it may still come about */
};

#define BUS_REASON_MAX 200U

/*
 * Asks for a scope that has this process in it, and waits until that is done. 0, an outcome with its reason for people,
 * or -ENOMEM.
 */
int bus_start_scope(const ScopeRequest *request, uint64_t timeout_ns, char ret_reason[static BUS_REASON_MAX]);
