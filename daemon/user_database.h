/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * User database: resolves user and group names in settings
 *
 * Reads the files of this machine first: unlike a directory service, they never block. Only the loop's thread may
 * call these functions, while it reads a configuration. A name of digits is a number.
 */

#include <stddef.h>
#include <stdint.h>

/* Returns 0, or USER_DATABASE_UNKNOWN if there is no such name. A number need not exist. */
enum {
        USER_DATABASE_UNKNOWN = 1,
};
int user_database_find_user(const char *name, uint32_t *ret);
int user_database_find_group(const char *name, uint32_t *ret);

/*
 * Returns up to n_max members of an existing group, as listed in its entry: users whose primary group it is may be
 * missing. Members that do not exist are skipped. *ret_n is the number of all members.
 */
int user_database_list_members(const char *group, uint32_t *ret, size_t n_max, size_t *ret_n);
