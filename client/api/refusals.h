/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Refusals: users whose requests were recently refused by a limit, from the answer to /api/v1/quota */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"
#include "value/value.h"

/*
 * Returns the next user in the list, starting at *i, with a refusal in the last 10 minutes, and sets *i to the
 * following index. NULL if there is none.
 */
const Value *refusals_next_user(const Value *users, uint64_t now_ms, size_t *i);
/* Returns true if a resource of a user was refused in the last 10 minutes. */
bool refusals_is_recent(const Value *resource, uint64_t now_ms);

/* Appends the user's name if this machine knows the uid, else perfd's term: "uid 1000", an address, or "unknown". */
void refusals_put_name(const Value *user, Buffer *out);
/*
 * Appends "alice: queries (12 refused since …, last …)" with each resource that was refused in the last 10 minutes.
 */
void refusals_put_user(const Value *user, uint64_t now_ms, Buffer *out);
