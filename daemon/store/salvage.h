/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Salvage: moves a damaged database aside instead of deleting it
 *
 * Damage that is found while writing is marked with an empty file beside the database, so that the next start moves the database
 * aside even if it passes the checks of opening.
 */

#include <stdbool.h>
#include <stdint.h>

/* 0 or a negative errno. */
int salvage_mark(const char *path);
bool salvage_is_marked(const char *path);
/* Renames the file with its write-ahead log. *ret_note: a message about it; caller frees. 0 or a negative errno. */
int salvage_put_aside(const char *path, uint64_t now_realtime_ns, const char *reason, char **ret_note);
