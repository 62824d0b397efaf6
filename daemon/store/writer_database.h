/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writer database: the connection of the writer
 *
 * Opens the file, replaces a damaged file with a new one, and reports the state of both. Called by the writer's thread, or before the
 * thread starts.
 */

#include "store/writer_state.h"

/* As opening_open(). A writer that is started without a database tries repeatedly to open it, and fails all rows until then. */
int writer_database_open(Writer *writer, char **ret_note);
/* Opens the database if it is closed and the last attempt was some seconds ago. */
void writer_database_open_if_due(Writer *writer);

/*
 * Finds the next damaged file beside the database, and moves its rows on which others depend into the database, before any other row
 * is stored. 0, also if there is no such file; or an outcome of database.h.
 */
int writer_database_begin_salvage(Writer *writer);

/*
 * Stores nothing more in a damaged file. A new file is used at once, unless the file before was damaged a moment ago; otherwise the
 * database stays closed. Queries that wait, and queries to come, open the new file. The reason is the writer's last failure.
 */
void writer_database_condemn(Writer *writer);
/* As writer_database_condemn(), if a query has found a damaged page. */
void writer_database_condemn_if_damaged(Writer *writer);

/*
 * Keeps the message of a failure, r, for reports; explanation: replaces SQLite's message, or NULL. Call directly after the call that
 * failed, while the connection still has the message.
 */
void writer_database_keep_failure(Writer *writer, int r, const char *explanation);
/* Reports the kept message. */
void writer_database_note_failure(Writer *writer, int r);
/* Keeps and reports a failure, and rolls back, or condemns a damaged file. Call directly after the call that failed. */
void writer_database_handle_failure(Writer *writer, int r);
/* Reports the sizes of the file and of its log. */
void writer_database_note_size(Writer *writer);
