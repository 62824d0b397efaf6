/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scope place: which manager of systemd may be asked for a scope, and for which slice
 *
 * Told from the path of the control group that one is in. Nothing that somebody else made is left: from a login
 * session, a scope of the user's own manager, or the root, one may move into a scope beside it, so that every slice above stays
 * above, limits and accounts included. From a service, a container, a scheduler's step or another job's scope one may not.
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
        bool is_root;   /* one is in no unit at all, if that manager is the one of this tree */
        bool is_inside; /* one is in a unit of that manager: it is not ended sooner than what is in it */
        char slice[SCOPE_SLICE_MAX]; /* "": where the manager puts scopes by itself */
        size_t n_kept;               /* bytes of the path, whose groups are above the scope as well */
        char reason[SCOPE_REASON_MAX]; /* why there is no manager, for people; else "" */
} ScopePlace;

/* path: as systemd has it, "/user.slice/user-1000.slice/session-2.scope". */
void scope_place_find(const char *path, uint32_t uid, ScopePlace *ret);
