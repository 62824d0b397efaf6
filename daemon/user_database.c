/* SPDX-License-Identifier: Apache-2.0 */
#include "user_database.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "util/parse.h"
#include "util/scoped.h"

static bool parse_number(const char *name, uint32_t *ret) {
        uint64_t v;

        if (parse_u64(name, &v) != 0 || v >= UINT32_MAX)
                return false;
        *ret = (uint32_t)v;
        return true;
}

/* Borrowed until the next call. */
static const struct passwd *find_user(const UserLookup *lookup, const char *name) {
        scoped(fclosep) FILE *file = fopen("/etc/passwd", "re");
        const struct passwd *user;

        while (file && (user = fgetpwent(file)))
                if (strcmp(user->pw_name, name) == 0)
                        return user;
        return lookup && lookup->is_local ? NULL : getpwnam(name);
}

/* Borrowed until the next call. */
static const struct group *find_group(const UserLookup *lookup, const char *name) {
        scoped(fclosep) FILE *file = fopen("/etc/group", "re");
        const struct group *group;
        uint32_t gid;
        bool is_number = parse_number(name, &gid);

        while (file && (group = fgetgrent(file)))
                if (is_number ? group->gr_gid == gid : strcmp(group->gr_name, name) == 0)
                        return group;
        if (lookup && lookup->is_local)
                return NULL;
        return is_number ? getgrgid(gid) : getgrnam(name);
}

int user_database_find_user(const UserLookup *lookup, const char *name, uint32_t *ret) {
        const struct passwd *user;

        if (parse_number(name, ret))
                return 0;

        user = find_user(lookup, name);
        if (!user)
                return USER_DATABASE_UNKNOWN;
        *ret = user->pw_uid;
        return 0;
}

int user_database_find_group(const UserLookup *lookup, const char *name, uint32_t *ret) {
        const struct group *group;

        if (parse_number(name, ret))
                return 0;

        group = find_group(lookup, name);
        if (!group)
                return USER_DATABASE_UNKNOWN;
        *ret = group->gr_gid;
        return 0;
}

int user_database_list_members(const UserLookup *lookup, const char *name, uint32_t *ret, size_t n_max,
                               size_t *ret_n) {
        const struct group *group = find_group(lookup, name);
        uint32_t uid;

        if (!group)
                return USER_DATABASE_UNKNOWN;

        *ret_n = 0;
        for (char **member = group->gr_mem; *member; member++) {
                if (user_database_find_user(lookup, *member, &uid) != 0)
                        continue;
                if (*ret_n < n_max)
                        ret[*ret_n] = uid;
                (*ret_n)++;
        }
        return 0;
}
