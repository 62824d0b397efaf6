/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scope place: which manager of systemd may be asked for a scope, and for which slice
 *
 * Derived from the path of the control group of a process. A process in a login session, in a scope of the user's
 * own manager or in the root may move into a scope beside its group, so that all slices above, with their limits and
 * accounts, stay above. A process in a service, a container, a step of a scheduler or the scope of another job must
 * stay there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ScopeManager {
        SCOPE_MANAGER_NONE,
        SCOPE_MANAGER_SYSTEM,
        SCOPE_MANAGER_USER,
} ScopeManager;

#define SCOPE_PREFIX "perfd-"
#define SCOPE_SLICE_MAX 256U
#define SCOPE_REASON_MAX 128U

typedef struct ScopePlace {
        ScopeManager manager;
        bool is_root;   /* the process is in no unit, if the manager is the manager of this tree */
        bool is_inside; /* the process is in a unit of that manager, which does not end before its units */
        char slice[SCOPE_SLICE_MAX]; /* "": the default slice of the manager */
        size_t n_kept;               /* length of the part of the path whose groups are above the scope too */
        char reason[SCOPE_REASON_MAX]; /* why there is no manager, for people; else "" */
} ScopePlace;

/* path: of the group for systemd, such as "/user.slice/user-1000.slice/session-2.scope". */
void scope_place_find(const char *path, uint32_t uid, ScopePlace *ret);
