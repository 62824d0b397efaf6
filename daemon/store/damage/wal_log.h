/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * WAL log: the frames of SQLite's write-ahead log, read without SQLite
 *
 * SQLite takes the first frame whose checksum fails for the end of the log, and drops all transactions behind it in
 * silence. Each frame continues the checksum of the frame before; its own checksum is stored in it, so that frames
 * behind a bad one are checked as well. See https://www.sqlite.org/walformat.html.
 */

#include <stdbool.h>
#include <stdint.h>

#define WAL_LOG_PAGE_BYTES 4096

/* Position in a log. Borrows the descriptor. */
typedef struct WalWalk {
        int fd;
        bool is_big; /* checksums are big-endian */
        bool is_header_bad;
        uint8_t salt[8]; /* of the frames written since the log was last restarted */
        uint64_t offset; /* of the next frame */
        uint32_t stored[2], computed[2]; /* checksum of the frame before */
        bool is_broken; /* the frame before was not sound */
} WalWalk;

typedef struct WalFrame {
        uint64_t page_offset; /* of the page in the log */
        uint32_t page;        /* number of the page */
        uint32_t n_pages;     /* last frame of a transaction: pages of the database after it; 0: other frames */
        bool is_sound;        /* a frame of this log whose checksum is right */
        /* a sound frame with another salt, which the checksum does not cover: SQLite drops it as one of a former log */
        bool is_foreign;
} WalFrame;

/* False: not a log of pages of WAL_LOG_PAGE_BYTES. */
bool wal_log_walk(WalWalk *walk, int fd);
/* Returns false at the end of the file. Frames of former logs, which may follow the last one, are not sound. */
bool wal_log_next(WalWalk *walk, WalFrame *ret);

typedef struct WalDamage {
        uint64_t n_bad;  /* frames, or the header, whose checksum is wrong */
        uint64_t n_lost; /* frames of transactions that SQLite would drop, without the bad ones */
} WalDamage;

/*
 * Judges the log beside a database that nobody has open. Returns true if transactions were damaged after they were
 * complete: more than one transaction lies behind a bad frame, a frame continues the checksum of this log under
 * another salt, or the index beside the log (-shm) counts more frames than are sound. A last transaction that a loss of
 * power interrupted is neither; without the index, damage to the page or checksum of the last one is not told apart.
 */
bool wal_log_is_damaged(const char *database_path, WalDamage *ret);
