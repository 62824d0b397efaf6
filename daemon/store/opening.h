/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opening: from a directory to a database that is ours, sound and of this version
 *
 * What an admin has to mend is an error: no such directory, no right to it. What may
 * pass by itself, a full disk or a failing one, is not: it can be tried again.
 */

#include <stdbool.h>

#include "store/database.h"

typedef struct Opening {
        char *path, *lock_path; /* owned */
        bool is_volatile;
        int lock_fd; /* -1 until the directory is ours */
} Opening;

/* 0 or -ENOMEM. */
int opening_init(Opening *opening, const char *directory, bool is_volatile);
void opening_deinit(Opening *opening);

/*
 * Takes the lock, opens or creates the file, migrates it; one that is corrupt is put aside and a new one begun. Again
 * as often as one likes. 0, then *ret_note (caller frees) may say what was done; a negative errno; or an outcome, then
 * *ret_note says why.
 */
enum {
        OPENING_TOO_NEW = 1, /* the file is of a later perfd */
        OPENING_LOCKED,      /* another perfd has it */
        OPENING_LATER,       /* not now: no space, I/O failed, a read-only file system */
};
int opening_open(Opening *opening, Database *ret, char **ret_note);
