/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * User totals: resources used by the ended jobs of each user, and by those with each value of a configured label
 *
 * Counters for scrapers, which do not see jobs that are shorter than the time between two scrapes. The first users
 * and values have totals of their own; the others share those of the last entry. Of the places that are left for
 * values, a user may take as many as the user leaves to others. The totals are kept in a file of the runtime
 * directory, so that no end of perfd makes them decrease, and in the store, from which they continue in the next
 * boot.
 */

#include "base/runtime_file.h"
#include "snapshot/snapshot.h"

typedef struct UserTotals {
        UsageTotals users, labels;
        char label[TOTAL_KEY_MAX]; /* "": no totals by label */
        RuntimeFile *file;            /* owned; NULL: there is no directory for the file, or it failed */
        char boot_id[64];
        bool is_restored;          /* from the file */
        bool is_changed;           /* since the last user_totals_format() */
        bool is_ahead;             /* of the file: a job was added whose end is not stored yet */
} UserTotals;

void user_totals_deinit(UserTotals *totals);
/*
 * Continues with the totals in the file, if they are of this boot, and keeps them there. 0, or a negative errno of
 * runtime_file_open(): they continue from the store with each start.
 */
int user_totals_open(UserTotals *totals, const char *path, const char *boot_id);
/* Sets the label by whose values jobs are added up; "": none. Another label than before begins at zero. */
void user_totals_set_label(UserTotals *totals, const char *label);
/*
 * Continues with totals of the store, unless the file had newer ones; text: of user_totals_format(), or NULL. In
 * another boot, entries without a job for the last 30 days are dropped, which leaves room for others. 0 or -ENOMEM.
 */
int user_totals_restore(UserTotals *totals, const char *text);
/* Formats the totals for the store; caller frees *ret. 0, USER_TOTALS_SAME: nothing has changed since the last call;
 * or -ENOMEM. */
enum {
        USER_TOTALS_SAME = 1,
};
int user_totals_format(UserTotals *totals, char **ret);
/* Shows the user's totals from now on, before the first of the user's jobs ends. */
void user_totals_note(UserTotals *totals, uint32_t uid);
/* Removes the user's totals, and those of values of the label that the user's jobs had first. */
void user_totals_forget(UserTotals *totals, uint32_t uid);
/* Adds a job whose end is stored. Absent values add nothing. */
void user_totals_add(UserTotals *totals, const JobDescription *job, const UsageSet *usage);
/* As above, for a job whose end is queued: the file follows with user_totals_catch_up(), or a crash before that
 * would count it twice. */
void user_totals_add_queued(UserTotals *totals, const JobDescription *job, const UsageSet *usage);
/* Brings the file up to date. The ends of all added jobs are stored. */
void user_totals_catch_up(UserTotals *totals);
