/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * User counts: how many of some items each user has
 *
 * For tables with a limit, in which a further item replaces one of the user with the most. A zeroed struct has no
 * users.
 */

#include <stddef.h>
#include <stdint.h>

#define USER_COUNTS_MAX 2048U /* users */

typedef struct UserCount {
        uint32_t uid, n;
} UserCount;

typedef struct UserCounts {
        UserCount items[2 * USER_COUNTS_MAX]; /* at the place of a hash of the uid, or behind; n is 0: free */
        uint32_t n_users;
        uint32_t n_most; /* of the user with the most */
} UserCounts;

/* Adds n items of a user. At most USER_COUNTS_MAX users may have items. */
void user_counts_add(UserCounts *counts, uint32_t uid, uint32_t n);
/* Returns the number of items of a user. */
uint32_t user_counts_get(const UserCounts *counts, uint32_t uid);

/*
 * Chooses the item that a further item of a user replaces: the least recently used of the user with the most,
 * counting the further item. uids, uses: the members of the first item, of which each item of n_bytes has its own; a
 * use is a sequence number. Returns its index, or n if the user has the most, but no item.
 */
size_t user_counts_choose_victim(const uint32_t *uids, const uint64_t *uses, size_t n_bytes, size_t n, uint32_t uid);
