/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/netfs.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample/host/equipment_reader.h"
#include "sample/host/mountstats.h"
#include "sample/kernel_file.h"
#include "sample/kernel_text.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/file.h"
#include "util/hash.h"

/* A text that is longer is read again after the time that it lasts at this rate. */
#define BYTES_PER_S ((size_t)256 << 10)
/* Without network file systems, mounts are read when they change, which only the kernel's own file tells, or then. */
#define NONE_NS (10 * NS_PER_S)
/* Statistics in files of their own that were not found are looked for again. */
#define SEARCH_NS KERNEL_FILE_RETRY_NS

_Static_assert(EQUIPMENT_NETFS_MAX == NETFS_LISTED_MAX + 1, "those that are listed, and the others");

/* Indexes of the texts of an item. */
enum { TEXT_FSTYPE, TEXT_SOURCE, TEXT_ERROR };

static const NetfsFiles *const own_files[] = { &lustre_files, &ceph_files };

typedef struct Superblock {
        uint64_t major, minor;
        size_t mount;   /* index of the mount that has its statistics, the first one */
        uint64_t age_s; /* of these, as last read */
        bool is_listed; /* else part of NETFS_OTHERS */
        const NetfsFiles *files; /* NULL: the statistics are in mountstats */
        bool was_read;
        SampleEquipment item;       /* as last read */
        KernelFile file;           /* of its own */
        char path[NETFS_PATH_MAX]; /* of this file; "": not found */
} Superblock;

typedef struct Netfs {
        int root_fd; /* borrowed */
        KernelFile stats_file, mountinfo_file;
        KernelText text, other_text;
        MountStatsList mounts; /* words are borrowed from `text` */
        Superblock *superblocks; /* owned */
        size_t n;
        bool has_any; /* or had */
        uint64_t listed_hash; /* of the mounts whose superblocks are listed; 0: to be listed again */
        uint64_t read_ns, next_ns, search_ns; /* time of the last reading, of the next one, of the next search */
        SampleEquipment others; /* without type */
        int outcome; /* of the last reading */
        const char *fault;
} Netfs;

static void prepare(void *state, const char *root) {
        Netfs *netfs = state;

        /* as the mounts of local file systems, see init_files() of the sampler */
        kernel_file_init(&netfs->stats_file, root[0] ? "proc/1/mountstats" : "proc/self/mountstats",
                         root[0] ? "proc/self/mountstats" : NULL, true);
        kernel_file_init(&netfs->mountinfo_file, root[0] ? "proc/1/mountinfo" : "proc/self/mountinfo",
                         root[0] ? "proc/self/mountinfo" : NULL, true);
        netfs->listed_hash = HASH_BEGIN; /* of no mounts */
        netfs->outcome = EQUIPMENT_NONE;
        netfs->others = (SampleEquipment){
                .kind = EQUIPMENT_NETFS, .is_counted = true, .is_new = true, .name = NETFS_OTHERS
        };
}

static void free_superblocks(Netfs *netfs) {
        for (size_t i = 0; i < netfs->n; i++)
                kernel_file_deinit(&netfs->superblocks[i].file);
        free(netfs->superblocks);
}

static void release(void *state) {
        Netfs *netfs = state;

        free_superblocks(netfs);
        free(netfs->mounts.items);
        kernel_file_deinit(&netfs->stats_file);
        kernel_file_deinit(&netfs->mountinfo_file);
        kernel_file_text_deinit(&netfs->text);
        kernel_file_text_deinit(&netfs->other_text);
        free(netfs);
}

/* --- the list of superblocks ---------------------------------------------------------------------- */

static bool is_same(Word a, Word b) {
        return a.n == b.n && memcmp(a.text, b.text, a.n) == 0;
}

/* Returns the line of mountinfo for a mount of mountstats, at or behind *at: both files are in the same order. NULL: it
 * was unmounted in between. */
static const Mount *find_mount(const MountList *list, const MountStats *stats, size_t *at) {
        for (size_t i = 0; i < list->n; i++) {
                const Mount *mount = &list->items[(*at + i) % list->n];

                if (!is_same(mount->point, stats->point) || !is_same(mount->type, stats->type))
                        continue;
                *at = (*at + i + 1) % list->n;
                return mount;
        }
        return NULL;
}

static Superblock *find_superblock(Superblock *superblocks, size_t n, const Mount *mount) {
        for (size_t i = 0; i < n; i++)
                if (superblocks[i].major == mount->major && superblocks[i].minor == mount->minor)
                        return &superblocks[i];
        return NULL;
}

/*
 * Describes a superblock that is added to a list. Its name remains even if it is mounted only elsewhere later: its
 * counters are known by it. Mounts are in the order of their age, so that those of the list before have their names.
 */
static void begin_superblock(Superblock *list, size_t n, const MountStats *stats, const Mount *mount) {
        Superblock *superblock = &list[n];
        SampleEquipment *item = &superblock->item;
        size_t n_listed = 0;
        bool is_taken = false;

        *superblock = (Superblock){ .major = mount->major,
                                    .minor = mount->minor,
                                    .item = { .kind = EQUIPMENT_NETFS, .is_counted = true },
                                    .file = { .long_lines = true, .fd = -1 } };
        (void)mounts_unescape(stats->type, item->texts[TEXT_FSTYPE], sizeof(item->texts[TEXT_FSTYPE]));
        (void)mounts_unescape(stats->source, item->texts[TEXT_SOURCE], sizeof(item->texts[TEXT_SOURCE]));
        (void)mounts_unescape(stats->point, item->name, sizeof(item->name));
        for (size_t i = 0; i < n; i++) {
                n_listed += list[i].is_listed;
                is_taken |= list[i].is_listed && strcmp(list[i].item.name, item->name) == 0;
        }
        if (is_taken)
                (void)snprintf(item->name + strnlen(item->name, 80), 48, " (%" PRIu64 ":%" PRIu64 ")", mount->major,
                               mount->minor);
        for (size_t i = 0; i < N_ELEMENTS(own_files); i++)
                if (strcmp(item->texts[TEXT_FSTYPE], own_files[i]->type) == 0)
                        superblock->files = own_files[i];
        superblock->is_listed = n_listed < NETFS_LISTED_MAX;
}

/* Makes the list again, with what is known of those of the list before. Returns 0 or -ENOMEM. */
static int list_superblocks(Netfs *netfs, const MountList *mounts) {
        Superblock *list = calloc(netfs->mounts.n + 1, sizeof(*list));
        size_t n = 0, at = 0;

        if (!list)
                return -ENOMEM;
        netfs->listed_hash = netfs->mounts.hash;
        netfs->search_ns = 0;
        for (size_t i = 0; i < netfs->mounts.n; i++) {
                const MountStats *stats = &netfs->mounts.items[i];
                const Mount *mount = find_mount(mounts, stats, &at);
                Superblock *before = mount ? find_superblock(netfs->superblocks, netfs->n, mount) : NULL;

                if (!mount)
                        netfs->listed_hash = 0;
                if (!mount || find_superblock(list, n, mount))
                        continue;
                /* the number of a superblock is used again */
                if (before && before->age_s <= stats->age_s) {
                        list[n] = *before;
                        before->file.fd = -1;
                } else
                        begin_superblock(list, n, stats, mount);
                list[n++].mount = i;
        }
        free_superblocks(netfs);
        netfs->superblocks = list;
        netfs->n = n;
        return 0;
}

/* --- values --------------------------------------------------------------------------------------- */

/* Adds what a superblock that is no item counted since it was read, or since it began. */
static void add_to_others(Netfs *netfs, const Superblock *superblock, const uint64_t before[static N_NETFS_VALUES]) {
        const SampleEquipment *item = &superblock->item;

        for (size_t i = 0; i < N_NETFS_VALUES; i++) {
                uint64_t now = item->values[i], base = superblock->was_read ? before[i] : item->is_new ? 0 : now;

                if (equipment_has(item, i))
                        equipment_set(&netfs->others, i, netfs->others.values[i] + (now < base ? now : now - base));
        }
}

/* Ends a reading of the values before, which were kept in *before. */
static void finish(Netfs *netfs, Superblock *superblock, const SampleEquipment *before) {
        if (!superblock->is_listed)
                add_to_others(netfs, superblock, before->values);
        superblock->was_read = true;
}

static void read_nfs(Netfs *netfs, Superblock *superblock, uint64_t now_ns) {
        const MountStats *stats = &netfs->mounts.items[superblock->mount];
        const SampleEquipment before = superblock->item;
        SampleEquipment *item = &superblock->item;

        superblock->was_read &= stats->age_s >= superblock->age_s; /* else it was mounted again */
        superblock->age_s = stats->age_s;
        item->have = 0;
        mountstats_parse_nfs(stats->statistics, item);
        /* the age is in whole seconds */
        item->is_new = !superblock->was_read && netfs->read_ns > 0 &&
                       stats->age_s <= (now_ns - netfs->read_ns) / NS_PER_S + 1;
        finish(netfs, superblock, &before);
}

static void put_error(Superblock *superblock, const char *path, const char *why) {
        (void)snprintf(superblock->item.texts[TEXT_ERROR], EQUIPMENT_TEXT_MAX, "%.60s: %.32s", path, why);
        superblock->path[0] = '\0';
        kernel_file_deinit(&superblock->file);
}

static bool is_taken(const Netfs *netfs, const char *path) {
        for (size_t i = 0; i < netfs->n; i++)
                if (strcmp(netfs->superblocks[i].path, path) == 0)
                        return true;
        return false;
}

static void search_files(Netfs *netfs, Superblock *superblock) {
        char path[NETFS_PATH_MAX];
        int error;

        for (size_t i = 0;; i++) {
                error = superblock->files->find(netfs->root_fd, superblock->item.texts[TEXT_SOURCE], i, path);
                if (error || !is_taken(netfs, path))
                        break;
        }
        if (error)
                put_error(superblock, path, error_text(error));
        else
                memcpy(superblock->path, path, sizeof(path));
}

/* Reads the file beside as well. Returns 0, an outcome with the reason, or -ENOMEM. */
static int parse_files(const Netfs *netfs, Superblock *superblock, const char **ret_fault) {
        const NetfsFiles *files = superblock->files;
        size_t n = strlen(superblock->path), n_leaf = files->leaf ? strlen(files->leaf) : 0;
        scoped(freep) char *text = NULL;
        char path[NETFS_PATH_MAX + 16];
        int r = files->parse(netfs->other_text.bytes, &superblock->item, ret_fault);

        if (r != 0 || n_leaf == 0 || n < n_leaf || strcmp(superblock->path + n - n_leaf, files->leaf) != 0)
                return r;
        (void)snprintf(path, sizeof(path), "%.*s%s", (int)(n - n_leaf), superblock->path, files->beside);
        r = file_read_at(netfs->root_fd, path, 4096, &text, NULL);
        if (r < 0)
                *ret_fault = error_text(-r);
        return r < 0 ? EQUIPMENT_FAILED : files->parse(text, &superblock->item, ret_fault);
}

/* Returns 0 or -ENOMEM. */
static int read_files(Netfs *netfs, Superblock *superblock, uint64_t now_ns) {
        const SampleEquipment before = superblock->item;
        const char *fault = "";
        int r, error = 0;

        superblock->item.have = 0;
        if (!superblock->path[0] && now_ns >= netfs->search_ns)
                search_files(netfs, superblock);
        if (!superblock->path[0])
                return 0;

        superblock->file.paths[0] = superblock->path; /* the superblock may have been moved */
        r = kernel_file_read(&superblock->file, netfs->root_fd, now_ns, &netfs->other_text, &error);
        if (r < 0)
                return r;
        if (r == 0 && parse_files(netfs, superblock, &fault) == 0) {
                superblock->item.texts[TEXT_ERROR][0] = '\0';
                finish(netfs, superblock, &before);
                return 0;
        }
        superblock->item.have = 0;
        put_error(superblock, superblock->path, error ? error_text(error) : fault);
        return 0;
}

/* --- reading -------------------------------------------------------------------------------------- */

static int fail(Netfs *netfs, const char *fault) {
        netfs->fault = fault;
        return EQUIPMENT_FAILED;
}

/* Reads mountinfo, and makes the list again. */
static int update_list(Netfs *netfs, uint64_t now_ns) {
        scoped(mount_list_deinit) MountList list = {};
        const char *fault;
        int r, error;

        r = kernel_file_read(&netfs->mountinfo_file, netfs->root_fd, now_ns, &netfs->other_text, &error);
        if (r != 0)
                return r < 0 ? r : fail(netfs, r == KERNEL_FILE_FAILED ? error_text(error) : netfs->fault);
        r = mounts_parse(netfs->other_text.bytes, &list, &fault);
        if (r != 0)
                return r < 0 ? r : fail(netfs, fault);
        return list_superblocks(netfs, &list);
}

/* Mountinfo stays open: changes are those since it was opened. */
static bool has_changed(const Netfs *netfs) {
        struct pollfd mountinfo = { .fd = netfs->mountinfo_file.fd, .events = POLLPRI };

        return netfs->n == 0 && poll(&mountinfo, 1, 0) > 0;
}

/* Reads the statistics of NFS. Returns 0, an outcome of a reader, or -ENOMEM. */
static int read_mounts(Netfs *netfs, uint64_t now_ns) {
        const char *fault;
        int r = 0, error = 0;

        if (netfs->mountinfo_file.fd < 0)
                r = kernel_file_read(&netfs->mountinfo_file, netfs->root_fd, now_ns, &netfs->other_text, &error);
        if (r < 0)
                return r;
        if (r == KERNEL_FILE_FAILED)
                netfs->fault = error_text(error);

        r = kernel_file_read(&netfs->stats_file, netfs->root_fd, now_ns, &netfs->text, &error);
        if (r < 0)
                return r;
        if (r == KERNEL_FILE_WAITING)
                return netfs->outcome;
        if (r == KERNEL_FILE_FAILED)
                return error == ENOENT && !netfs->has_any ? EQUIPMENT_NONE : fail(netfs, error_text(error));
        r = mountstats_parse(netfs->text.bytes, &netfs->mounts, &fault);
        if (r != 0)
                return r < 0 ? r : fail(netfs, fault);

        r = netfs->mounts.hash != netfs->listed_hash ? update_list(netfs, now_ns) : 0;
        if (r != 0)
                return r;
        for (size_t i = 0; i < netfs->n; i++)
                if (!netfs->superblocks[i].files)
                        read_nfs(netfs, &netfs->superblocks[i], now_ns);
        netfs->read_ns = now_ns;
        netfs->next_ns = netfs->n == 0                 ? now_ns + NONE_NS
                         : netfs->text.n > BYTES_PER_S ? now_ns + netfs->text.n * NS_PER_S / BYTES_PER_S
                                                       : 0;
        netfs->has_any |= netfs->n > 0;
        return netfs->has_any ? 0 : EQUIPMENT_NONE;
}

static int add_item(Netfs *netfs, SampleEquipment *item, Sample *sample) {
        SampleEquipment *added;
        int r = equipment_add(&sample->equipment, EQUIPMENT_NETFS, item->name, &added);

        if (r == EQUIPMENT_FULL)
                return fail(netfs, "too many items");
        if (r == 0)
                *added = *item;
        item->is_new = false;
        return r;
}

static int add_items(Netfs *netfs, Sample *sample) {
        size_t n_others = 0;
        int r = 0;

        for (size_t i = 0; i < netfs->n && r == 0; i++) {
                Superblock *superblock = &netfs->superblocks[i];

                if (superblock->files)
                        r = read_files(netfs, superblock, sample->boottime_ns);
                n_others += !superblock->is_listed;
                if (superblock->is_listed && r == 0)
                        r = add_item(netfs, &superblock->item, sample);
        }
        if (sample->boottime_ns >= netfs->search_ns)
                netfs->search_ns = sample->boottime_ns + SEARCH_NS;
        if (n_others == 0 || r != 0)
                return r;
        (void)snprintf(netfs->others.texts[TEXT_SOURCE], EQUIPMENT_TEXT_MAX, "%zu file systems", n_others);
        return add_item(netfs, &netfs->others, sample);
}

static int read_filesystems(void *state, Sample *sample, const char **ret_fault) {
        Netfs *netfs = state;
        int r;

        if (sample->boottime_ns >= netfs->next_ns || has_changed(netfs)) {
                r = read_mounts(netfs, sample->boottime_ns);
                if (r < 0)
                        return r;
                netfs->outcome = r;
        }
        r = netfs->outcome == 0 ? add_items(netfs, sample) : netfs->outcome;
        *ret_fault = netfs->fault;
        return r;
}

const EquipmentReader netfs_reader = {
        EQUIPMENT_STATE(Netfs), .prepare = prepare, .free = release, .read = read_filesystems
};
