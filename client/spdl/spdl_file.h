/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SPDL file: statistics of pipelines in any file of SPDL: a database, an export or a log
 *
 * The kind is recognized by the content. Each interval becomes a line of pipeline_line.h.
 */

#include "client/spdl/spdl_database.h"
#include "client/spdl/spdl_table.h"

/* Initialize with zeros. */
typedef struct SpdlFile {
        SpdlDatabase *database; /* owned; NULL: the rows are in the table */
        SpdlTable table;
        size_t next;            /* row of the table */
        char place[SPDL_TABLE_PLACE_MAX];
} SpdlFile;

typedef struct SpdlFileOptions {
        bool needs_times; /* of all rows. If all have times, they are ordered by time */
        double begin_s;   /* Unix time at which the pipelines began, for rows without a time; NAN: unknown */
} SpdlFileOptions;

void spdl_file_deinit(SpdlFile *file);

enum {
        SPDL_FILE_INVALID = 1, /* ret_error says why */
        SPDL_FILE_END,
};
#define SPDL_FILE_ERROR_MAX 512U
_Static_assert(SPDL_FILE_ERROR_MAX >= SPDL_DATABASE_ERROR_MAX && SPDL_FILE_ERROR_MAX >= SPDL_TABLE_ERROR_MAX, "errors fit");

/* Opens a file, "-" for standard input. Returns 0, SPDL_FILE_INVALID or -ENOMEM. Call spdl_file_deinit() in all cases. */
int spdl_file_open(SpdlFile *file, const char *path, const SpdlFileOptions *options, char ret_error[static SPDL_FILE_ERROR_MAX]);

/*
 * Writes the next row as a JSON object into the buffer, which is cleared before. 0; SPDL_FILE_END; SPDL_FILE_INVALID: the file is damaged;
 * or -ENOMEM.
 */
int spdl_file_next(SpdlFile *file, Buffer *ret_line, char ret_error[static SPDL_FILE_ERROR_MAX]);
/* Describes the place of the row that was read last, for messages. Borrowed until the next call. */
const char *spdl_file_place(const SpdlFile *file);
