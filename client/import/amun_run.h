/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Amun run: builds the record of a submission (perfd-protocol(7), run) from a result of Amun. Part of amun.c. */

#include "client/run/host_facts.h"
#include "request/request.h"

/* Members of a run are beside its stdout, or at the top level. */
typedef struct AmunPlace {
        const Value *document, *part;
        const Value *specification, *hwinfo; /* given apart; NULL: not */
        const char *inspection;              /* NULL: none */
} AmunPlace;

/* NULL when neither has it as a string. */
const char *amun_run_text(const AmunPlace *place, const char *key);
/* The script: its address, or its text. NULL: not known. */
const char *amun_run_origin(const AmunPlace *place);

/* Sets run and time_ms. 0, INDICATOR_INVALID, or -ENOMEM. */
int amun_run_make(const AmunPlace *place, Arena *arena, Submission *ret, Complaint *ret_complaint);

#define AMUN_RUN_ARENA_BYTES (4 * STRING_MAX_BYTES + HOST_FACTS_ARENA_BYTES)
