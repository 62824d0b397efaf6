/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SPDL database write: the intervals and events of a job as the SQLite file of SPDL's example of a statistics logger */

#include "client/spdl/spdl_database.h"
#include "value/value.h"

#define SPDL_DATABASE_EVENTS_PATH "/pipeline/events"

/* Answers of perfd to /api/v1/jobs/{id}/pipeline/intervals and events. */
typedef struct SpdlRows {
        const Value *intervals, *events;
} SpdlRows;

/*
 * Creates the file, which must not exist, with a row for each interval, and two for each event: NAME_start and NAME_stop. *ret_n: number of
 * rows. 0, or SPDL_DATABASE_INVALID: ret_error says why, and there is no file.
 */
int spdl_database_write(const char *path, const SpdlRows *rows, size_t *ret_n, char ret_error[static SPDL_DATABASE_ERROR_MAX]);
