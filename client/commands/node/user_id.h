/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* User id: the user that an option names, by name or number */

#include <stdint.h>

/* text: NULL: the caller. Returns 0, or EXIT_USAGE after a message. */
int user_id_find(const char *text, uint64_t *ret);
