/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * User totals: what the ended jobs of each user have used in this boot
 *
 * Counters for scrapers, which do not see jobs that are shorter than the time between two scrapes. The first users have totals of their
 * own; the others share those of the last entry. They are kept in a file of the runtime directory, so that no end of perfd makes them
 * decrease.
 */

#include "base/kept_text.h"
#include "snapshot/jobs_snapshot.h"

typedef struct UserTotals {
        UsersUsage users;
        KeptText *kept; /* owned; NULL: there is no directory for the file, or it failed */
        char boot_id[64];
} UserTotals;

void user_totals_deinit(UserTotals *totals);
/*
 * Continues with the totals in the file, if they are of this boot, and keeps them there. 0, or a negative errno of kept_text_open(): they
 * begin at zero with each start.
 */
int user_totals_open(UserTotals *totals, const char *path, const char *boot_id);
/* Shows the user's totals from now on, before the first of the user's jobs ends. */
void user_totals_note(UserTotals *totals, uint32_t uid);
/* Adds an ended job. Absent values add nothing. */
void user_totals_add(UserTotals *totals, uint32_t uid, const UsageSet *usage);
