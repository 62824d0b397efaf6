/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * User database: resolves user and group names in settings
 *
 * Reads the files of this machine first: unlike a directory service, they never block. One thread at a time may call
 * these functions, while it reads a configuration. A name of digits is a number.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How names are looked up, for a whole configuration. NULL: everywhere, and an unknown name is an error. */
typedef struct UserLookup {
        bool is_local;     /* asks no directory service */
        bool is_lenient;   /* an unknown name has no members, and is noted */
        char unknown[200]; /* "socket.admin_group: hpc, limits.weights: @ci"; "": none */
} UserLookup;

/* Returns 0, or USER_DATABASE_UNKNOWN if there is no such name. A number need not exist. */
enum {
        USER_DATABASE_UNKNOWN = 1,
};
int user_database_find_user(const UserLookup *lookup, const char *name, uint32_t *ret);
int user_database_find_group(const UserLookup *lookup, const char *name, uint32_t *ret);

/*
 * Returns up to n_max members of an existing group, as listed in its entry: users whose primary group it is may be
 * missing. Members that do not exist are skipped. *ret_n is the number of all members.
 */
int user_database_list_members(const UserLookup *lookup, const char *group, uint32_t *ret, size_t n_max,
                               size_t *ret_n);
