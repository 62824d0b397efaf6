#pragma once

/* Hello: asks perfd who it is, over a connection of its own. */

#include <stdint.h>

#include "client/codec.h"

/* 0, or a negative errno: then nobody answers at `path`. */
int hello_ask(const char *path, uint64_t timeout_ns, Reply *ret);
