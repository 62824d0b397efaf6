/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Privacy: private values in answers
 *
 * With [http] privacy = private, jobs of others are counts only: they, their results and what was made of these do
 * not exist for other users, and the answer for a hidden object is the same as for an absent one. The reader of the
 * store leaves out their rows (statement_define_visible()), and what comes from the snapshot asks privacy_may_list().
 * Users are known on the Unix socket only. /metrics has the numbers of jobs by id, and names for its readers only.
 *
 * With the other values, private are the command lines of jobs, and the standard error, environment, directory and
 * script path of runs. With [http] privacy = own, they are shown to their user and to users who may see everything:
 * administrators, who are known on the Unix socket only, and the user that perfd runs as, unless that is root: that
 * user started perfd by hand. Hidden values are absent, and the answer contains the reason.
 */

#include <stdbool.h>
#include <stdint.h>

#include "http/caller.h"
#include "json/json.h"
#include "json/json_text.h"

typedef enum Privacy {
        PRIVACY_OWN,
        PRIVACY_ALL, /* everybody may see everything */
        PRIVACY_PRIVATE, /* others do not see that an object exists */
} Privacy;

/* User who receives an answer. Zeroed: private values are not shown, but objects are. */
typedef struct Viewer {
        bool sees_all;
        bool hides_others; /* objects of others are counts only */
        bool hides_names;  /* /metrics has no names, users and labels */
        bool has_uid;
        uint32_t uid;
} Viewer;

#define PRIVACY_REASON "shown to its user and to administrators only ([http] privacy = own)"

Viewer privacy_viewer(Privacy privacy, const Caller *caller);
/* Whether the viewer may know that an object of a user exists. */
bool privacy_may_list(const Viewer *viewer, uint32_t uid);
/* Whether the viewer may see the private values of a user. */
bool privacy_may_see(const Viewer *viewer, uint32_t uid);

/* Writes "hidden": the name of a member that is not shown, with the reason; {} for NULL. */
void privacy_put_hidden(Json *json, const char *name);
/* Writes "run", the members of the record of a run that everyone may see, and "hidden", the names of the others with
 * the reason. */
void privacy_put_run(Json *json, JsonText run);
