/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SPDL database: the SQLite file into which SPDL's example of a statistics logger writes
 *
 * Each row of the tables task_stats and queue_stats becomes a line of pipeline_line.h, in the order of time; a start and a stop of the
 * garbage collector in event_stats become an event. libsqlite3 is loaded with dlopen(): no other command needs it.
 */

#include <stdbool.h>

#include "util/buffer.h"
#include "util/scoped.h"

typedef struct SpdlDatabase SpdlDatabase;

SpdlDatabase *spdl_database_free(SpdlDatabase *database);
DEFINE_SCOPED(SpdlDatabase, spdl_database_free);

/* Opens a file for reading. 0; SPDL_DATABASE_INVALID: ret_error says why; or -ENOMEM. */
enum {
        SPDL_DATABASE_INVALID = 1,
        SPDL_DATABASE_END,
};
#define SPDL_DATABASE_ERROR_MAX 320U
int spdl_database_open(SpdlDatabase **ret, const char *path, char ret_error[static SPDL_DATABASE_ERROR_MAX]);

/*
 * Writes the next row as a JSON object into the buffer, which is cleared before. 0; SPDL_DATABASE_END; SPDL_DATABASE_INVALID: the file is
 * damaged, ret_error says where; or -ENOMEM.
 */
int spdl_database_next(SpdlDatabase *database, Buffer *ret_line, char ret_error[static SPDL_DATABASE_ERROR_MAX]);
/* Describes the place of the row that was read last, such as "task_stats, row 12", for messages. Borrowed until the next call. */
const char *spdl_database_place(const SpdlDatabase *database);
