/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/self/mountinfo: selects the file systems to query
 *
 * A query for the size of a file system must never block the loop; with an unreachable network server, even path
 * lookup through its mount blocks. Therefore only local disk file systems are selected, and only if all mounts on the
 * path are local as well and no other mount covers them. Doubtful file systems are skipped.
 */

#include <stddef.h>
#include <stdint.h>

/* Part of the text, not NUL-terminated, with octal escapes. */
typedef struct Word {
        const char *text;
        size_t n;
} Word;

typedef struct Mount {
        uint64_t id, parent_id;
        uint64_t major, minor;
        Word root;  /* mounted part of the file system: "/" unless it is a bind mount or a subvolume */
        Word point;
        Word type;
        Word options; /* of the file system: the last word of the line; for cgroup v1, the controllers */
} Mount;

/* Maximum number of selected mounts; the last ones are skipped. */
#define MOUNTS_CHOSEN_MAX 256

typedef struct MountList {
        Mount *items; /* owned; the words are borrowed from the parsed text */
        size_t n, n_allocated;
        size_t chosen[MOUNTS_CHOSEN_MAX]; /* indexes of items: "/" first, if selected */
        size_t n_chosen;
        size_t n_left_out; /* whole file systems beyond MOUNTS_CHOSEN_MAX */
} MountList;

/* Releases a list; an empty list is all zeros. */
void mount_list_deinit(MountList *list);

/* Returns 0, TEXT_MALFORMED or -ENOMEM; the list is empty on failure. */
int mounts_parse(const char *text, MountList *list, const char **ret_fault);

/*
 * Selects one mount of each local file system (major:minor): the one at "/", else one of the whole file system, else
 * the first. tmpfs and overlay are selected only at "/".
 */
void mounts_choose(MountList *list);

/* Decodes escapes such as \040, NUL-terminates and truncates to n_max. Returns the length before truncation. */
size_t mounts_unescape(Word word, char *ret, size_t n_max);
