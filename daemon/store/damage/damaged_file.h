/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Damaged file: pages of a database file, read without SQLite
 *
 * SQLite stops at the first damaged page of a table's tree. Here, pages are read one by one, from the file or from the write-ahead log
 * beside it, with what the pointer map of a file with auto_vacuum says about each. The formats are described in
 * https://www.sqlite.org/fileformat2.html. Nothing is written.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DAMAGED_PAGE_BYTES 4096

/* Meaning of a page by the pointer map. */
typedef enum PageKind {
        PAGE_UNKNOWN,
        PAGE_ROOT,
        PAGE_FREE,
        PAGE_OVERFLOW_FIRST, /* parent: the page with the row */
        PAGE_OVERFLOW_NEXT,  /* parent: the overflow page before */
        PAGE_BTREE,          /* parent: the interior page above */
} PageKind;

typedef struct PageFact {
        uint64_t wal_offset; /* of the page in the write-ahead log; 0: in the file */
        uint32_t parent;
        PageKind kind;
} PageFact;

typedef struct DamagedFile {
        int fd, wal_fd;
        uint32_t n_pages;
        PageFact *facts; /* owned; of each page, from page 1 on */
} DamagedFile;

/* 0; DAMAGED_FILE_FOREIGN: a database with another application id, or of another page size; or a negative errno. */
enum {
        DAMAGED_FILE_FOREIGN = 1,
};
int damaged_file_open(DamagedFile *file, const char *path, uint32_t application_id);
void damaged_file_close(DamagedFile *file);

/* False for a page that cannot be read. */
bool damaged_file_read(const DamagedFile *file, uint32_t number, uint8_t ret[static DAMAGED_PAGE_BYTES]);
/* Numbers of the file format. */
static inline uint32_t damaged_file_u16(const uint8_t *p) {
        return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t damaged_file_u32(const uint8_t *p) {
        return damaged_file_u16(p) << 16 | damaged_file_u16(p + 2);
}

/* Bytes of the number, 1 to 9; 0: the number goes beyond the end. */
size_t damaged_file_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret);
