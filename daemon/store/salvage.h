/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Salvage: a database that cannot be read is put aside, never deleted
 *
 * Damage that shows while rows are written is marked with an empty file beside the
 * database, so that the next start puts it aside even when it looks sound at a glance.
 */

#include <stdbool.h>
#include <stdint.h>

/* 0 or a negative errno. */
int salvage_mark(const char *path);
bool salvage_is_marked(const char *path);
/* Renames the file with its write-ahead log. *ret_note: what was done, for people; caller frees. 0 or a negative errno. */
int salvage_put_aside(const char *path, uint64_t now_realtime_ns, const char *reason, char **ret_note);
