/* SPDX-License-Identifier: Apache-2.0 */
#include "store/damage/wal_log.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/scoped.h"

#define PAGE WAL_LOG_PAGE_BYTES
#define HEADER 32
#define FRAME_HEADER 24
#define MAGIC 0x377f0682U /* lowest bit set: checksums are big-endian */

/* The header of the index, in the byte order of the machine; the index has two copies of it. */
typedef struct IndexHeader {
        uint32_t version, unused, n_changes;
        uint8_t is_initialised, is_big;
        uint16_t page_bytes;
        uint32_t n_frames, n_pages;
        uint32_t frame_sums[2];
        uint8_t salt[8];
        uint32_t sums[2];
} IndexHeader;

_Static_assert(sizeof(IndexHeader) == 48, "as in the file");

static uint32_t u32(const uint8_t *p) {
        return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void add(const uint8_t *p, size_t n, bool is_big, uint32_t sums[static 2]) {
        for (size_t i = 0; i < n; i += 8) {
                uint32_t a = u32(p + i), b = u32(p + i + 4);

                sums[0] += (is_big ? a : __builtin_bswap32(a)) + sums[1];
                sums[1] += (is_big ? b : __builtin_bswap32(b)) + sums[0];
        }
}

/* A damaged header is replaced by what the first frame tells; the byte order is that of a log written on this
 * machine. */
bool wal_log_walk(WalWalk *walk, int fd) {
        uint8_t header[HEADER], frame[FRAME_HEADER];

        *walk = (WalWalk){ .fd = fd, .offset = HEADER };
        if (pread(fd, header, sizeof(header), 0) != sizeof(header))
                return false;

        walk->is_big = header[3] & 1;
        add(header, 24, walk->is_big, walk->computed);
        walk->stored[0] = u32(header + 24);
        walk->stored[1] = u32(header + 28);
        memcpy(walk->salt, header + 16, sizeof(walk->salt));
        if (memcmp(walk->stored, walk->computed, sizeof(walk->stored)) == 0 && (u32(header) & ~1U) == MAGIC)
                return u32(header + 8) == PAGE;

        walk->is_header_bad = walk->is_broken = true;
        walk->is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
        if (pread(fd, frame, sizeof(frame), HEADER) == sizeof(frame))
                memcpy(walk->salt, frame + 8, sizeof(walk->salt));
        return true;
}

/* Returns true if the frame continues the checksum `sums` of the frame before. */
static bool continues(const WalWalk *walk, const uint8_t *frame, const uint32_t sums[static 2],
                      uint32_t ret[static 2]) {
        memcpy(ret, sums, 2 * sizeof(*ret));
        add(frame, 8, walk->is_big, ret);
        add(frame + FRAME_HEADER, PAGE, walk->is_big, ret);
        return ret[0] == u32(frame + 16) && ret[1] == u32(frame + 20);
}

bool wal_log_next(WalWalk *walk, WalFrame *ret) {
        uint8_t frame[FRAME_HEADER + PAGE];
        uint32_t sums[2];
        bool is_right, is_own;

        if (pread(walk->fd, frame, sizeof(frame), (off_t)walk->offset) != sizeof(frame))
                return false;

        /* Either the page of the frame before was damaged, or its stored checksum. */
        is_right = continues(walk, frame, walk->stored, sums) || continues(walk, frame, walk->computed, sums);
        *ret = (WalFrame){ .page_offset = walk->offset + FRAME_HEADER, .page = u32(frame), .n_pages = u32(frame + 4) };
        is_own = memcmp(frame + 8, walk->salt, sizeof(walk->salt)) == 0;
        ret->is_sound = is_right && ret->page > 0 && (is_own || !walk->is_broken);
        ret->is_foreign = ret->is_sound && !is_own;
        walk->is_broken = !ret->is_sound;
        memcpy(walk->computed, sums, sizeof(sums));
        walk->stored[0] = u32(frame + 16);
        walk->stored[1] = u32(frame + 20);
        walk->offset += sizeof(frame);
        return true;
}

static int open_beside(const char *path, const char *suffix) {
        char beside[PATH_MAX];

        if (snprintf(beside, sizeof(beside), "%s%s", path, suffix) >= (int)sizeof(beside))
                return -1;
        return open(beside, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Returns the frames of complete transactions by the index, which is behind the log after a loss of power; 0:
 * unknown. */
static uint64_t read_index(const char *path, const uint8_t salt[static 8]) {
        scoped(closep) int fd = open_beside(path, "-shm");
        IndexHeader headers[2];

        if (fd < 0 || pread(fd, headers, sizeof(headers), 0) != sizeof(headers))
                return 0;
        if (memcmp(&headers[0], &headers[1], sizeof(headers[0])) != 0)
                return 0;
        return headers[0].is_initialised && memcmp(headers[0].salt, salt, sizeof(headers[0].salt)) == 0
                       ? headers[0].n_frames
                       : 0;
}

bool wal_log_is_damaged(const char *database_path, WalDamage *ret) {
        scoped(closep) int fd = open_beside(database_path, "-wal");
        uint64_t n_first = 0, n_committed, n_bad = 0, n_behind = 0, n_commits = 0;
        bool is_foreign = false;
        WalFrame frame;
        WalWalk walk;

        *ret = (WalDamage){};
        if (fd < 0 || !wal_log_walk(&walk, fd))
                return false;

        n_committed = read_index(database_path, walk.salt);
        n_bad = walk.is_header_bad;
        while (wal_log_next(&walk, &frame)) {
                bool is_read = frame.is_sound && !frame.is_foreign;

                is_foreign |= frame.is_foreign;
                n_first += is_read && n_bad == 0;
                n_behind += is_read && n_bad > 0;
                n_bad += !is_read;
                if (!is_read || frame.n_pages == 0 || n_behind == 0)
                        continue;
                n_commits++;
                *ret = (WalDamage){ n_bad, n_behind };
        }
        if (n_committed > n_first || is_foreign) {
                ret->n_bad = ret->n_bad > 0 ? ret->n_bad : 1;
                return true;
        }
        return n_commits > 1;
}
