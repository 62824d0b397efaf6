/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Refusals: users who were refused something beyond their share lately, in the answer to /api/v1/quota */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/value.h"
#include "util/buffer.h"

/* The next user of the list from *i on who was refused something in the last 10 minutes; *i is then behind this user. NULL: none. */
const Value *refusals_next_user(const Value *users, uint64_t now_ms, size_t *i);
/* Whether a resource of a user was refused in that time. */
bool refusals_is_recent(const Value *resource, uint64_t now_ms);

/* Appends the name of a user, if this machine knows it, else what perfd calls the user: "uid 1000", an address, "unknown". */
void refusals_put_name(const Value *user, Buffer *out);
/* Appends "alice: queries (12 refused since …, last …)" with the resources that were refused in that time. */
void refusals_put_user(const Value *user, uint64_t now_ms, Buffer *out);
