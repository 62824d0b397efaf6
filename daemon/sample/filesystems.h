/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * File systems: how full they are
 *
 * Asked with statvfs(3) once in a while, not every tick: nobody needs it finer, and a mount table can be
 * long. In between, every sample gets the numbers of the last time, with that time.
 */

#include <stdint.h>

#include "measure/sample.h"
#include "sample/mounts.h"

typedef struct Filesystems {
        MountList mounts;
        SampleFilesystem *items; /* owned */
        size_t n, n_allocated;
        uint64_t boottime_ns; /* when they were asked; 0: never, or in vain the last time */
} Filesystems;

/* A zeroed one is valid and was never asked. */
void filesystems_deinit(Filesystems *filesystems);

/* Asks those of the mount table `text` that can be asked. `root` is what to put before a mount point,
 * "" for the machine itself. What does not answer is left out. 0, TEXT_MALFORMED or -ENOMEM. */
int filesystems_update(Filesystems *filesystems, const char *text, const char *root, uint64_t boottime_ns,
                       const char **ret_fault);

/* Copies the latest numbers. 0 or -ENOMEM. */
int filesystems_copy(const Filesystems *filesystems, Sample *sample);
