/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Name of a user, "" when it cannot be known without asking the network: nothing may wait for a directory server. */

#include <stddef.h>
#include <sys/types.h>

void user_name_find(uid_t uid, char *ret, size_t n_ret);
