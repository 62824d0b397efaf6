/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/filesystems.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>

#include "util/array.h"
#include "util/scoped.h"

void filesystems_deinit(Filesystems *filesystems) {
        mount_list_deinit(&filesystems->mounts);
        free(filesystems->items);
        *filesystems = (Filesystems){};
}

/*
 * Sets the sizes. Returns false if there are none, or the file system has no blocks. O_PATH does not mount what
 * belongs on an automount point.
 */
static bool query_sizes(const char *path, SampleFilesystem *filesystem) {
        scoped(closep) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct statfs st;
        uint64_t unit;

        if (fd < 0 || fstatfs(fd, &st) < 0 || st.f_blocks == 0 || st.f_type == AUTOFS_SUPER_MAGIC)
                return false;

        unit = (uint64_t)(st.f_frsize > 0 ? st.f_frsize : st.f_bsize);
        filesystem->size_bytes = st.f_blocks * unit;
        filesystem->free_bytes = st.f_bfree * unit;
        filesystem->available_bytes = st.f_bavail * unit;
        return true;
}

static bool query(const Mount *mount, const char *root, SampleFilesystem *ret) {
        char path[PATH_MAX];
        size_t n = strlen(root);

        memcpy(path, root, n);
        if (mounts_unescape(mount->point, path + n, sizeof(path) - n) >= sizeof(path) - n || !query_sizes(path, ret))
                return false;

        mounts_unescape(mount->point, ret->mount_point, sizeof(ret->mount_point));
        mounts_unescape(mount->type, ret->type, sizeof(ret->type));
        return true;
}

/* Returns true if "/" is a mount of its own. In a chroot, it can be a directory of a mount outside of the chroot. */
static bool has_root(const MountList *mounts) {
        for (size_t i = 0; i < mounts->n; i++)
                if (mounts->items[i].point.n == 1)
                        return true;
        return false;
}

/* Queries the file system that contains "/", which no line of the mount table describes. */
static bool query_unlisted_root(SampleFilesystem *ret) {
        static const struct {
                unsigned long magic;
                const char *type;
        } types[] = {
                { EXT4_SUPER_MAGIC, "ext4" },         { XFS_SUPER_MAGIC, "xfs" }, { BTRFS_SUPER_MAGIC, "btrfs" },
                { OVERLAYFS_SUPER_MAGIC, "overlay" }, { TMPFS_MAGIC, "tmpfs" },
        };
        struct statfs st;

        if (statfs("/", &st) < 0)
                return false;

        for (size_t i = 0; i < N_ELEMENTS(types); i++)
                if ((unsigned long)st.f_type == types[i].magic && query_sizes("/", ret)) {
                        strcpy(ret->mount_point, "/");
                        strcpy(ret->type, types[i].type);
                        return true;
                }
        return false;
}

int filesystems_update(Filesystems *filesystems, const char *text, const char *root, uint64_t boottime_ns,
                       const char **ret_fault) {
        MountList *mounts = &filesystems->mounts;
        int r;

        filesystems->n = 0;
        filesystems->boottime_ns = 0;

        r = mounts_parse(text, mounts, ret_fault);
        if (r != 0)
                return r;
        mounts_choose(mounts);

        r = ARRAY_RESERVE(filesystems->items, filesystems->n_allocated, mounts->n_chosen + 1);
        if (r < 0)
                return r;

        if (!root[0] && !has_root(mounts))
                filesystems->n += query_unlisted_root(filesystems->items);
        for (size_t i = 0; i < mounts->n_chosen; i++)
                filesystems->n += query(&mounts->items[mounts->chosen[i]], root,
                                      &filesystems->items[filesystems->n]);
        filesystems->boottime_ns = boottime_ns;
        return 0;
}

void filesystems_update_root(Filesystems *filesystems, const char *root) {
        if (filesystems->n == 0 || strcmp(filesystems->items[0].mount_point, "/") != 0)
                return;

        if (query_sizes(root[0] ? root : "/", &filesystems->items[0]))
                return;
        filesystems->n--;
        memmove(filesystems->items, filesystems->items + 1, filesystems->n * sizeof(*filesystems->items));
}

int filesystems_copy(const Filesystems *filesystems, Sample *sample) {
        int r;

        r = ARRAY_RESERVE(sample->filesystems, sample->allocated.n_filesystems, filesystems->n);
        if (r < 0)
                return r;

        if (filesystems->n > 0)
                memcpy(sample->filesystems, filesystems->items, filesystems->n * sizeof(SampleFilesystem));
        sample->n_filesystems = filesystems->n;
        sample->n_filesystems_left_out = filesystems->mounts.n_left_out;
        sample->filesystems_boottime_ns = filesystems->boottime_ns;
        return 0;
}
