/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Maintenance: checks, copies and salvages a database file for an administrator, even while perfd is running
 *
 * The file is opened read-only and by its path, without contacting perfd. For perfd, a check or a copy is a long
 * query: nothing waits for it, and the write-ahead log grows by the rows that are stored meanwhile.
 */

#include "util/buffer.h"

/* Findings and actions are appended to `text`, a line each. 0; an outcome, which `text` explains; or a negative
 * errno. */
enum {
        MAINTENANCE_DAMAGED = 1, /* the database has errors */
        MAINTENANCE_FAILED,      /* nothing was done */
};
int maintenance_check(const char *path, Buffer *text);
/* Writes a copy without unused pages; the target must not exist. */
int maintenance_backup(const char *path, const char *target, Buffer *text);
/* Writes the readable rows of a damaged file into a new database; the target must not exist. */
int maintenance_salvage(const char *damaged, const char *target, Buffer *text);
