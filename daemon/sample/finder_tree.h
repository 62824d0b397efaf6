/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finder tree: the groups that a Finder knows of
 *
 * A node is a directory of a hierarchy that is a job, that may have one below it, or whose name is counted. Nodes are found
 * by their parent and name, and by their watch. Nothing here asks the kernel.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "sample/cgroup_tree.h"
#include "sample/pattern.h"

typedef struct FinderNode FinderNode;
struct FinderNode {
        FinderNode *parent; /* NULL: the root of a hierarchy */
        LIST_HEAD(, FinderNode) children;
        LIST_ENTRY(FinderNode) in_parent, in_names, in_watches;
        TAILQ_ENTRY(FinderNode) in_scans, in_found, in_ended;
        Hierarchy hierarchy;
        uint64_t inode;
        int watch;         /* -1: it has none */
        int rule;          /* that says it is a job; -1: none does */
        bool was_found;    /* it, or the same group in another hierarchy, was handed out or is waited for */
        bool is_to_scan;   /* in the Finder's lists: to be read, */
        bool is_waiting;   /*   for other hierarchies, */
        bool is_old;       /*   for some time, */
        bool is_to_hand;   /*   to be handed out, */
        bool has_ended_step; /* and to be told of */
        bool is_seen;      /* while its parent is read */
        bool is_counted;   /* as one that could not be watched */
        char *name;        /* behind the states */
        PatternStates states[]; /* for each rule: how far it has come here; 0 where it leads no further */
};

#define FINDER_BUCKETS 1024U
LIST_HEAD(FinderBucket, FinderNode);

typedef struct FinderTree {
        size_t n_rules, n_nodes, n_watches;
        FinderNode *roots[N_HIERARCHIES]; /* owned, with all below; NULL where there is none */
        struct FinderBucket names[FINDER_BUCKETS], watches[FINDER_BUCKETS];
} FinderTree;

void finder_tree_deinit(FinderTree *tree);

/* A new node with its states all 0; parent NULL makes the root of `hierarchy`. Owned by the tree. NULL: out of memory. */
FinderNode *finder_tree_add(FinderTree *tree, FinderNode *parent, Hierarchy hierarchy, const char *name);
/* One without children that is in no list of the Finder's. */
void finder_tree_remove(FinderTree *tree, FinderNode *node);

/* NULL when there is none. */
FinderNode *finder_tree_find(const FinderTree *tree, const FinderNode *parent, const char *name);
FinderNode *finder_tree_find_path(const FinderTree *tree, const FinderNode *root, const char *path);
FinderNode *finder_tree_find_watch(const FinderTree *tree, int watch);
void finder_tree_set_watch(FinderTree *tree, FinderNode *node, int watch);

/* "/a/b", from the root of its hierarchy; "" for the root itself. 0, or CGROUP_MALFORMED when it is too long. */
int finder_tree_path(const FinderNode *node, char ret[static CGROUP_PATH_MAX]);
