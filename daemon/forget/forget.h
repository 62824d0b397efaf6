/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Forget: removes what perfd has of a user, on the order of an administrator
 *
 * The store removes the rows (store/retention/erasure.h). When it is done, the rooms drop what they keep in memory
 * for /metrics, and the request is answered.
 */

#include "desk/desk.h"
#include "indicators/results.h"
#include "jobs/job_room.h"

/* Borrowed parts of the other subsystems. */
typedef struct Forget {
        Store *store;
        Shares *shares;
        JobRoom *jobs;
        Results *indicators;
} Forget;

extern const Kind forget_kinds[1];
