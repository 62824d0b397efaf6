/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stack builds: how the packages of a software stack were built, as the script of a run prints it (build_info.h) */

#include <stddef.h>

#include "util/arena.h"
#include "value/value.h"

/* Memory that stack_builds_add() takes in the arena at most. */
size_t stack_builds_size(const Value *stack);
/* Returns a copy of the stack whose packages have their build information of the first document that has some as build; or the stack
 * itself if no document has any. 0 or -ENOMEM. */
int stack_builds_add(const Value *stack, const Value *const *documents, size_t n, Arena *arena, const Value **ret);
