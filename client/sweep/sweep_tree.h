/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep tree: the directory of a sweep
 *
 * Contains a directory for each point, in the layout of MatrixBenchmarking: settings.yaml, the output of the point,
 * and exit_code, which is written last. A point without a usable exit_code was not finished. A point is identified
 * by its settings and not by the name of its directory, so that the numbers may change from one start to the next.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/sweep/sweep_plan.h"

#define SWEEP_FILE_SETTINGS "settings.yaml"
#define SWEEP_FILE_SPECIFICATION "specification.json"
#define SWEEP_FILE_EXIT_CODE "exit_code"
#define SWEEP_FILE_STDOUT "stdout"
#define SWEEP_FILE_STDERR "stderr"
#define SWEEP_FILE_JOB "job"

#define SWEEP_DIRECTORY_MAX 200U /* bytes of the name of a point's directory */

typedef struct SweepRecord {
        char *identity;  /* sweep_text_identify() */
        char *directory; /* its name in the tree */
        bool is_done;    /* a usable exit_code exists */
        int exit_code;
} SweepRecord;

typedef struct SweepTree {
        char *path; /* owned; absolute */
        int fd;     /* of the directory, locked; -1: the directory does not exist */
        SweepRecord *records; /* owned, in order of identity; among equal identities, finished records come first */
        size_t n_records, n_allocated;
} SweepTree;

enum {
        SWEEP_TREE_BUSY = 1, /* another sweep runs in the directory */
};

/*
 * Opens the directory and reads its records. With `create`, makes the directory if necessary, and locks it. *ret
 * must own nothing. 0, SWEEP_TREE_BUSY or a negative errno.
 */
int sweep_tree_open(SweepTree *ret, const char *path, bool create);
void sweep_tree_deinit(SweepTree *tree);

/* Returns the record of settings, borrowed from the tree, or NULL. */
const SweepRecord *sweep_tree_find(const SweepTree *tree, const char *identity);
/* Finds the record of each point of the plan; NULL without a record. Caller frees the list; records are borrowed. 0
 * or -ENOMEM. */
int sweep_tree_match(const SweepTree *tree, const SweepPlan *plan, const SweepRecord ***ret);

/* Writes "007__threads=4__dtype=float32": at most SWEEP_DIRECTORY_MAX bytes of [A-Za-z0-9._=+,@%:-], and no "..". */
void sweep_tree_put_directory(Buffer *out, const SweepPlan *plan, const SweepPoint *point, size_t number);

/*
 * Makes the directory of a point, or uses the directory of its record, with settings.yaml and without exit_code.
 * *ret_path is absolute; caller frees. 0 or a negative errno.
 */
int sweep_tree_begin(const SweepTree *tree, const SweepPlan *plan, const SweepPoint *point, size_t number,
                     const SweepRecord *record, char **ret_path);
/* Writes a file of a point completely or not at all; a durable file survives a crash. 0 or a negative errno. */
int sweep_tree_write(const char *path, const char *file, const char *text, bool durable);
/* Writes exit_code. 0 or a negative errno. */
int sweep_tree_end(const char *path, int exit_code);

/* Parses a whole number, with blanks around it allowed. */
bool sweep_tree_parse_exit_code(const char *text, int *ret);
