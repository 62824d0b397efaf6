/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Amun run: builds the run record of a submission (perfd-protocol(7), run) from an Amun result. Part of amun.c. */

#include "client/facts/host_facts.h"
#include "request/request.h"

/* Two objects that may contain the members of a run: the part with its stdout, and the whole document. */
typedef struct AmunPlace {
        const Value *document, *part;
        const Value *specification, *hwinfo; /* from separate files; may be NULL */
        const char *inspection;              /* may be NULL */
} AmunPlace;

/* Returns the string with this key in either place; NULL if there is none. */
const char *amun_run_text(const AmunPlace *place, const char *key);
/* Returns the script's URL or its text; NULL if unknown. */
const char *amun_run_origin(const AmunPlace *place);

/* Sets run and time_ms. Returns 0, INDICATOR_INVALID, or -ENOMEM. */
int amun_run_make(const AmunPlace *place, Arena *arena, Submission *ret, Complaint *ret_complaint);

#define AMUN_RUN_ARENA_BYTES (4 * STRING_MAX_BYTES + HOST_FACTS_ARENA_BYTES)
