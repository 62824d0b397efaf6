/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks of what runs now: perfd's sockets, its answers, the clock, the spool
 *
 * What perfd said of itself is judged apart from asking it.
 */

#include <stdint.h>

#include "client/doctor/checks.h"
#include "document/value.h"

/* A socket that is to be connected to: whether it is there, and this user may. `unit` is what makes it. */
void checks_live_add_socket(Checks *checks, const char *name, const char *path, const char *unit);
/* Whether the clock that labels samples is synchronised. */
void checks_live_add_clock(Checks *checks);
/* directory: NULL when this user has none. */
void checks_live_add_spool(Checks *checks, const char *directory);

/* node: the answer to /api/v1/node; metrics: of /metrics, NUL-terminated, with perfd's own. */
void checks_live_add_node(Checks *checks, const Value *node, const char *metrics, uint64_t now_ms);

/* answer: to /api/v1/models. */
void checks_live_add_models(Checks *checks, const Value *answer);

/* The value of a metric without labels in a text exposition. False: it is not there. */
bool checks_live_find_metric(const char *metrics, const char *name, double *ret);
