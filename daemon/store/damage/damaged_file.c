/* SPDX-License-Identifier: Apache-2.0 */
#include "store/damage/damaged_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/scoped.h"

#define PAGE DAMAGED_PAGE_BYTES

size_t damaged_file_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret) {
        uint64_t v = 0;

        for (size_t i = 0; i < 9 && p + i < end; i++) {
                v = i < 8 ? v << 7 | (p[i] & 0x7f) : v << 8 | p[i];
                if (i == 8 || !(p[i] & 0x80)) {
                        *ret = v;
                        return i + 1;
                }
        }
        return 0;
}

/* --- the write-ahead log ------------------------------------------------------------------------- */

#define WAL_HEADER 32
#define WAL_FRAME_HEADER 24
#define WAL_MAGIC 0x377f0682U /* lowest bit set: checksums are big-endian */

static void wal_add(const uint8_t *p, size_t n, bool is_big, uint32_t sums[static 2]) {
        for (size_t i = 0; i < n; i += 8) {
                uint32_t a = damaged_file_u32(p + i), b = damaged_file_u32(p + i + 4);

                sums[0] += (is_big ? a : __builtin_bswap32(a)) + sums[1];
                sums[1] += (is_big ? b : __builtin_bswap32(b)) + sums[0];
        }
}

typedef struct WalFrame {
        uint64_t offset; /* of the page */
        uint32_t page;
} WalFrame;

static int add_frame(WalFrame **frames, size_t n, WalFrame frame) {
        /* Capacities are powers of two. */
        if ((n & (n - 1)) == 0) {
                WalFrame *larger = reallocarray(*frames, n ? 2 * n : 1, sizeof(*larger));

                if (!larger)
                        return -ENOMEM;
                *frames = larger;
        }
        (*frames)[n] = frame;
        return 0;
}

static void framesp(WalFrame **frames) {
        free(*frames);
}

static int note_frames(DamagedFile *file, const WalFrame *frames, size_t n, uint32_t n_pages) {
        PageFact *facts = reallocarray(file->facts, n_pages, sizeof(*facts));

        if (!facts)
                return -ENOMEM;
        if (n_pages > file->n_pages)
                memset(facts + file->n_pages, 0, (n_pages - file->n_pages) * sizeof(*facts));
        file->facts = facts;
        file->n_pages = n_pages;
        for (size_t i = 0; i < n; i++)
                if (frames[i].page <= n_pages)
                        facts[frames[i].page - 1].wal_offset = frames[i].offset;
        return 0;
}

/* Reads the frames up to the last commit, as long as their checksums are valid. */
static int read_wal(DamagedFile *file) {
        scoped(framesp) WalFrame *frames = NULL;
        uint8_t header[WAL_HEADER], frame[WAL_FRAME_HEADER + PAGE];
        uint64_t offset = WAL_HEADER;
        uint32_t sums[2] = {}, n_pages = 0;
        size_t n = 0, n_committed = 0;
        bool is_big;

        if (pread(file->wal_fd, header, sizeof(header), 0) != sizeof(header) || (damaged_file_u32(header) & ~1U) != WAL_MAGIC ||
            damaged_file_u32(header + 8) != PAGE)
                return 0;

        is_big = header[3] & 1;
        wal_add(header, 24, is_big, sums);
        if (sums[0] != damaged_file_u32(header + 24) || sums[1] != damaged_file_u32(header + 28))
                return 0;

        for (; pread(file->wal_fd, frame, sizeof(frame), (off_t)offset) == sizeof(frame); offset += sizeof(frame)) {
                uint32_t page = damaged_file_u32(frame);

                wal_add(frame, 8, is_big, sums);
                wal_add(frame + WAL_FRAME_HEADER, PAGE, is_big, sums);
                if (page == 0 || memcmp(frame + 8, header + 16, 8) != 0 || sums[0] != damaged_file_u32(frame + 16) ||
                    sums[1] != damaged_file_u32(frame + 20))
                        break;
                if (add_frame(&frames, n++, (WalFrame){ offset + WAL_FRAME_HEADER, page }) < 0)
                        return -ENOMEM;
                if (damaged_file_u32(frame + 4) != 0) {
                        n_committed = n;
                        n_pages = damaged_file_u32(frame + 4);
                }
        }
        return n_pages > 0 ? note_frames(file, frames, n_committed, n_pages) : 0;
}

/* --- pages --------------------------------------------------------------------------------------- */

bool damaged_file_read(const DamagedFile *file, uint32_t number, uint8_t ret[static PAGE]) {
        uint64_t wal_offset;

        if (number == 0 || number > file->n_pages)
                return false;

        wal_offset = file->facts[number - 1].wal_offset;
        if (wal_offset > 0)
                return pread(file->wal_fd, ret, PAGE, (off_t)wal_offset) == PAGE;
        return pread(file->fd, ret, PAGE, (off_t)(number - 1) * PAGE) == PAGE;
}

#define MAP_ENTRY_BYTES 5U
#define MAP_ENTRIES (PAGE / MAP_ENTRY_BYTES)

/* The first page of a pointer map is page 2; each is followed by the pages that it describes. */
static void read_map(DamagedFile *file) {
        uint8_t page[PAGE];

        for (uint64_t map = 2; map < file->n_pages; map += MAP_ENTRIES + 1) {
                if (!damaged_file_read(file, (uint32_t)map, page))
                        continue;
                for (uint64_t i = 0; i < MAP_ENTRIES && map + i < file->n_pages; i++) {
                        const uint8_t *entry = page + i * MAP_ENTRY_BYTES;
                        uint32_t parent = damaged_file_u32(entry + 1);
                        bool is_sane = entry[0] >= PAGE_ROOT && entry[0] <= PAGE_BTREE && parent <= file->n_pages &&
                                       (parent > 0) == (entry[0] > PAGE_FREE);

                        /* map + 1 is the first page described, and facts[map] is about that page. */
                        file->facts[map + i].kind = is_sane ? (PageKind)entry[0] : PAGE_UNKNOWN;
                        file->facts[map + i].parent = is_sane ? parent : 0;
                }
        }
}

static int judge_header(const DamagedFile *file, uint32_t application_id) {
        uint8_t page[PAGE];

        if (!damaged_file_read(file, 1, page) || memcmp(page, "SQLite format 3", 16) != 0)
                return 0; /* damaged, but may be a database of perfd */
        return damaged_file_u32(page + 68) == application_id && damaged_file_u16(page + 16) == PAGE ? 0 : DAMAGED_FILE_FOREIGN;
}

int damaged_file_open(DamagedFile *file, const char *path, uint32_t application_id) {
        char wal[PATH_MAX];
        struct stat st;
        int r;

        *file = (DamagedFile){ .fd = -1, .wal_fd = -1 };
        if (snprintf(wal, sizeof(wal), "%s-wal", path) >= (int)sizeof(wal))
                return -ENAMETOOLONG;
        file->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (file->fd < 0 || fstat(file->fd, &st) < 0)
                return -errno;

        file->n_pages = (uint32_t)((uint64_t)st.st_size / PAGE);
        file->facts = calloc(file->n_pages + 1, sizeof(*file->facts));
        if (!file->facts)
                return -ENOMEM;

        file->wal_fd = open(wal, O_RDONLY | O_CLOEXEC);
        r = file->wal_fd >= 0 ? read_wal(file) : 0;
        if (r < 0)
                return r;

        read_map(file);
        return judge_header(file, application_id);
}

void damaged_file_close(DamagedFile *file) {
        closep(&file->fd);
        closep(&file->wal_fd);
        free(file->facts);
        *file = (DamagedFile){ .fd = -1, .wal_fd = -1 };
}
