/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Spool: results and ends of jobs that perfd could not accept yet
 *
 * Each Batch is one file, named after its creation time so that names sort by age. A file contains a JSON line for
 * each result and one for the end of the job. Files are written atomically. The sender holds a lock on the file;
 * sending a file twice is harmless, since the ids stay the same. A file that perfd refuses permanently is moved to
 * rejected/, with the reason in a second file.
 */

#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "request/request.h"
#include "util/arena.h"
#include "util/buffer.h"
#include "util/scoped.h"

/* Reports of one invocation to perfd: results, then the end of the job. All members are borrowed. */
typedef struct Batch {
        const Submission *items;
        size_t n_items;
        const char *ended_job; /* NULL if no job ends */
        JobEnd end;
} Batch;

#define SPOOL_FILES_MAX 10000U
#define SPOOL_FILE_BYTES_MAX (64U * 1024U * 1024U)
#define SPOOL_NAME_MAX 64U

/*
 * Finds the directory: `given`, else $PERFD_SPOOL, else for root /var/spool/perfd, else
 * $XDG_STATE_HOME/perfd/spool/HOST. The host name is part of the path because home directories are often shared
 * between nodes, and the results of a node must go to its own perfd. Returns 0, -ENOENT without $HOME, or
 * -ENAMETOOLONG.
 */
int spool_find_directory(const char *given, char ret[static PATH_MAX]);

/*
 * Writes a batch to disk. ret_name: name of the file. Returns 0 or a negative errno; -ENOSPC also if the spool
 * already has SPOOL_FILES_MAX files.
 */
int spool_put(const char *directory, const Batch *batch, uint64_t realtime_ms, char ret_name[static SPOOL_NAME_MAX]);

/*
 * Lists the files, oldest first; an absent spool is an empty list. Caller frees with spool_entries_free(). Returns 0
 * or a negative errno.
 */
int spool_list(const char *directory, struct dirent ***ret_entries, size_t *ret_n);
void spool_entries_free(struct dirent **entries, size_t n);

#define SPOOL_REASON_MAX 96U

typedef struct SpoolFile {
        int fd; /* locked */
        char reason[SPOOL_REASON_MAX]; /* of SPOOL_ODD */
        char *text; /* owned */
        size_t n;
} SpoolFile;

enum {
        SPOOL_GONE = 1,  /* another process is sending or has sent the file */
        SPOOL_MALFORMED, /* not written by this version of perfctl */
        SPOOL_ODD,       /* not a file of this user that can be read: perfd would take its content for this user's */
};

int spool_open(const char *directory, const char *name, SpoolFile *ret);
void spool_close(SpoolFile *file);
/* Replaces a file by a batch. */
int spool_replace(const char *directory, const char *name, const Batch *batch);
/* Removes a file that was sent. */
int spool_remove(const char *directory, const char *name);
/* Moves a file that was refused for good to rejected/. */
int spool_reject(const char *directory, const char *name, const char *reason);

/*
 * Formats and parses the content of a file. All pointers in *ret are borrowed from the arena. Returns 0,
 * SPOOL_MALFORMED or a negative errno.
 */
int spool_format_batch(const Batch *batch, Buffer *out);
size_t spool_batch_arena_size(size_t n);
int spool_parse_batch(const char *text, size_t n, Arena *arena, Batch *ret);
