/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/self/mountinfo: which file systems to ask
 *
 * Asking for the size of a file system must never make the loop wait, and with a dead network server
 * even looking up a path that leads through its mount waits. So only real local types are chosen, and
 * only where everything on the way to them is local too and nothing is mounted over them. When in
 * doubt a file system is left out.
 */

#include <stddef.h>
#include <stdint.h>

/* A piece of the text, not NUL-terminated, with octal escapes still in it. */
typedef struct Word {
        const char *text;
        size_t n;
} Word;

typedef struct Mount {
        uint64_t id, parent_id;
        uint64_t major, minor;
        Word root;  /* what of the file system is mounted: "/" unless a bind mount or a subvolume */
        Word point;
        Word type;
        Word options; /* of the file system itself: the line's last word, for cgroup v1 its controllers */
} Mount;

/* More are left out, those mounted last. */
#define MOUNTS_CHOSEN_MAX 256

typedef struct MountList {
        Mount *items; /* owned; the words belong to the text that was parsed */
        size_t n, n_allocated;
        size_t chosen[MOUNTS_CHOSEN_MAX]; /* indexes of items: "/" first, if it is one */
        size_t n_chosen;
} MountList;

/* A zeroed list is valid and empty. */
void mount_list_deinit(MountList *list);

/* 0, TEXT_MALFORMED or -ENOMEM; the list is empty unless 0 is returned. */
int mounts_parse(const char *text, MountList *list, const char **ret_fault);

/* Chooses one mount of each local file system (major:minor): the one at "/", else one of the whole file
 * system, else the first. tmpfs and overlay count only at "/". */
void mounts_choose(MountList *list);

/* Replaces \040 and the like, NUL-terminates and cuts to n_max. Returns the length, before cutting. */
size_t mounts_unescape(Word word, char *ret, size_t n_max);
