/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Accepted levels: the levels of KPIs that apply to the verdicts of the requesting user
 * (document/indicator_model.h). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/condition.h"
#include "http/exchange.h"

typedef struct AcceptedLevel {
        char *kpi; /* INDICATOR, INDICATOR.RESULT or a pattern; owned, as all texts here */
        char *note; /* NULL: none */
        char *key;
        char **texts; /* of the conditions */
        Condition *where;
        size_t n_where;
        uint64_t until_ms; /* time of the newest run that has the level */
        uint64_t time_ms;  /* when it was accepted */
        uint64_t uid;      /* user who accepted the level */
        bool by_admin;     /* for all users */
} AcceptedLevel;

typedef struct AcceptedLevels {
        AcceptedLevel *items; /* owned; at most ACCEPTED_LEVELS_MAX of the administrators, and of the user */
        size_t n;
} AcceptedLevels;

/* Reads the levels that apply to the caller. Call accepted_levels_deinit() in any case. 0 or EXCHANGE_ANSWERED. */
int accepted_levels_read(const Target *target, const Sources *sources, Response *response, AcceptedLevels *ret);
void accepted_levels_deinit(AcceptedLevels *levels);

/* True if the pattern is INDICATOR or INDICATOR.RESULT, or matches one of them as fnmatch(3) does. */
bool accepted_levels_matches(const char *pattern, const char *indicator, const char *result);
/* Returns the level that a series has, the newest of several, or NULL. labels: of the series, as in the answer of
 * regress. */
const AcceptedLevel *accepted_levels_find(const AcceptedLevels *levels, const char *indicator, const char *result,
                                          const char *labels);

void accepted_levels_write(const AcceptedLevels *levels, Json *json);
