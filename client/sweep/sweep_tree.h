/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep tree: the directory of a sweep
 *
 * A directory for each point, in the layout of MatrixBenchmarking: settings.yaml, what the point wrote, and exit_code,
 * which is written last. One without a usable exit_code was not finished. What a point is, its settings say and
 * not its directory's name, so that the numbers may change from one start to the next.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/sweep/sweep_plan.h"

#define SWEEP_FILE_SETTINGS "settings.yaml"
#define SWEEP_FILE_EXIT_CODE "exit_code"
#define SWEEP_FILE_STDOUT "stdout"
#define SWEEP_FILE_STDERR "stderr"
#define SWEEP_FILE_JOB "job"

typedef struct SweepRecord {
        char *identity;  /* sweep_text_identify() */
        char *directory; /* its name in the tree */
        bool is_done;    /* it has a usable exit_code */
        int exit_code;
} SweepRecord;

typedef struct SweepTree {
        char *path; /* owned; absolute */
        int fd;     /* of the directory, locked; -1: it is not there */
        SweepRecord *records; /* owned, in order of identity; of equal ones the done come first */
        size_t n_records, n_allocated;
} SweepTree;

enum {
        SWEEP_TREE_BUSY = 1, /* another sweep is at work there */
};

/*
 * Opens the directory and reads what is recorded. With `create` it is made where it is not there, and locked. *ret must own
 * nothing. 0, SWEEP_TREE_BUSY or a negative errno.
 */
int sweep_tree_open(SweepTree *ret, const char *path, bool create);
void sweep_tree_deinit(SweepTree *tree);

/* NULL: there is none. Borrowed from the tree. */
const SweepRecord *sweep_tree_find(const SweepTree *tree, const char *identity);

/*
 * Makes the point's directory, or takes the one it has, with settings.yaml and without exit_code. *ret_path is absolute; caller
 * frees. 0 or a negative errno.
 */
int sweep_tree_begin(const SweepTree *tree, const SweepPlan *plan, const SweepPoint *point, size_t number, const SweepRecord *record,
                     char **ret_path);
/* Writes exit_code, whole or not at all. 0 or a negative errno. */
int sweep_tree_end(const char *path, int exit_code);

/* A whole number, blanks around it allowed. */
bool sweep_tree_parse_exit_code(const char *text, int *ret);
