/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * User database: numbers of the users and groups that settings name
 *
 * The files of this machine are read first: unlike a directory service, they never make the caller wait. Only the loop's thread may call
 * these functions, while a configuration is read. A name of digits is a number.
 */

#include <stddef.h>
#include <stdint.h>

/* 0, or USER_DATABASE_UNKNOWN: there is none with that name. A number need not exist. */
enum {
        USER_DATABASE_UNKNOWN = 1,
};
int user_database_find_user(const char *name, uint32_t *ret);
int user_database_find_group(const char *name, uint32_t *ret);

/*
 * Gives up to n_max members of a group that exists, as its entry lists them: users whose primary group it is need not be among them.
 * Members that do not exist are left out. *ret_n is the number of all.
 */
int user_database_list_members(const char *group, uint32_t *ret, size_t n_max, size_t *ret_n);
