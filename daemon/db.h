/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Db: the work of `perfd --db`, which `perfctl db` starts, because only perfd speaks to SQLite */

/* directory: of the store. Prints what was done, and returns the exit status. */
int db_run(const char *directory, const char *command, char *const *files);
