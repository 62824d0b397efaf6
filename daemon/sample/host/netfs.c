/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/netfs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample/host/lustre.h"
#include "sample/host/mountstats.h"
#include "sample/kernel_file.h"
#include "sample/kernel_text.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/error_text.h"

/* A text that is longer is read again after the time that it lasts at this rate. */
#define BYTES_PER_S ((size_t)256 << 10)
/* Statistics of Lustre that were not found are looked for again. */
#define SEARCH_NS KERNEL_FILE_RETRY_NS
#define NO_SUPERBLOCK SIZE_MAX

/* Indexes of the texts of an item. */
enum { TEXT_FSTYPE, TEXT_SOURCE, TEXT_ERROR };

typedef struct Superblock {
        uint64_t major, minor;
        uint64_t list_no; /* of the last list with a mount of it */
        bool is_listed;   /* else part of NETFS_OTHERS */
        bool was_read;
        SampleEquipment item;        /* as last read */
        KernelFile file;             /* of Lustre */
        char path[LUSTRE_PATH_MAX];  /* of this file; "": not found */
} Superblock;

typedef struct Netfs {
        int root_fd; /* borrowed */
        KernelFile stats_file, mountinfo_file;
        KernelText text, other_text;
        MountStatsList mounts; /* words are borrowed from `text` */
        size_t *superblock_of; /* owned: of each mount with statistics, else NO_SUPERBLOCK */
        size_t n_allocated_of;
        Superblock *superblocks; /* owned; those that are not in the last list are free */
        size_t n, n_allocated;
        uint64_t list_no;
        uint64_t listed_hash; /* of the mounts in the list; 0: to be listed again */
        uint64_t read_ns, next_ns, search_ns; /* time of the last reading, of the next one, of the next search */
        SampleEquipment others; /* without type */
        int outcome; /* of the last reading */
        const char *fault;
} Netfs;

static int prepare(void **ret, const char *root, int root_fd) {
        Netfs *netfs = calloc(1, sizeof(*netfs));

        if (!netfs)
                return -ENOMEM;
        netfs->root_fd = root_fd;
        /* as the mounts of local file systems, see init_files() of the sampler */
        kernel_file_init(&netfs->stats_file, root[0] ? "proc/1/mountstats" : "proc/self/mountstats",
                         root[0] ? "proc/self/mountstats" : NULL, true);
        kernel_file_init(&netfs->mountinfo_file, root[0] ? "proc/1/mountinfo" : "proc/self/mountinfo",
                         root[0] ? "proc/self/mountinfo" : NULL, true);
        netfs->outcome = EQUIPMENT_NONE;
        netfs->others = (SampleEquipment){
                .kind = EQUIPMENT_NETFS, .is_counted = true, .is_new = true, .name = NETFS_OTHERS
        };
        *ret = netfs;
        return 0;
}

static void release(void *state) {
        Netfs *netfs = state;

        for (size_t i = 0; i < netfs->n; i++)
                kernel_file_deinit(&netfs->superblocks[i].file);
        free(netfs->superblocks);
        free(netfs->superblock_of);
        free(netfs->mounts.items);
        kernel_file_deinit(&netfs->stats_file);
        kernel_file_deinit(&netfs->mountinfo_file);
        kernel_file_text_deinit(&netfs->text);
        kernel_file_text_deinit(&netfs->other_text);
        free(netfs);
}

/* --- the list of superblocks ---------------------------------------------------------------------- */

static bool is_mounted(const Netfs *netfs, const Superblock *superblock) {
        return superblock->list_no == netfs->list_no;
}

static bool is_lustre(const Superblock *superblock) {
        return strcmp(superblock->item.texts[TEXT_FSTYPE], "lustre") == 0;
}

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

/* Returns the index of the superblock of a mount, of this list or the one before; NO_SUPERBLOCK if it is new. */
static size_t find_superblock(const Netfs *netfs, const Mount *mount, size_t hint) {
        for (size_t i = 0; i < netfs->n; i++) {
                size_t at = (hint + i) % netfs->n;
                const Superblock *superblock = &netfs->superblocks[at];

                if (superblock->list_no + 1 >= netfs->list_no && superblock->major == mount->major &&
                    superblock->minor == mount->minor)
                        return at;
        }
        return NO_SUPERBLOCK;
}

/* Returns the number of superblocks of this list or the one before that are items; *ret_free: index of a free one. */
static size_t count_listed(const Netfs *netfs, size_t *ret_free) {
        size_t n = 0;

        *ret_free = netfs->n;
        for (size_t i = 0; i < netfs->n; i++)
                if (netfs->superblocks[i].list_no + 1 >= netfs->list_no)
                        n += netfs->superblocks[i].is_listed;
                else
                        *ret_free = i;
        return n;
}

static bool has_name(const Netfs *netfs, const char *name) {
        for (size_t i = 0; i < netfs->n; i++)
                if (netfs->superblocks[i].list_no + 1 >= netfs->list_no && netfs->superblocks[i].is_listed &&
                    strcmp(netfs->superblocks[i].item.name, name) == 0)
                        return true;
        return false;
}

/* The name remains even if the superblock is mounted only elsewhere later: its counters are known by it. */
static void name_superblock(const Netfs *netfs, Superblock *superblock, const MountStats *stats) {
        SampleEquipment *item = &superblock->item;
        char name[EQUIPMENT_NAME_MAX];

        (void)mounts_unescape(stats->type, item->texts[TEXT_FSTYPE], sizeof(item->texts[TEXT_FSTYPE]));
        (void)mounts_unescape(stats->source, item->texts[TEXT_SOURCE], sizeof(item->texts[TEXT_SOURCE]));
        (void)mounts_unescape(stats->point, name, sizeof(name));
        if (superblock->is_listed && has_name(netfs, name))
                (void)snprintf(item->name, sizeof(item->name), "%.80s (%" PRIu64 ":%" PRIu64 ")", name,
                               superblock->major, superblock->minor);
        else
                memcpy(item->name, name, sizeof(name));
}

/* Returns 0 or -ENOMEM. */
static int add_superblock(Netfs *netfs, const MountStats *stats, const Mount *mount, size_t *ret_at) {
        Superblock new = { .major = mount->major,
                           .minor = mount->minor,
                           .is_listed = count_listed(netfs, ret_at) < NETFS_LISTED_MAX,
                           .item = { .kind = EQUIPMENT_NETFS, .is_counted = true },
                           .file = { .long_lines = true, .fd = -1 } };

        name_superblock(netfs, &new, stats);
        if (ARRAY_RESERVE(netfs->superblocks, netfs->n_allocated, *ret_at + 1) < 0)
                return -ENOMEM;
        netfs->superblocks[*ret_at] = new;
        netfs->n += *ret_at == netfs->n;
        return 0;
}

/* Finds the superblock of each mount; the first mount of each has its statistics. Returns 0 or -ENOMEM. */
static int list_superblocks(Netfs *netfs, const MountList *list) {
        size_t at = 0, hint = 0, found;

        if (ARRAY_RESERVE(netfs->superblock_of, netfs->n_allocated_of, netfs->mounts.n) < 0)
                return -ENOMEM;
        netfs->list_no++;
        netfs->listed_hash = netfs->mounts.hash;
        netfs->search_ns = 0;
        for (size_t i = 0; i < netfs->mounts.n; i++) {
                const Mount *mount = find_mount(list, &netfs->mounts.items[i], &at);

                netfs->superblock_of[i] = NO_SUPERBLOCK;
                if (!mount) {
                        netfs->listed_hash = 0;
                        continue;
                }
                found = find_superblock(netfs, mount, hint);
                if (found == NO_SUPERBLOCK && add_superblock(netfs, &netfs->mounts.items[i], mount, &found) < 0)
                        return -ENOMEM;
                if (!is_mounted(netfs, &netfs->superblocks[found]))
                        netfs->superblock_of[i] = found;
                netfs->superblocks[found].list_no = netfs->list_no;
                hint = found + 1;
        }
        for (size_t i = 0; i < netfs->n; i++)
                if (!is_mounted(netfs, &netfs->superblocks[i]))
                        kernel_file_deinit(&netfs->superblocks[i].file);
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

static void read_nfs(Netfs *netfs, Superblock *superblock, const char *statistics, uint64_t now_ns) {
        const SampleEquipment before = superblock->item;
        SampleEquipment *item = &superblock->item;
        uint64_t age_s;

        item->have = 0;
        mountstats_parse_nfs(statistics, item, &age_s);
        /* the age is in whole seconds */
        item->is_new = !superblock->was_read && netfs->read_ns > 0 &&
                       age_s <= (now_ns - netfs->read_ns) / NS_PER_S + 1;
        finish(netfs, superblock, &before);
}

static void put_error(Superblock *superblock, const char *path, const char *why) {
        (void)snprintf(superblock->item.texts[TEXT_ERROR], EQUIPMENT_TEXT_MAX, "%.60s: %.32s", path, why);
        superblock->path[0] = '\0';
}

static bool is_taken(const Netfs *netfs, const char *path) {
        for (size_t i = 0; i < netfs->n; i++)
                if (is_mounted(netfs, &netfs->superblocks[i]) && strcmp(netfs->superblocks[i].path, path) == 0)
                        return true;
        return false;
}

static void search_lustre(Netfs *netfs, Superblock *superblock) {
        char path[LUSTRE_PATH_MAX];
        int error;

        for (size_t i = 0;; i++) {
                error = lustre_find(netfs->root_fd, superblock->item.texts[TEXT_SOURCE], i, path);
                if (error || !is_taken(netfs, path))
                        break;
        }
        if (error)
                put_error(superblock, path, error_text(error));
        else
                memcpy(superblock->path, path, sizeof(path));
}

/* Returns 0 or -ENOMEM. */
static int read_lustre(Netfs *netfs, Superblock *superblock, uint64_t now_ns) {
        const SampleEquipment before = superblock->item;
        const char *fault = "";
        int r, error = 0;

        superblock->item.have = 0;
        if (!superblock->path[0] && now_ns >= netfs->search_ns)
                search_lustre(netfs, superblock);
        if (!superblock->path[0])
                return 0;

        superblock->file.paths[0] = superblock->path; /* the superblock may have been moved */
        r = kernel_file_read(&superblock->file, netfs->root_fd, now_ns, &netfs->other_text, &error);
        if (r < 0)
                return r;
        if (r == 0 && lustre_parse(netfs->other_text.bytes, &superblock->item, &fault) == 0) {
                superblock->item.texts[TEXT_ERROR][0] = '\0';
                finish(netfs, superblock, &before);
        } else
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

/* Reads the statistics of NFS. Returns 0, an outcome of a reader, or -ENOMEM. */
static int read_mounts(Netfs *netfs, uint64_t now_ns) {
        const char *fault;
        int r, error = 0;

        r = kernel_file_read(&netfs->stats_file, netfs->root_fd, now_ns, &netfs->text, &error);
        if (r < 0)
                return r;
        if (r == KERNEL_FILE_WAITING)
                return netfs->outcome;
        if (r == KERNEL_FILE_FAILED)
                return error == ENOENT && netfs->n == 0 ? EQUIPMENT_NONE : fail(netfs, error_text(error));
        r = mountstats_parse(netfs->text.bytes, &netfs->mounts, &fault);
        if (r != 0)
                return r < 0 ? r : fail(netfs, fault);

        r = netfs->mounts.hash != netfs->listed_hash ? update_list(netfs, now_ns) : 0;
        if (r != 0)
                return r;
        for (size_t i = 0; i < netfs->mounts.n; i++) {
                size_t at = netfs->superblock_of[i];

                if (at != NO_SUPERBLOCK && !is_lustre(&netfs->superblocks[at]))
                        read_nfs(netfs, &netfs->superblocks[at], netfs->mounts.items[i].statistics, now_ns);
        }
        netfs->read_ns = now_ns;
        netfs->next_ns = netfs->text.n > BYTES_PER_S ? now_ns + netfs->text.n * NS_PER_S / BYTES_PER_S : 0;
        return netfs->n > 0 ? 0 : EQUIPMENT_NONE;
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

                if (!is_mounted(netfs, superblock))
                        continue;
                if (is_lustre(superblock))
                        r = read_lustre(netfs, superblock, sample->boottime_ns);
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

/* A node that had a network file system once has none of them now, which is no reason to forget what it counted. */
static int read_filesystems(void *state, Sample *sample, const char **ret_fault) {
        Netfs *netfs = state;
        int r;

        if (sample->boottime_ns >= netfs->next_ns) {
                r = read_mounts(netfs, sample->boottime_ns);
                if (r < 0)
                        return r;
                netfs->outcome = r;
        }
        r = netfs->outcome == 0 ? add_items(netfs, sample) : netfs->outcome;
        *ret_fault = netfs->fault;
        return r;
}

const EquipmentReader netfs_reader = { prepare, release, read_filesystems };
