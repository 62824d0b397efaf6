/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * File systems: used space
 *
 * The root file system is queried for each sample, so that its peak in a job is as recent as the other numbers. The
 * lookup of "/" passes no other mount. All others are queried at a longer interval than the tick, together with the
 * mount table, which can be long and tells which lookups cannot block; samples in between contain the last values with
 * their time.
 */

#include <stdint.h>

#include "measure/sample.h"
#include "sample/mounts.h"

typedef struct Filesystems {
        MountList mounts;
        SampleFilesystem *items; /* owned */
        size_t n, n_allocated;
        uint64_t boottime_ns; /* time of the last successful read; 0: never, or the last read failed; "/" is newer */
} Filesystems;

/* Releases the arrays; a zeroed struct is valid. */
void filesystems_deinit(Filesystems *filesystems);

/*
 * Reads the file systems that mounts_choose() selects from the mount table `text`. root: prefix of mount points, ""
 * for the machine itself, whose "/" is queried also if it is not in the table, as in a chroot. A file system that
 * returns an error is skipped. Returns 0, TEXT_MALFORMED or -ENOMEM.
 */
int filesystems_update(Filesystems *filesystems, const char *text, const char *root, uint64_t boottime_ns,
                       const char **ret_fault);

/*
 * Queries "/" again, without the mount table; root: as above. If the query fails, the root file system is absent
 * until the next filesystems_update().
 */
void filesystems_update_root(Filesystems *filesystems, const char *root);

/* Copies the latest values. Returns 0 or -ENOMEM. */
int filesystems_copy(const Filesystems *filesystems, Sample *sample);
