/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Phase mark: starts a phase of a job without waiting long for perfd
 */

#include <stdbool.h>

#include "client/deliver/deliver.h"
#include "util/clock.h"

/* Longest delay of a script, whatever state perfd is in. */
#define PHASE_MARK_TIMEOUT_NS (200 * NS_PER_MS)

/* Returns true if the name can be that of a phase; prints the reason if not. */
bool phase_mark_check_name(const char *name);

/*
 * Sends the mark once, for PHASE_MARK_TIMEOUT_NS at most. Returns as deliver_mark() does; for a positive outcome,
 * ret_text has the reason.
 */
int phase_mark_send(Courier *courier, const JobRef *job, const char *name, double wall_seconds, MarkResult *ret,
                    Delivery *ret_delivery, char ret_text[static DELIVERY_TEXT_MAX]);
/* Returns true if perfd may have recorded the mark: it did not answer in time, but the request is in its socket. */
bool phase_mark_may_be_taken(const Courier *courier, const Delivery *delivery);
