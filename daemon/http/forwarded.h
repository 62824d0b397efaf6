/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Forwarded user: the name of a user in a request that a proxy passes on */

#include <stdbool.h>
#include <stdint.h>

#define FORWARDED_HEADER "X-Forwarded-User"

/* Whether this may be the name of a user; NULL and numbers are none. */
bool forwarded_is_valid(const char *name);

enum {
        FORWARDED_UNKNOWN = 1,
};
/* Looks a valid name up, which may take long. 0 or FORWARDED_UNKNOWN. */
int forwarded_find(const char *name, uint32_t *ret);
