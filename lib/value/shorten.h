/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shorten: cuts texts that are too long
 *
 * The record of a run is written by the runner, so that a text in it that exceeds a limit must not cause the result
 * to be
 * refused: part of the text is kept, with a mark that it was cut.
 */

#include <stddef.h>

#include "util/arena.h"
#include "value/value.h"

/*
 * Returns a tree in which no string is longer than string_max bytes: the end of `stderr` is kept, and the start of
 * other texts; an object with such a member gets KEY_cut: true. *ret is `from` if no text is too long; new nodes are
 * in the arena, the others are shared. 0, or -ENOMEM if the arena is full. The caller must limit the depth.
 */
int shorten_value(const Value *from, size_t string_max, Arena *arena, const Value **ret);
