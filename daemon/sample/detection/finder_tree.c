/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/detection/finder_tree.h"

#include <stdlib.h>
#include <string.h>

#include "util/hash.h"

static struct FinderBucket *bucket_of_name(const FinderTree *tree, const FinderNode *parent, const char *name) {
        uint64_t hash = hash_text(HASH_BEGIN ^ (uintptr_t)parent, name);

        return (struct FinderBucket *)&tree->names[hash % FINDER_BUCKETS];
}

static struct FinderBucket *bucket_of_watch(const FinderTree *tree, int watch) {
        return (struct FinderBucket *)&tree->watches[(unsigned)watch % FINDER_BUCKETS];
}

FinderNode *finder_tree_add(FinderTree *tree, FinderNode *parent, Hierarchy hierarchy, const char *name) {
        size_t n_states = tree->n_rules * sizeof(PatternStates), n_name = strlen(name) + 1;
        FinderNode *node = calloc(1, sizeof(*node) + n_states + n_name);

        if (!node)
                return NULL;

        node->parent = parent;
        node->hierarchy = hierarchy;
        node->watch = -1;
        node->rule = -1;
        node->name = (char *)node->states + n_states;
        memcpy(node->name, name, n_name);
        if (parent)
                LIST_INSERT_HEAD(&parent->children, node, in_parent);
        else
                tree->roots[hierarchy] = node;
        LIST_INSERT_HEAD(bucket_of_name(tree, parent, name), node, in_names);
        tree->n_nodes++;
        return node;
}

void finder_tree_set_watch(FinderTree *tree, FinderNode *node, int watch) {
        if (node->watch >= 0) {
                LIST_REMOVE(node, in_watches);
                tree->n_watches--;
        }

        node->watch = watch;
        if (watch >= 0) {
                LIST_INSERT_HEAD(bucket_of_watch(tree, watch), node, in_watches);
                tree->n_watches++;
        }
}

void finder_tree_remove(FinderTree *tree, FinderNode *node) {
        finder_tree_set_watch(tree, node, -1);
        LIST_REMOVE(node, in_names);
        if (node->parent)
                LIST_REMOVE(node, in_parent);
        else
                tree->roots[node->hierarchy] = NULL;
        tree->n_nodes--;
        free(node);
}

void finder_tree_deinit(FinderTree *tree) {
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                while (tree->roots[h]) {
                        FinderNode *node = tree->roots[h];

                        while (!LIST_EMPTY(&node->children))
                                node = LIST_FIRST(&node->children);
                        finder_tree_remove(tree, node);
                }
}

FinderNode *finder_tree_find(const FinderTree *tree, const FinderNode *parent, const char *name) {
        FinderNode *node;

        LIST_FOREACH(node, bucket_of_name(tree, parent, name), in_names)
                if (node->parent == parent && strcmp(node->name, name) == 0)
                        return node;
        return NULL;
}

FinderNode *finder_tree_find_path(const FinderTree *tree, const FinderNode *root, const char *path) {
        FinderNode *node = (FinderNode *)root;

        while (node && *path == '/') {
                size_t n = strcspn(path + 1, "/");
                char name[CGROUP_PATH_MAX];

                if (n >= sizeof(name))
                        return NULL;
                memcpy(name, path + 1, n);
                name[n] = '\0';
                node = finder_tree_find(tree, node, name);
                path += n + 1;
        }
        return node;
}

FinderNode *finder_tree_find_watch(const FinderTree *tree, int watch) {
        FinderNode *node;

        LIST_FOREACH(node, bucket_of_watch(tree, watch), in_watches)
                if (node->watch == watch)
                        return node;
        return NULL;
}

int finder_tree_path(const FinderNode *node, char ret[static CGROUP_PATH_MAX]) {
        char *end = ret + CGROUP_PATH_MAX - 1, *begin = end;

        *end = '\0';
        for (; node->parent; node = node->parent) {
                size_t n = strlen(node->name);

                if ((size_t)(begin - ret) < n + 1)
                        return CGROUP_MALFORMED;
                begin -= n;
                memcpy(begin, node->name, n);
                *--begin = '/';
        }

        memmove(ret, begin, (size_t)(end - begin) + 1);
        return 0;
}
