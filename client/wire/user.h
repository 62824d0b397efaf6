/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the name of a user; "" if it cannot be found without the network. perfd must not wait for a directory server.
 */

#include <stddef.h>
#include <sys/types.h>

void user_name_find(uid_t uid, char *ret, size_t n_ret);
/* As above, with the number of a user without a name. */
void user_name_or_number(uid_t uid, char *ret, size_t n_ret);
