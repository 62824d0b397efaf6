/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Spool: what perfd could not take yet
 *
 * One file for each Batch, named after the time it was made, so that the names sort: JSON
 * lines, one for each result and one for the end. A file appears whole or not at all. Who sends
 * one holds its lock; sending it twice would do no harm, since the ids stay the same.
 * What perfd refuses for good goes to rejected/, with the reason in a file beside it.
 */

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
 * between nodes, and what one node's perfd could not take is not for another's. 0, -ENOENT without $HOME, -ENAMETOOLONG.
 */
int spool_find_directory(const char *given, char ret[static PATH_MAX]);

/* Keeps a batch, on disk when it returns 0. ret_name: of the file. -ENOSPC also when the spool holds SPOOL_FILES_MAX. */
int spool_put(const char *directory, const Batch *batch, uint64_t realtime_ms, char ret_name[static SPOOL_NAME_MAX]);

/* Names of the files, oldest first; 0 when there is no spool. Caller frees with spool_names_free(). */
int spool_list(const char *directory, char ***ret_names, size_t *ret_n);
void spool_names_free(char **names, size_t n);

typedef struct SpoolFile {
        int fd; /* locked */
        char *text; /* owned */
        size_t n;
} SpoolFile;

enum {
        SPOOL_GONE = 1,  /* somebody else has it, or had it */
        SPOOL_MALFORMED, /* not written by us */
};

int spool_open(const char *directory, const char *name, SpoolFile *ret);
void spool_close(SpoolFile *file);
/* Has been sent. */
int spool_remove(const char *directory, const char *name);
/* Was refused for good. */
int spool_reject(const char *directory, const char *name, const char *reason);

/* Text and back. Everything of *ret lies in the arena. 0, SPOOL_MALFORMED, or < 0. */
int spool_format_batch(const Batch *batch, Buffer *out);
size_t spool_batch_arena_size(size_t n);
int spool_parse_batch(const char *text, size_t n, Arena *arena, Batch *ret);
