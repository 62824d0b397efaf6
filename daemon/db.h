/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Db: implements `perfd --db`, which `perfctl db` runs, since only perfd uses SQLite */

/* Runs a command on the database in `directory`. Prints the result, and returns the exit status. */
int db_run(const char *directory, const char *command, char *const *files);
