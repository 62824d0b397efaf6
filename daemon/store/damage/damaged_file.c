/* SPDX-License-Identifier: Apache-2.0 */
#include "store/damage/damaged_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/damage/wal_log.h"

#define PAGE DAMAGED_PAGE_BYTES

/* Meaning of a page by the pointer map. */
typedef enum PageKind {
        PAGE_UNKNOWN,
        PAGE_ROOT,
        PAGE_FREE,
        PAGE_OVERFLOW_FIRST,
        PAGE_OVERFLOW_NEXT,
        PAGE_BTREE, /* parent: the interior page above */
} PageKind;

typedef struct PageFact {
        uint64_t wal_offset; /* of the page in the write-ahead log; 0: in the file */
        uint32_t parent;
        PageKind kind;
} PageFact;

struct DamagedFile {
        sqlite3_io_methods methods; /* of the file that SQLite has opened, with our functions for reading */
        sqlite3 *db;                /* owned */
        int fd, wal_fd;
        uint32_t n_pages;
        PageFact *facts;      /* owned; of each page, from page 1 on */
        uint32_t root, shown; /* page `shown` is read in place of `root` */
        /* owned; or NULL: image of a database whose pages of the schema replace those of the file */
        uint8_t *schema;
        uint32_t n_schema;    /* pages of the image */
};

static uint32_t u16(const uint8_t *p) {
        return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t u32(const uint8_t *p) {
        return u16(p) << 16 | u16(p + 2);
}

/* --- the write-ahead log ------------------------------------------------------------------------- */

static int set_page_count(DamagedFile *file, uint32_t n_pages) {
        PageFact *facts = reallocarray(file->facts, n_pages + 1, sizeof(*facts));

        if (!facts)
                return -ENOMEM;
        if (n_pages > file->n_pages)
                memset(facts + file->n_pages, 0, (n_pages - file->n_pages) * sizeof(*facts));
        file->facts = facts;
        file->n_pages = n_pages;
        return 0;
}

/* Takes each page from its last sound frame, up to the last transaction that ends with a sound frame. */
static int read_wal(DamagedFile *file) {
        uint64_t end = 0;
        uint32_t n_pages = 0;
        WalFrame frame;
        WalWalk walk;
        int r;

        if (!wal_log_walk(&walk, file->wal_fd))
                return 0;
        while (wal_log_next(&walk, &frame))
                if (frame.is_sound && frame.n_pages > 0) {
                        end = frame.page_offset;
                        n_pages = frame.n_pages;
                }
        if (n_pages == 0)
                return 0;

        r = set_page_count(file, n_pages);
        (void)wal_log_walk(&walk, file->wal_fd);
        while (r == 0 && walk.offset < end && wal_log_next(&walk, &frame))
                if (frame.is_sound && frame.page <= n_pages)
                        file->facts[frame.page - 1].wal_offset = frame.page_offset;
        return r;
}

/* --- pages --------------------------------------------------------------------------------------- */

static bool is_of_schema(const DamagedFile *file, uint32_t number) {
        /* page 2 is the pointer map, which begins with page 3 */
        const uint8_t *entry = file->schema + PAGE + (number - 3) * 5U;

        return number == 1 || (number > 2 && number <= file->n_schema && entry[0] == PAGE_BTREE && u32(entry + 1) == 1);
}

/* A page that cannot be read is empty. */
static void read_page(const DamagedFile *file, uint32_t number, uint8_t ret[static PAGE]) {
        uint64_t wal_offset = number <= file->n_pages ? file->facts[number - 1].wal_offset : 0;
        ssize_t n;

        if (file->schema && is_of_schema(file, number)) {
                memcpy(ret, file->schema + (size_t)(number - 1) * PAGE, PAGE);
                return;
        }
        n = wal_offset > 0 ? pread(file->wal_fd, ret, PAGE, (off_t)wal_offset)
                           : pread(file->fd, ret, PAGE, (off_t)(number - 1) * PAGE);
        if (n != PAGE)
                memset(ret, 0, PAGE);
}

#define MAP_ENTRY_BYTES 5U
#define MAP_ENTRIES (PAGE / MAP_ENTRY_BYTES)

/* The first page of a pointer map is page 2; each is followed by the pages that it describes. */
static void read_map(DamagedFile *file) {
        uint8_t page[PAGE];

        for (uint64_t map = 2; map < file->n_pages; map += MAP_ENTRIES + 1) {
                read_page(file, (uint32_t)map, page);
                for (uint64_t i = 0; i < MAP_ENTRIES && map + i < file->n_pages; i++) {
                        const uint8_t *entry = page + i * MAP_ENTRY_BYTES;
                        uint32_t parent = u32(entry + 1);
                        bool is_sane = entry[0] >= PAGE_ROOT && entry[0] <= PAGE_BTREE &&
                                       (parent > 0) == (entry[0] > PAGE_FREE);

                        /* map + 1 is the first page described, and facts[map] is about that page. */
                        file->facts[map + i].kind = is_sane ? (PageKind)entry[0] : PAGE_UNKNOWN;
                        file->facts[map + i].parent = is_sane ? parent : 0;
                }
        }
}

#define LEVELS_MAX 16 /* levels of a tree; 6 levels lead to 2^31 pages */

/* Returns the root of the tree to which the page belongs; 0: unknown, because the map or an interior page is
 * missing; UINT32_MAX: none. */
static uint32_t find_root(const DamagedFile *file, uint32_t number) {
        for (unsigned level = 0; level < LEVELS_MAX; level++) {
                const PageFact *fact = number > 0 && number <= file->n_pages ? &file->facts[number - 1] : NULL;

                if (!fact || fact->kind == PAGE_UNKNOWN)
                        return 0;
                if (fact->kind != PAGE_BTREE)
                        return fact->kind == PAGE_ROOT ? number : UINT32_MAX;
                number = fact->parent;
        }
        return UINT32_MAX;
}

/* Returns the bytes of the number, 1 to 9; 0: the number goes beyond the end. */
static size_t read_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret) {
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

/* Returns the number of columns of the first row of a leaf; 0: not a leaf, or damaged. */
static size_t count_columns(const uint8_t page[static PAGE]) {
        const uint8_t *p = page + u16(page + 8), *end = page + PAGE, *header = NULL;
        uint64_t n_header = 0, unused;
        size_t n = 0, n_columns = 0;

        if ((page[0] != DAMAGED_TABLE_LEAF && page[0] != DAMAGED_INDEX_LEAF) || u16(page + 3) == 0)
                return 0;
        p += read_varint(p, end, &unused); /* size of the row, and rowid */
        if (page[0] == DAMAGED_TABLE_LEAF)
                p += read_varint(p, end, &unused);
        header = p;
        for (p += read_varint(p, end, &n_header); p < header + n_header && p < end; p += n, n_columns++) {
                n = read_varint(p, end, &unused);
                if (n == 0)
                        return 0;
        }
        return p == header + n_header ? n_columns : 0;
}

uint32_t damaged_file_next(const DamagedFile *file, uint32_t root, size_t n_columns, uint32_t number,
                           uint8_t *ret_type) {
        uint8_t page[PAGE];

        while (++number <= file->n_pages) {
                uint32_t found = find_root(file, number);

                if (found != root && (found > 0 || n_columns == 0))
                        continue;
                read_page(file, number, page);
                if (found == root || count_columns(page) == n_columns) {
                        *ret_type = page[0];
                        return number;
                }
        }
        return 0;
}

uint32_t damaged_file_missing(const DamagedFile *file) {
        uint8_t page[PAGE];
        struct stat st;
        uint32_t n;

        if (file->schema || fstat(file->fd, &st) < 0)
                return 0;
        read_page(file, 1, page);
        n = u32(page + 28);
        return n > file->n_pages ? n - file->n_pages : 0;
}

/* --- SQLite -------------------------------------------------------------------------------------- */

/* The methods are the first member of the file. */
static const DamagedFile *damaged_file_of(sqlite3_file *handle) {
        return (const DamagedFile *)handle->pMethods;
}

/* The log is read here: SQLite must not look for it. It asks for the number of pages where the header has none. */
static void adapt_header(uint8_t *page) {
        page[18] = page[19] = 1;
        memset(page + 28, 0, 4);
}

/* SQLite reads whole pages, or parts of page 1. */
static int on_read(sqlite3_file *handle, void *buffer, int n, sqlite3_int64 offset) {
        const DamagedFile *file = damaged_file_of(handle);
        uint32_t number = (uint32_t)(offset / PAGE) + 1;
        size_t at = (size_t)(offset % PAGE);
        uint8_t page[PAGE];

        if (at + (size_t)n > PAGE)
                return SQLITE_IOERR_READ;
        read_page(file, number == file->root ? file->shown : number, page);
        if (number == 1)
                adapt_header(page);
        memcpy(buffer, page + at, (size_t)n);
        return SQLITE_OK;
}

static int on_size(sqlite3_file *handle, sqlite3_int64 *ret) {
        const DamagedFile *file = damaged_file_of(handle);

        *ret = ((sqlite3_int64)file->n_pages + damaged_file_missing(file)) * PAGE;
        return SQLITE_OK;
}

static void finalizep(sqlite3_stmt **statement) {
        sqlite3_finalize(*statement);
}

/* SQLite opens an empty file, beside which there is no log, and gets the pages from here. */
static int connect_sqlite(DamagedFile *file) {
        sqlite3_file *handle = NULL;
        int code;

        sqlite3_close(TAKE(file->db));
        code = sqlite3_open_v2("file:/dev/null?nolock=1", &file->db,
                               SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
        if (code == SQLITE_OK)
                code = sqlite3_file_control(file->db, "main", SQLITE_FCNTL_FILE_POINTER, &handle);
        if (code != SQLITE_OK)
                return code == SQLITE_NOMEM || !file->db ? -ENOMEM : -EIO;

        file->methods = *handle->pMethods;
        file->methods.iVersion = 1; /* no shared memory, no mapping */
        file->methods.xRead = on_read;
        file->methods.xFileSize = on_size;
        handle->pMethods = &file->methods;
        return 0;
}

bool damaged_file_has_schema(const DamagedFile *file) {
        scoped(finalizep) sqlite3_stmt *count = NULL;

        return sqlite3_prepare_v2(file->db, "SELECT count(*) FROM sqlite_schema", -1, &count, NULL) == SQLITE_OK &&
               sqlite3_step(count) == SQLITE_ROW && sqlite3_column_int64(count, 0) > 0;
}

static int judge_header(const DamagedFile *file, uint32_t application_id) {
        uint8_t page[PAGE];

        read_page(file, 1, page);
        if (memcmp(page, "SQLite format 3", 16) != 0)
                return 0; /* damaged, but may be a database of perfd */
        return u32(page + 68) == application_id && u16(page + 16) == PAGE ? 0 : DAMAGED_FILE_FOREIGN;
}

/* Opens the log beside the file. */
static int open_wal(DamagedFile *file, const char *path) {
        char wal[PATH_MAX];

        if (snprintf(wal, sizeof(wal), "%s-wal", path) >= (int)sizeof(wal))
                return -ENAMETOOLONG;
        file->wal_fd = open(wal, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        return file->wal_fd >= 0 ? read_wal(file) : 0;
}

int damaged_file_open(DamagedFile **ret, const char *path, uint32_t application_id) {
        scoped(damaged_file_freep) DamagedFile *file = calloc(1, sizeof(*file));
        struct stat st;
        int r;

        if (!file)
                return -ENOMEM;
        file->wal_fd = -1;
        file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file->fd < 0 || fstat(file->fd, &st) < 0)
                return -errno;

        r = set_page_count(file, (uint32_t)((uint64_t)st.st_size / PAGE));
        if (r == 0)
                r = open_wal(file, path);
        if (r == 0)
                r = judge_header(file, application_id);
        if (r != 0)
                return r;

        read_map(file);
        r = connect_sqlite(file);
        if (r == 0)
                *ret = TAKE(file);
        return r;
}

DamagedFile *damaged_file_free(DamagedFile *file) {
        if (!file)
                return NULL;

        sqlite3_close(file->db);
        closep(&file->fd);
        closep(&file->wal_fd);
        free(file->schema);
        free(file->facts);
        free(file);
        return NULL;
}

sqlite3 *damaged_file_database(const DamagedFile *file) {
        return file->db;
}

int damaged_file_set_schema(DamagedFile *file, char *image, size_t n) {
        assert(!file->schema);
        file->schema = (uint8_t *)image;
        file->n_schema = (uint32_t)(n / PAGE);
        return connect_sqlite(file); /* the former connection has read the damaged schema */
}

void damaged_file_show(DamagedFile *file, uint32_t root, uint32_t page) {
        file->root = root;
        file->shown = page;
        sqlite3_db_release_memory(file->db); /* the root in the cache is another page */
}
