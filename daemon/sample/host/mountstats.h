/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/self/mountstats: the mounts of network file systems, and the statistics of NFS
 *
 * The kernel counts for each superblock of NFS, not for each mount: homes that an automounter mounts from one exported
 * file system share one, and each of their mounts has its numbers.
 */

#include <stdbool.h>

#include "measure/equipment.h"
#include "sample/mounts.h"

typedef struct MountStats {
        Word source, point, type; /* with octal escapes, as in mountinfo */
        const char *statistics;   /* the lines behind, which begin with a tab */
        uint64_t age_s;           /* time since they began; UINT64_MAX: unknown */
} MountStats;

/* All are borrowed from the parsed text. */
typedef struct MountStatsList {
        MountStats *items; /* owned */
        size_t n, n_allocated;
        uint64_t hash; /* of the names */
} MountStatsList;

/* Keeps the mounts of NFS, Lustre and CephFS. Returns 0, TEXT_MALFORMED or -ENOMEM. */
int mountstats_parse(const char *text, MountStatsList *list, const char **ret_fault);

/* Sets the values of an item from the statistics of NFS, 1.0 and 1.1. A value that is not there is left out. */
void mountstats_parse_nfs(const char *statistics, SampleEquipment *item);
