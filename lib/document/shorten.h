/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Texts that are cut rather than refused
 *
 * What a runner writes down of a run is not its user's doing, and must not make a result be refused: where a text
 * in it is longer than a limit, part of it is kept, and it is said that it was cut.
 */

#include <stddef.h>

#include "document/value.h"
#include "util/arena.h"

/*
 * A tree in which no string is longer than string_max bytes: of `stderr` the end is kept, of others the beginning, and
 * an object with such a member has KEY_cut: true beside it. *ret is `from` where nothing is too long; what is new lives
 * in the arena, the rest is shared. 0, or -ENOMEM when the arena is full. The depth is the caller's to bound.
 */
int shorten_value(const Value *from, size_t string_max, Arena *arena, const Value **ret);
