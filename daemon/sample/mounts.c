/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/mounts.h"

#include <errno.h>
#include <stdbool.h>

#include "sample/kernel_text.h"
#include "util/array.h"
#include "util/scan.h"

void mount_list_deinit(MountList *list) {
        free(list->items);
        *list = (MountList){};
}

/* --- parsing ------------------------------------------------------------------------------------ */

/* Returns the end of the next word of the line; NULL if there is none. Words are separated by single blanks. */
static const char *scan_word(const char *p, Word *ret) {
        p = scan_blanks(p);
        *ret = (Word){ p, strcspn(p, " \n") };
        return ret->n > 0 ? p + ret->n : NULL;
}

/* Parses "98:0". */
static const char *scan_device(const char *p, Mount *mount) {
        p = scan_u64(p, &mount->major);
        if (!p || *p != ':')
                return NULL;
        return scan_u64(p + 1, &mount->minor);
}

/* Returns the last word of a line; empty if there is none. */
static Word last_word(const char *p) {
        Word word = { p, 0 }, next;

        while ((p = scan_word(p, &next)))
                word = next;
        return word;
}

/*
 * Parses "36 35 98:0 /root /point options optional… - type source options". Returns the start of the next line, or
 * NULL.
 */
static const char *scan_mount(const char *p, Mount *mount) {
        Word word;

        p = scan_u64(p, &mount->id);
        p = p ? scan_u64(p, &mount->parent_id) : NULL;
        p = p ? scan_device(p, mount) : NULL;
        p = p ? scan_word(p, &mount->root) : NULL;
        p = p ? scan_word(p, &mount->point) : NULL;

        /* skips the optional fields up to the dash */
        do
                p = p ? scan_word(p, &word) : NULL;
        while (p && !(word.n == 1 && *word.text == '-'));

        p = p ? scan_word(p, &mount->type) : NULL;
        if (!p)
                return NULL;

        /* taken from the end of the line, since the source may be empty */
        mount->options = last_word(p);
        return kernel_text_next_line(p);
}

int mounts_parse(const char *text, MountList *list, const char **ret_fault) {
        list->n = 0;
        list->n_chosen = 0;

        while (*text) {
                if (ARRAY_RESERVE(list->items, list->n_allocated, list->n + 1) < 0) {
                        list->n = 0;
                        return -ENOMEM;
                }

                text = scan_mount(text, &list->items[list->n++]);
                if (!text) {
                        list->n = 0;
                        return kernel_text_malformed("a line that is not a mount", ret_fault);
                }
        }

        return list->n > 0 ? 0 : kernel_text_malformed("no mounts", ret_fault);
}

static int octal_digit(char c) {
        return c >= '0' && c <= '7' ? c - '0' : -1;
}

size_t mounts_unescape(Word word, char *ret, size_t n_max) {
        size_t n = 0;

        for (size_t i = 0; i < word.n; i++, n++) {
                const char *p = word.text + i;
                char c = *p;

                if (c == '\\' && word.n - i > 3 && octal_digit(p[1]) >= 0 && octal_digit(p[2]) >= 0 &&
                    octal_digit(p[3]) >= 0) {
                        c = (char)(octal_digit(p[1]) << 6 | octal_digit(p[2]) << 3 | octal_digit(p[3]));
                        i += 3;
                }
                if (n + 1 < n_max)
                        ret[n] = c;
        }

        ret[n < n_max ? n : n_max - 1] = '\0';
        return n;
}

/* --- selection ---------------------------------------------------------------------------------- */

static bool word_equals(Word word, const char *text) {
        return strlen(text) == word.n && memcmp(word.text, text, word.n) == 0;
}

static bool is_one_of(Word word, const char *const *texts, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (word_equals(word, texts[i]))
                        return true;
        return false;
}

/* Returns true if the file system is on a disk of this machine. */
static bool is_local(const Mount *mount) {
        static const char *const types[] = {
                "ext4", "xfs", "btrfs", "zfs", "vfat", "ext3", "ext2", "f2fs", "bcachefs",
        };

        return is_one_of(mount->type, types, N_ELEMENTS(types));
}

/*
 * Returns true if the file system is in memory or stacked on others: path lookup through it never waits for a server.
 */
static bool is_nonblocking(const Mount *mount) {
        static const char *const types[] = {
                "overlay", "tmpfs", "rootfs", "ramfs", "devtmpfs", "squashfs", "erofs",
        };

        return is_one_of(mount->type, types, N_ELEMENTS(types));
}

static bool is_wanted(const Mount *mount) {
        if (word_equals(mount->point, "/"))
                return is_local(mount) || word_equals(mount->type, "overlay") || word_equals(mount->type, "tmpfs");
        return is_local(mount);
}

/* Returns true if the lookup of `path` passes the directory `point`. */
static bool is_on_path(Word path, Word point) {
        if (word_equals(point, "/"))
                return true;
        return point.n <= path.n && memcmp(point.text, path.text, point.n) == 0 &&
               (point.n == path.n || path.text[point.n] == '/');
}

static const Mount *find(const MountList *list, uint64_t id) {
        for (size_t i = 0; i < list->n; i++)
                if (list->items[i].id == id)
                        return &list->items[i];
        return NULL;
}

/* Returns true if `below` is an ancestor of the mount. The depth is limited, in case the parent ids form a cycle. */
static bool is_mounted_on(const MountList *list, const Mount *mount, const Mount *below) {
        for (size_t depth = 0; mount && depth < 64; depth++) {
                if (mount->parent_id == below->id)
                        return true;
                mount = find(list, mount->parent_id);
        }
        return false;
}

/* Returns true for an automount point on which the file system is mounted: opening the path does not mount it again
 * (filesystems.c). */
static bool is_trigger_of(const Mount *mount, const Mount *other) {
        return word_equals(other->type, "autofs") && other->point.n == mount->point.n && mount->parent_id == other->id;
}

/*
 * Returns true if all mounts at or above the mount point are ancestors (others may cover the mount) and cannot block.
 */
static bool is_safe(const MountList *list, const Mount *mount) {
        for (size_t i = 0; i < list->n; i++) {
                const Mount *other = &list->items[i];

                if (other == mount || !is_on_path(mount->point, other->point))
                        continue;
                if (!is_mounted_on(list, mount, other) ||
                    !(is_local(other) || is_nonblocking(other) || is_trigger_of(mount, other)))
                        return false;
        }
        return true;
}

static bool is_chosen(const MountList *list, const Mount *mount) {
        for (size_t i = 0; i < list->n_chosen; i++) {
                const Mount *other = &list->items[list->chosen[i]];

                if (other->major == mount->major && other->minor == mount->minor)
                        return true;
        }
        return false;
}

typedef enum Rank {
        RANK_ROOT,
        RANK_WHOLE,
        RANK_PART,
        N_RANKS,
} Rank;

static Rank rank(const Mount *mount) {
        if (word_equals(mount->point, "/"))
                return RANK_ROOT;
        return word_equals(mount->root, "/") ? RANK_WHOLE : RANK_PART;
}

void mounts_choose(MountList *list) {
        list->n_chosen = 0;
        list->n_left_out = 0;

        for (Rank wanted = 0; wanted < N_RANKS; wanted++)
                for (size_t i = 0; i < list->n; i++) {
                        const Mount *mount = &list->items[i];

                        if (rank(mount) != wanted || !is_wanted(mount) || is_chosen(list, mount) ||
                            !is_safe(list, mount))
                                continue;
                        if (list->n_chosen < MOUNTS_CHOSEN_MAX)
                                list->chosen[list->n_chosen++] = i;
                        else
                                list->n_left_out += wanted != RANK_PART;
                }
}
