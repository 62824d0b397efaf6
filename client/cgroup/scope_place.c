/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cgroup/scope_place.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/parse.h"

/* A component of the path. */
typedef struct UnitPart {
        const char *text;
        size_t n;
} UnitPart;

#define PART_FORMAT(part) (int)((part).n < 80 ? (part).n : 80), (part).text

static bool part_equals(UnitPart part, const char *text) {
        return part.n == strlen(text) && memcmp(part.text, text, part.n) == 0;
}

static bool part_begins(UnitPart part, const char *text) {
        return part.n > strlen(text) && memcmp(part.text, text, strlen(text)) == 0;
}

static bool part_ends(UnitPart part, const char *text) {
        size_t n = strlen(text);

        return part.n > n && memcmp(part.text + part.n - n, text, n) == 0;
}

/* The uid in "user-1000.slice". */
static bool part_uid(UnitPart part, const char *before, const char *after, uint32_t *ret) {
        char digits[16] = "";
        size_t n_digits;
        uint64_t uid;

        if (!part_begins(part, before) || !part_ends(part, after) || part.n <= strlen(before) + strlen(after))
                return false;
        n_digits = part.n - strlen(before) - strlen(after);
        if (n_digits >= sizeof(digits))
                return false;

        memcpy(digits, part.text + strlen(before), n_digits);
        if (parse_u64(digits, &uid) != 0 || uid >= UINT32_MAX)
                return false;
        *ret = (uint32_t)uid;
        return true;
}

/* The next component, past which *p moves; n is 0 at the end. */
static UnitPart next_part(const char **p) {
        UnitPart part = { .text = *p + strspn(*p, "/") };

        part.n = strcspn(part.text, "/");
        *p = part.text + part.n;
        return part;
}

/* Slices from *p on, past which it moves. The last one, n is 0 when there is none. */
static UnitPart skip_slices(const char **p) {
        UnitPart last = {};

        for (;;) {
                const char *at = *p;
                UnitPart part = next_part(&at);

                if (!part_ends(part, ".slice"))
                        return last;
                last = part;
                *p = at;
        }
}

__attribute__((format(printf, 2, 3)))
static void refuse(ScopePlace *place, const char *format, ...) {
        va_list args;

        va_start(args, format);
        vsnprintf(place->reason, sizeof(place->reason), format, args);
        va_end(args);
}

static void allow(ScopePlace *place, ScopeManager manager, UnitPart slice, size_t n_kept) {
        place->manager = manager;
        place->n_kept = n_kept;
        if (slice.n < sizeof(place->slice))
                memcpy(place->slice, slice.n > 0 ? slice.text : "", slice.n);
}

/* Finds the scope of the current unit. */
static void refuse_part(ScopePlace *place, UnitPart part) {
        const char *kind = part_ends(part, ".service") ? "service"
                           : part_ends(part, ".scope") ? "scope"
                                                       : "control group";

        if (part.n > 0)
                refuse(place, "in the %s %.*s", kind, PART_FORMAT(part));
        else
                refuse(place, "not in a unit of systemd");
}

/* Parses "user@1000.service" at p; n_slice: length of the path before. */
static void find_in_manager(const char *path, const char *p, UnitPart user_slice, bool is_owners, size_t n_slice,
                            ScopePlace *ret) {
        UnitPart slice = skip_slices(&p), unit;
        size_t n_kept = (size_t)(p - path);

        unit = next_part(&p);
        if (*p || !part_ends(unit, ".scope")) {
                refuse_part(ret, unit);
                return;
        }
        if (part_begins(unit, SCOPE_PREFIX)) {
                refuse(ret, "in the scope of another job, %.*s", PART_FORMAT(unit));
                return;
        }

        if (is_owners)
                allow(ret, SCOPE_MANAGER_USER, slice, n_kept);
        else
                allow(ret, SCOPE_MANAGER_SYSTEM, user_slice, n_slice);
        ret->is_inside = is_owners;
}

/* Below the slice of a user, which ends at p. */
static void find_of_user(const char *path, const char *p, UnitPart slice, uint32_t owner, uint32_t uid,
                         ScopePlace *ret) {
        size_t n_slice = (size_t)(p - path);
        UnitPart unit = next_part(&p);
        uint32_t manager;

        if (uid != owner && uid != 0) {
                refuse(ret, "in a session of another user");
                return;
        }

        if (part_uid(unit, "user@", ".service", &manager) && manager == owner && *p) {
                find_in_manager(path, p, slice, uid == owner, n_slice, ret);
                return;
        }
        if (*p || !part_begins(unit, "session-") || !part_ends(unit, ".scope")) {
                refuse_part(ret, unit);
                return;
        }

        if (uid == 0)
                allow(ret, SCOPE_MANAGER_SYSTEM, slice, n_slice);
        else
                allow(ret, SCOPE_MANAGER_USER, (UnitPart){}, n_slice);
}

void scope_place_find(const char *path, uint32_t uid, ScopePlace *ret) {
        const char *p = path;
        UnitPart first, slice, unit;
        uint32_t owner;

        *ret = (ScopePlace){};
        if (strcmp(path, "/") == 0 || strcmp(path, "/init.scope") == 0) {
                allow(ret, uid == 0 ? SCOPE_MANAGER_SYSTEM : SCOPE_MANAGER_USER, (UnitPart){}, 0);
                ret->is_root = true;
                return;
        }

        first = next_part(&p);
        slice = next_part(&p);
        if (part_equals(first, "user.slice") && part_uid(slice, "user-", ".slice", &owner)) {
                find_of_user(path, p, slice, owner, uid, ret);
                return;
        }

        p = path;
        (void)skip_slices(&p);
        unit = next_part(&p);
        refuse_part(ret, unit);
}
