/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opening: opens a valid database of this version in a directory
 *
 * A missing directory or permission, which an administrator has to fix, is an error. A full or failing disk, which
 * may recover, is an outcome: opening can be tried again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "store/database/database.h"
#include "util/clock.h"

typedef struct Opening {
        char *directory, *path, *lock_path; /* owned */
        bool is_volatile;
        int lock_fd; /* -1 until the directory is locked */
        bool has_found_damage; /* the last opening moved a damaged file aside */
        uint64_t replaced_ns; /* CLOCK_BOOTTIME at which a damaged file was last moved aside; 0: never */
        uint64_t n_log_frames; /* of the log, that were damaged or behind damaged ones at that opening */
} Opening;

/* 0 or -ENOMEM. */
int opening_init(Opening *opening, const char *directory, bool is_volatile);
void opening_deinit(Opening *opening);

/* Opens or creates one file, without the lock. 0, an outcome of database.h (DATABASE_REFUSED: a newer or older perfd
 * wrote the file), or a negative errno. */
int opening_open_file(const char *path, Database *ret);

/* True if `error`, SQLite's message about the file, only means that the file has tables of a newer SQLite. */
bool opening_is_of_newer_library(const char *path, const char *error);

/* Minimum time between two files that are moved aside as damaged, for a disk that damages each new file. */
#define OPENING_REPLACEMENT_INTERVAL_NS (60 * NS_PER_S)

/* Takes the lock, opens or creates the file; moves a corrupt or older file aside and creates a new one. Can be
 * repeated.
 * 0: *ret_note (caller frees) may describe what was done; a negative errno; or an outcome: *ret_note has the reason. */
enum {
        OPENING_UNSUPPORTED = 1, /* a newer perfd or SQLite wrote the file, or the SQLite library is too old */
        OPENING_LOCKED,          /* another perfd uses the directory */
        OPENING_LATER, /* temporary: no space, an I/O error, a read-only file system, two damaged files in a minute */
};
int opening_open(Opening *opening, Database *ret, char **ret_note);
