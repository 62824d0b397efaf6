/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Spool: results and ends of jobs that perfd could not take yet
 *
 * Each Batch has a file, named after the time at which it was made, so that the names sort. A file has a JSON line for each result
 * and one for the end of the job. A file appears complete or not at all. Its sender holds a lock on the file; sending a file twice
 * would do no harm, since the ids stay the same. A file that perfd refuses for good is moved to rejected/, with the reason in a file
 * beside it.
 */

#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "request/request.h"
#include "util/arena.h"
#include "util/buffer.h"
#include "util/scoped.h"

/* Reports of one invocation to perfd: results, then the end of the job they came from. All members are borrowed. */
typedef struct Batch {
        const Submission *items;
        size_t n_items;
        const char *ended_job; /* NULL: no end */
        JobEnd end;
} Batch;

#define SPOOL_FILES_MAX 10000U
#define SPOOL_FILE_BYTES_MAX (64U * 1024U * 1024U)
#define SPOOL_NAME_MAX 64U

/*
 * `given`, else $PERFD_SPOOL, else for root /var/spool/perfd, else $XDG_STATE_HOME/perfd/spool/HOST: home directories are often shared
 * between nodes, and the results of one node are not for the perfd of another. 0, -ENOENT without $HOME, -ENAMETOOLONG.
 */
int spool_find_directory(const char *given, char ret[static PATH_MAX]);

/* Writes a batch to disk. ret_name: of the file. 0 or a negative errno; -ENOSPC also when the spool has SPOOL_FILES_MAX files. */
int spool_put(const char *directory, const Batch *batch, uint64_t realtime_ms, char ret_name[static SPOOL_NAME_MAX]);

/* Lists the files, oldest first; none without a spool. Caller frees with spool_entries_free(). 0 or a negative errno. */
int spool_list(const char *directory, struct dirent ***ret_entries, size_t *ret_n);
void spool_entries_free(struct dirent **entries, size_t n);

typedef struct SpoolFile {
        int fd; /* locked */
        char *text; /* owned */
        size_t n;
} SpoolFile;

enum {
        SPOOL_GONE = 1,  /* another process sends the file, or has sent it */
        SPOOL_MALFORMED, /* not written by this version of perfctl */
};

int spool_open(const char *directory, const char *name, SpoolFile *ret);
void spool_close(SpoolFile *file);
/* Removes a file that was sent. */
int spool_remove(const char *directory, const char *name);
/* Moves a file that was refused for good to rejected/. */
int spool_reject(const char *directory, const char *name, const char *reason);

/* Formats and parses the text of a file. All that *ret refers to is in the arena. 0, SPOOL_MALFORMED or a negative errno. */
int spool_format_batch(const Batch *batch, Buffer *out);
size_t spool_batch_arena_size(size_t n);
int spool_parse_batch(const char *text, size_t n, Arena *arena, Batch *ret);
