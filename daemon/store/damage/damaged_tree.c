/* SPDX-License-Identifier: Apache-2.0 */
#include "store/damage/damaged_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "store/damage/damaged_page.h"
#include "util/scoped.h"

#define PAGE DAMAGED_PAGE_BYTES
#define LEVELS_MAX 16 /* levels of a tree; 6 levels lead to 2^31 pages */

/* Page of one level of a tree; rowids of its rows are at most `key`. */
typedef struct TreeNode {
        int64_t key;
        uint32_t page;
        bool has_key;
} TreeNode;

typedef struct TreeLevel {
        TreeNode *nodes; /* owned */
        size_t n;
} TreeLevel;

typedef struct TreeWalk {
        const DamagedFile *file;
        uint8_t *is_seen; /* owned; level of each page, from 1 on; 0: not seen */
        TreeLevel level, next;
        uint8_t depth;
} TreeWalk;

static void walk_deinit(TreeWalk *tree) {
        free(tree->is_seen);
        free(tree->level.nodes);
        free(tree->next.nodes);
}

static int add_node(TreeWalk *tree, TreeNode node) {
        TreeLevel *next = &tree->next;

        if (node.page == 0 || node.page > tree->file->n_pages || tree->is_seen[node.page - 1] > 0)
                return 0;
        if ((next->n & (next->n - 1)) == 0) {
                TreeNode *larger = reallocarray(next->nodes, next->n ? 2 * next->n : 1, sizeof(*larger));

                if (!larger)
                        return -ENOMEM;
                next->nodes = larger;
        }
        next->nodes[next->n++] = node;
        tree->is_seen[node.page - 1] = (uint8_t)(tree->depth + 2);
        return 0;
}

/* Ignores a child to which the pointer map gives another type: the pointer is damaged. */
static bool may_be_child(const DamagedFile *file, uint32_t child, uint32_t parent) {
        const PageFact *fact;

        if (child == 0 || child > file->n_pages)
                return false;
        fact = &file->facts[child - 1];
        return fact->kind == PAGE_UNKNOWN || (fact->kind == PAGE_BTREE && fact->parent == parent);
}

static int add_children(TreeWalk *tree, const TreeNode *node, const uint8_t *page) {
        size_t n = damaged_page_cells(node->page, page);
        bool has_keys = damaged_page_type(node->page, page) == PAGE_TABLE_INTERIOR;
        int r = 0;

        for (size_t i = 0; r == 0 && i <= n; i++) {
                const uint8_t *cell = i < n ? damaged_page_cell(node->page, page, i) : NULL;
                TreeNode child = { .key = node->key, .has_key = node->has_key };
                uint64_t key;

                child.page = cell ? damaged_file_u32(cell) : damaged_page_last_child(node->page, page);
                if (cell && has_keys && damaged_file_varint(cell + 4, page + PAGE, &key) > 0) {
                        child.key = (int64_t)key;
                        child.has_key = true;
                }
                if (may_be_child(tree->file, child.page, node->page))
                        r = add_node(tree, child);
        }
        return r;
}

/* Adds children of damaged pages, and children whose pointers are damaged. */
static int add_mapped_children(TreeWalk *tree) {
        const DamagedFile *file = tree->file;
        int r = 0;

        for (uint32_t i = 0; r == 0 && i < file->n_pages; i++) {
                const PageFact *fact = &file->facts[i];

                if (fact->kind == PAGE_BTREE && tree->is_seen[fact->parent - 1] == tree->depth + 1)
                        r = add_node(tree, (TreeNode){ .page = i + 1 });
        }
        return r;
}

/* Returns the type of the pages of the level; PAGE_DAMAGED if none is readable. All leaves of a tree have the same depth. */
static PageType type_of_level(const TreeWalk *tree, bool is_index) {
        uint8_t page[PAGE];

        for (size_t i = 0; i < tree->level.n; i++) {
                uint32_t number = tree->level.nodes[i].page;
                PageType type = damaged_file_read(tree->file, number, page) ? damaged_page_type(number, page) : PAGE_DAMAGED;

                if (type != PAGE_DAMAGED && (type == PAGE_INDEX_LEAF || type == PAGE_INDEX_INTERIOR) == is_index)
                        return type;
        }
        return PAGE_DAMAGED;
}

static int descend(TreeWalk *tree) {
        uint8_t page[PAGE];
        int r = 0;

        tree->next = (TreeLevel){};
        for (size_t i = 0; r == 0 && i < tree->level.n; i++) {
                const TreeNode *node = &tree->level.nodes[i];

                if (damaged_file_read(tree->file, node->page, page) && page_type_is_interior(damaged_page_type(node->page, page)))
                        r = add_children(tree, node, page);
        }
        return r == 0 ? add_mapped_children(tree) : r;
}

/* Adds a page to which no interior page refers: its highest rowid is read from the page. */
static void complete_keys(TreeWalk *tree) {
        uint8_t page[PAGE];

        for (size_t i = 0; i < tree->level.n; i++) {
                TreeNode *node = &tree->level.nodes[i];
                size_t n;
                uint64_t unused, key;

                if (node->has_key || !damaged_file_read(tree->file, node->page, page))
                        continue;
                n = damaged_page_count(node->page, page);
                if (n > 0) {
                        const uint8_t *cell = damaged_page_cell(node->page, page, n - 1);
                        size_t n_size = damaged_file_varint(cell, page + PAGE, &unused);

                        if (n_size > 0 && damaged_file_varint(cell + n_size, page + PAGE, &key) > 0)
                                node->key = (int64_t)key;
                }
        }
}

static int by_key_downwards(const void *a, const void *b) {
        int64_t x = ((const TreeNode *)a)->key, y = ((const TreeNode *)b)->key;

        return x < y ? 1 : x > y ? -1 : 0;
}

static int take_level(const TreeLevel *level, DamagedTree *leaves) {
        uint32_t *pages = reallocarray(leaves->pages, leaves->n + level->n + 1, sizeof(*pages));

        if (!pages)
                return -ENOMEM;
        leaves->pages = pages;
        for (size_t i = 0; i < level->n; i++)
                pages[leaves->n++] = level->nodes[i].page;
        return 0;
}

static int find_leaves(TreeWalk *tree, bool is_index, DamagedTree *leaves) {
        for (;; tree->depth++) {
                PageType type = type_of_level(tree, is_index);
                int r;

                if (type == PAGE_TABLE_LEAF) {
                        complete_keys(tree);
                        qsort(tree->level.nodes, tree->level.n, sizeof(TreeNode), by_key_downwards);
                }
                if (type == PAGE_TABLE_LEAF || is_index) {
                        r = take_level(&tree->level, leaves);
                        if (r < 0)
                                return r;
                }
                if (type == PAGE_TABLE_LEAF || type == PAGE_INDEX_LEAF || tree->depth == LEVELS_MAX)
                        return 0;

                r = descend(tree);
                free(tree->level.nodes);
                tree->level = tree->next;
                tree->next = (TreeLevel){};
                if (r < 0 || tree->level.n == 0)
                        return r;
        }
}

int damaged_tree_find(const DamagedFile *file, uint32_t root, DamagedTree *ret) {
        scoped(walk_deinit) TreeWalk tree = { .file = file };
        uint8_t page[PAGE];
        bool is_index = false;
        int r;

        *ret = (DamagedTree){};
        if (root == 0 || root > file->n_pages)
                return 0;

        tree.is_seen = calloc(file->n_pages, 1);
        tree.level.nodes = calloc(1, sizeof(TreeNode));
        if (!tree.is_seen || !tree.level.nodes)
                return -ENOMEM;

        if (damaged_file_read(file, root, page))
                is_index = page[0] == PAGE_INDEX_LEAF || page[0] == PAGE_INDEX_INTERIOR;
        tree.level.nodes[tree.level.n++] = (TreeNode){ .page = root, .key = INT64_MAX, .has_key = true };
        tree.is_seen[root - 1] = 1;
        r = find_leaves(&tree, is_index, ret);
        if (r < 0)
                damaged_tree_deinit(ret);
        return r;
}

void damaged_tree_deinit(DamagedTree *tree) {
        free(tree->pages);
        *tree = (DamagedTree){};
}
