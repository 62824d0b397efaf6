/* SPDX-License-Identifier: Apache-2.0 */
#include "store/damaged_file.h"

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
#define HEADER_BYTES 100 /* of the file, at the start of page 1 */
#define LEVELS_MAX 16    /* of a tree; 4096 bytes make 6 levels of 2^31 pages */

/* What the pointer map says about a page. */
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

/* First byte of a page of a tree. */
enum {
        INDEX_INTERIOR = 0x02,
        TABLE_INTERIOR = 0x05,
        INDEX_LEAF = 0x0a,
        TABLE_LEAF = 0x0d,
};

static uint32_t u16_at(const uint8_t *p) {
        return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t u32_at(const uint8_t *p) {
        return u16_at(p) << 16 | u16_at(p + 2);
}

/* Bytes of the number, 1 to 9; 0: the number goes beyond the end. */
static size_t varint_at(const uint8_t *p, const uint8_t *end, uint64_t *ret) {
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
#define WAL_MAGIC 0x377f0682U /* the lowest bit: checksums have the big end first */

static void wal_add(const uint8_t *p, size_t n, bool is_big, uint32_t sums[static 2]) {
        for (size_t i = 0; i < n; i += 8) {
                uint32_t a = u32_at(p + i), b = u32_at(p + i + 4);

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

/* Frames up to the last commit count, as long as their checksums are right. */
static int read_wal(DamagedFile *file) {
        scoped(framesp) WalFrame *frames = NULL;
        uint8_t header[WAL_HEADER], frame[WAL_FRAME_HEADER + PAGE];
        uint64_t offset = WAL_HEADER;
        uint32_t sums[2] = {}, n_pages = 0;
        size_t n = 0, n_committed = 0;
        bool is_big;

        if (pread(file->wal_fd, header, sizeof(header), 0) != sizeof(header) || (u32_at(header) & ~1U) != WAL_MAGIC ||
            u32_at(header + 8) != PAGE)
                return 0;

        is_big = header[3] & 1;
        wal_add(header, 24, is_big, sums);
        if (sums[0] != u32_at(header + 24) || sums[1] != u32_at(header + 28))
                return 0;

        for (; pread(file->wal_fd, frame, sizeof(frame), (off_t)offset) == sizeof(frame); offset += sizeof(frame)) {
                uint32_t page = u32_at(frame);

                wal_add(frame, 8, is_big, sums);
                wal_add(frame + WAL_FRAME_HEADER, PAGE, is_big, sums);
                if (page == 0 || memcmp(frame + 8, header + 16, 8) != 0 || sums[0] != u32_at(frame + 16) || sums[1] != u32_at(frame + 20))
                        break;
                if (add_frame(&frames, n++, (WalFrame){ offset + WAL_FRAME_HEADER, page }) < 0)
                        return -ENOMEM;
                if (u32_at(frame + 4) != 0) {
                        n_committed = n;
                        n_pages = u32_at(frame + 4);
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
                        uint32_t parent = u32_at(entry + 1);
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
                return 0; /* damaged, may be ours */
        return u32_at(page + 68) == application_id && u16_at(page + 16) == PAGE ? 0 : DAMAGED_FILE_FOREIGN;
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

/* --- pages of trees ------------------------------------------------------------------------------ */

/* The header of a tree's page: page 1 begins with the header of the file. */
static const uint8_t *tree_header(uint32_t number, const uint8_t *page) {
        return number == 1 ? page + HEADER_BYTES : page;
}

static bool is_interior(uint8_t type) {
        return type == TABLE_INTERIOR || type == INDEX_INTERIOR;
}

static size_t header_bytes(uint8_t type) {
        return is_interior(type) ? 12 : 8;
}

/* All cells lie on the page. */
static bool is_tree_page(uint32_t number, const uint8_t *page) {
        const uint8_t *header = tree_header(number, page);
        size_t n = u16_at(header + 3), cells = (size_t)(header - page) + header_bytes(header[0]);

        if (header[0] != TABLE_LEAF && header[0] != INDEX_LEAF && !is_interior(header[0]))
                return false;
        if (cells + 2 * n > PAGE || header[7] > 60)
                return false;
        for (size_t i = 0; i < n; i++) {
                uint32_t cell = u16_at(page + cells + 2 * i);

                if (cell < cells + 2 * n || cell > PAGE - 4)
                        return false;
        }
        return true;
}

static const uint8_t *cell_at(uint32_t number, const uint8_t *page, size_t i) {
        const uint8_t *header = tree_header(number, page);

        return page + u16_at(header + header_bytes(header[0]) + 2 * i);
}

size_t damaged_page_count(uint32_t number, const uint8_t page[static PAGE]) {
        const uint8_t *header = tree_header(number, page);

        return is_tree_page(number, page) && header[0] != TABLE_INTERIOR ? u16_at(header + 3) : 0;
}

/* --- trees --------------------------------------------------------------------------------------- */

/* A page of one level of a tree; rowids of its rows are at most `key`. */
typedef struct Node {
        int64_t key;
        uint32_t page;
        bool has_key;
} Node;

typedef struct Level {
        Node *nodes; /* owned */
        size_t n;
} Level;

typedef struct Tree {
        const DamagedFile *file;
        uint8_t *is_seen; /* owned; level of each page, from 1 on; 0: not seen */
        Level level, next;
        uint8_t depth;
} Tree;

static void tree_deinit(Tree *tree) {
        free(tree->is_seen);
        free(tree->level.nodes);
        free(tree->next.nodes);
}

static int add_node(Tree *tree, Node node) {
        Level *next = &tree->next;

        if (node.page == 0 || node.page > tree->file->n_pages || tree->is_seen[node.page - 1] > 0)
                return 0;
        if ((next->n & (next->n - 1)) == 0) {
                Node *larger = reallocarray(next->nodes, next->n ? 2 * next->n : 1, sizeof(*larger));

                if (!larger)
                        return -ENOMEM;
                next->nodes = larger;
        }
        next->nodes[next->n++] = node;
        tree->is_seen[node.page - 1] = (uint8_t)(tree->depth + 2);
        return 0;
}

/* A child that the pointer map knows as something else is not taken: the pointer is damaged. */
static bool may_be_child(const DamagedFile *file, uint32_t child, uint32_t parent) {
        const PageFact *fact;

        if (child == 0 || child > file->n_pages)
                return false;
        fact = &file->facts[child - 1];
        return fact->kind == PAGE_UNKNOWN || (fact->kind == PAGE_BTREE && fact->parent == parent);
}

static int add_children(Tree *tree, const Node *node, const uint8_t *page) {
        const uint8_t *header = tree_header(node->page, page);
        size_t n = u16_at(header + 3);
        int r = 0;

        for (size_t i = 0; r == 0 && i <= n; i++) {
                const uint8_t *cell = i < n ? cell_at(node->page, page, i) : header + 8;
                Node child = { .page = u32_at(cell), .key = node->key, .has_key = node->has_key };
                uint64_t key;

                if (i < n && header[0] == TABLE_INTERIOR && varint_at(cell + 4, page + PAGE, &key) > 0) {
                        child.key = (int64_t)key;
                        child.has_key = true;
                }
                if (may_be_child(tree->file, child.page, node->page))
                        r = add_node(tree, child);
        }
        return r;
}

/* Children of damaged pages, and children whose pointers are damaged. */
static int add_mapped_children(Tree *tree) {
        const DamagedFile *file = tree->file;
        int r = 0;

        for (uint32_t i = 0; r == 0 && i < file->n_pages; i++) {
                const PageFact *fact = &file->facts[i];

                if (fact->kind == PAGE_BTREE && tree->is_seen[fact->parent - 1] == tree->depth + 1)
                        r = add_node(tree, (Node){ .page = i + 1 });
        }
        return r;
}

/* Type of the pages of the level; 0 when none is readable. All leaves of a tree have the same depth. */
static uint8_t type_of_level(const Tree *tree, bool is_index) {
        uint8_t page[PAGE];

        for (size_t i = 0; i < tree->level.n; i++) {
                uint32_t number = tree->level.nodes[i].page;

                if (damaged_file_read(tree->file, number, page) && is_tree_page(number, page)) {
                        uint8_t type = *tree_header(number, page);

                        if ((type == INDEX_LEAF || type == INDEX_INTERIOR) == is_index)
                                return type;
                }
        }
        return 0;
}

static int descend(Tree *tree) {
        uint8_t page[PAGE];
        int r = 0;

        tree->next = (Level){};
        for (size_t i = 0; r == 0 && i < tree->level.n; i++) {
                const Node *node = &tree->level.nodes[i];

                if (damaged_file_read(tree->file, node->page, page) && is_tree_page(node->page, page) &&
                    is_interior(*tree_header(node->page, page)))
                        r = add_children(tree, node, page);
        }
        return r == 0 ? add_mapped_children(tree) : r;
}

/* A page that no interior page leads to: its highest rowid is read from the page. */
static void complete_keys(Tree *tree) {
        uint8_t page[PAGE];

        for (size_t i = 0; i < tree->level.n; i++) {
                Node *node = &tree->level.nodes[i];
                size_t n;
                uint64_t unused, key;

                if (node->has_key || !damaged_file_read(tree->file, node->page, page))
                        continue;
                n = damaged_page_count(node->page, page);
                if (n > 0) {
                        const uint8_t *cell = cell_at(node->page, page, n - 1);
                        size_t n_size = varint_at(cell, page + PAGE, &unused);

                        if (n_size > 0 && varint_at(cell + n_size, page + PAGE, &key) > 0)
                                node->key = (int64_t)key;
                }
        }
}

static int by_key_downwards(const void *a, const void *b) {
        int64_t x = ((const Node *)a)->key, y = ((const Node *)b)->key;

        return x < y ? 1 : x > y ? -1 : 0;
}

static int take_level(const Level *level, DamagedLeaves *leaves) {
        uint32_t *pages = reallocarray(leaves->pages, leaves->n + level->n + 1, sizeof(*pages));

        if (!pages)
                return -ENOMEM;
        leaves->pages = pages;
        for (size_t i = 0; i < level->n; i++)
                pages[leaves->n++] = level->nodes[i].page;
        return 0;
}

static int find_leaves(Tree *tree, bool is_index, DamagedLeaves *leaves) {
        for (;; tree->depth++) {
                uint8_t type = type_of_level(tree, is_index);
                int r;

                if (type == TABLE_LEAF) {
                        complete_keys(tree);
                        qsort(tree->level.nodes, tree->level.n, sizeof(Node), by_key_downwards);
                }
                if (type == TABLE_LEAF || is_index) {
                        r = take_level(&tree->level, leaves);
                        if (r < 0)
                                return r;
                }
                if (type == TABLE_LEAF || type == INDEX_LEAF || tree->depth == LEVELS_MAX)
                        return 0;

                r = descend(tree);
                free(tree->level.nodes);
                tree->level = tree->next;
                tree->next = (Level){};
                if (r < 0 || tree->level.n == 0)
                        return r;
        }
}

int damaged_file_find_leaves(const DamagedFile *file, uint32_t root, DamagedLeaves *ret) {
        scoped(tree_deinit) Tree tree = { .file = file };
        uint8_t page[PAGE];
        bool is_index = false;
        int r;

        *ret = (DamagedLeaves){};
        if (root == 0 || root > file->n_pages)
                return 0;

        tree.is_seen = calloc(file->n_pages, 1);
        tree.level.nodes = calloc(1, sizeof(Node));
        if (!tree.is_seen || !tree.level.nodes)
                return -ENOMEM;

        if (damaged_file_read(file, root, page))
                is_index = page[0] == INDEX_LEAF || page[0] == INDEX_INTERIOR;
        tree.level.nodes[tree.level.n++] = (Node){ .page = root, .key = INT64_MAX, .has_key = true };
        tree.is_seen[root - 1] = 1;
        r = find_leaves(&tree, is_index, ret);
        if (r < 0)
                damaged_leaves_deinit(ret);
        return r;
}

void damaged_leaves_deinit(DamagedLeaves *leaves) {
        free(leaves->pages);
        *leaves = (DamagedLeaves){};
}

/* --- rows ---------------------------------------------------------------------------------------- */

/* Bytes of a payload that are on the page itself. */
static size_t local_bytes(uint8_t type, uint64_t n) {
        size_t max = type == TABLE_LEAF ? PAGE - 35 : (PAGE - 12) * 64 / 255 - 23;
        size_t min = (PAGE - 12) * 32 / 255 - 23;
        size_t local;

        if (n <= max)
                return (size_t)n;
        local = min + (size_t)((n - min) % (PAGE - 4));
        return local <= max ? local : min;
}

static bool is_overflow_of(const DamagedFile *file, uint32_t number, uint32_t parent, bool is_first) {
        const PageFact *fact;

        if (number == 0 || number > file->n_pages)
                return false;
        fact = &file->facts[number - 1];
        return fact->kind == PAGE_UNKNOWN ||
               (fact->kind == (is_first ? PAGE_OVERFLOW_FIRST : PAGE_OVERFLOW_NEXT) && fact->parent == parent);
}

static int read_overflow(const DamagedFile *file, uint32_t parent, uint32_t number, uint64_t n_left, Buffer *payload) {
        uint8_t page[PAGE];

        for (bool is_first = true; n_left > 0; is_first = false) {
                size_t n = n_left < PAGE - 4 ? (size_t)n_left : PAGE - 4;

                if (!is_overflow_of(file, number, parent, is_first) || !damaged_file_read(file, number, page))
                        return DAMAGED_ROW_LOST;
                buffer_put(payload, page + 4, n);
                n_left -= n;
                parent = number;
                number = u32_at(page);
        }
        return buffer_error(payload) < 0 ? -ENOMEM : 0;
}

int damaged_file_row(const DamagedFile *file, uint32_t number, const uint8_t page[static PAGE], size_t i, DamagedRow *ret) {
        const uint8_t *cell = cell_at(number, page, i), *end = page + PAGE;
        uint8_t type = *tree_header(number, page);
        uint64_t n_payload, rowid = 0;
        size_t n, n_local;

        if (type == INDEX_INTERIOR)
                cell += 4; /* after the child */
        n = varint_at(cell, end, &n_payload);
        if (n > 0 && type == TABLE_LEAF) {
                size_t n_rowid = varint_at(cell + n, end, &rowid);

                n = n_rowid > 0 ? n + n_rowid : 0;
        }
        if (n == 0 || n_payload == 0 || n_payload > (uint64_t)file->n_pages * PAGE)
                return DAMAGED_ROW_LOST;

        cell += n;
        n_local = local_bytes(type, n_payload);
        if ((size_t)(end - cell) < n_local + (n_local < n_payload ? 4 : 0))
                return DAMAGED_ROW_LOST;

        buffer_clear(&ret->payload);
        buffer_put(&ret->payload, cell, n_local);
        ret->rowid = (int64_t)rowid;
        if (n_local == n_payload)
                return buffer_error(&ret->payload) < 0 ? -ENOMEM : 0;
        return read_overflow(file, number, u32_at(cell + n_local), n_payload - n_local, &ret->payload);
}

static int64_t big_end_first(const uint8_t *p, size_t n) {
        uint64_t v = p[0] & 0x80 ? UINT64_MAX : 0;

        for (size_t i = 0; i < n; i++)
                v = v << 8 | p[i];
        return (int64_t)v;
}

/* Bytes of a value by its serial type. */
static uint64_t serial_bytes(uint64_t serial) {
        static const uint8_t fixed[12] = { 0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0 };

        return serial < 12 ? fixed[serial] : (serial - 12) / 2;
}

static Field field_of(uint64_t serial, const uint8_t *p, size_t n) {
        int64_t v;
        double real;

        if (serial >= 12)
                return serial % 2 ? field_text((const char *)p, n) : field_blob(p, n);
        if (serial == 0)
                return (Field){};

        v = n > 0 ? big_end_first(p, n) : serial == 9;
        if (serial != 7)
                return field_i64(v);
        memcpy(&real, &v, sizeof(real));
        return field_double(real);
}

size_t damaged_row_fields(const DamagedRow *row, Field *ret, size_t n_max) {
        const uint8_t *payload = (const uint8_t *)row->payload.text, *end = payload + row->payload.n, *body;
        const uint8_t *p = payload, *header_end;
        uint64_t n_header, serial;
        size_t n = varint_at(p, end, &n_header), n_fields = 0;

        if (n == 0 || n_header < n || n_header > row->payload.n)
                return 0;

        header_end = body = payload + n_header;
        for (p += n; p < header_end; p += n) {
                n = varint_at(p, header_end, &serial);
                if (n == 0 || n_fields == n_max || serial == 10 || serial == 11 || serial_bytes(serial) > (uint64_t)(end - body))
                        return 0;
                ret[n_fields++] = field_of(serial, body, (size_t)serial_bytes(serial));
                body += serial_bytes(serial);
        }
        return body == end ? n_fields : 0;
}
