/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Hello: asks perfd who it is, over a connection of its own. */

#include <stdint.h>

#include "client/wire/codec.h"

/* 0, or before the deadline (CLOCK_BOOTTIME) a negative errno: then nobody answers at `path`. */
int hello_ask(const char *path, uint64_t deadline_ns, Reply *ret);
