/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Salvage: moves a damaged database aside, and its readable rows into the new one
 *
 * FILE is renamed to FILE.damaged-TIME, and to FILE.salvaged-TIME when its rows were moved: a salvage that was
 * interrupted is repeated at the next start, and stores no row twice. Rows to which other rows refer, and rows of
 * running jobs, come first, before other rows are stored; the rest follows in steps, newest rows first. Rows are
 * copied as they are, except as a table defines (store_subject.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "store/damage/damaged_file.h"
#include "store/damage/damaged_table.h"
#include "store/database/database.h"
#include "store/table/store_subject.h"

/* Renames the file with its write-ahead log. Of more than three damaged files, those whose rows were moved are removed,
 * the oldest first; else the newest but this one, because the first of several has most rows. *ret_note: a message
 * about it, also on failure; caller frees. 0 or a negative errno. */
int salvage_put_aside(const char *path, uint64_t now_realtime_ns, const char *reason, char **ret_note);
/* As above, for a file of an older version, whose rows cannot be moved into a new file. */
int salvage_put_older_aside(const char *path, uint64_t now_realtime_ns, int64_t version, char **ret_note);
/* Counts the files that were put aside, after removing them if `removes`. */
size_t salvage_find_copies(const char *path, bool removes);

typedef struct Salvage {
        char *path;        /* owned; the damaged file. NULL: there is nothing to salvage */
        DamagedFile *file; /* owned; NULL: not a database of perfd */
        size_t table;      /* number of the table that is being read, over all subjects */
        DamagedTable reading;
        sqlite3_stmt *insert, *restore, *exists; /* owned; of the table that is being read, see salvage.c */
        size_t source;                           /* index of the table, whose rows are counted */
        /* rows of an index that the new table lacks; the most of any index */
        uint64_t n_lost_of_index, n_lost_of_table;

        uint64_t n_rows;                     /* rows stored since the file was opened */
        /* rows that only an index still has, and pages that are missing or not readable */
        uint64_t n_rows_lost, n_pages_lost;
} Salvage;

/* Opens the newest file that was put aside from `path` and not salvaged. 0, also when there is none; or a negative
 * errno. */
int salvage_find(Salvage *salvage, const char *path);
/* Opens this file. */
int salvage_open(Salvage *salvage, const char *damaged_path);
void salvage_close(Salvage *salvage);

/*
 * One transaction each: the first rows, into a database that has no other rows or has these already; then the rest.
 * A step that failed is not repeated: open the file again. 0, an outcome of database.h, or a negative errno.
 * *ret_has_more: call again.
 */
int salvage_begin(Salvage *salvage, Database *database);
int salvage_step(Salvage *salvage, Database *database, bool *ret_has_more);
/* Renames the file and closes it. *ret_note: a message about it; caller frees. 0 or a negative errno. */
int salvage_end(Salvage *salvage, char **ret_note);

#define SALVAGE_LOSS_MAX 96
/* Writes how many rows and pages were not found; "" if none is missing. */
void salvage_describe_loss(const Salvage *salvage, char *ret, size_t n);
