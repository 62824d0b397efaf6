/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finder tree: the groups known to a Finder
 *
 * A node is a directory of a hierarchy that is a job, may contain jobs, or was counted because of its name. Nodes are
 * found by parent and name, and by inotify watch. This module makes no system calls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "sample/cgroup/cgroup_tree.h"
#include "sample/detection/pattern.h"

typedef struct FinderNode FinderNode;
struct FinderNode {
        FinderNode *parent; /* NULL: the root of a hierarchy */
        LIST_HEAD(, FinderNode) children;
        LIST_ENTRY(FinderNode) in_parent, in_names, in_watches;
        TAILQ_ENTRY(FinderNode) in_scans, in_found, in_ended;
        Hierarchy hierarchy;
        uint64_t inode;
        int watch;         /* -1: not watched */
        int rule;          /* rule that matches the node as a job; -1: none */
        bool was_found;    /* the group, in this or another hierarchy, was returned or is waiting */
        bool is_to_scan;   /* in the list of directories to scan */
        bool is_waiting;   /* in the list of groups that wait for other hierarchies */
        bool is_old;       /* has waited for one timer interval */
        bool is_found;   /* in the list of groups to return */
        bool has_ended_step; /* in the list of groups with an ended step */
        bool is_seen;      /* found during the scan of the parent */
        bool is_counted;   /* counted in n_not_watched */
        char *name;        /* stored after the states */
        PatternStates states[]; /* for each rule: progress of its pattern; 0 if the pattern cannot match below */
};

#define FINDER_BUCKETS 1024U
LIST_HEAD(FinderBucket, FinderNode);

typedef struct FinderTree {
        size_t n_rules, n_nodes, n_watches;
        FinderNode *roots[N_HIERARCHIES]; /* owned, with all nodes below; NULL if there is none */
        struct FinderBucket names[FINDER_BUCKETS], watches[FINDER_BUCKETS];
} FinderTree;

void finder_tree_deinit(FinderTree *tree);

/*
 * Adds a node with all states 0; parent NULL adds the root of `hierarchy`. Owned by the tree. Returns NULL if out of
 * memory.
 */
FinderNode *finder_tree_add(FinderTree *tree, FinderNode *parent, Hierarchy hierarchy, const char *name);
/* Removes a node that has no children and is in no list of the Finder. */
void finder_tree_remove(FinderTree *tree, FinderNode *node);

/* Returns NULL if there is none. */
FinderNode *finder_tree_find(const FinderTree *tree, const FinderNode *parent, const char *name);
FinderNode *finder_tree_find_path(const FinderTree *tree, const FinderNode *root, const char *path);
FinderNode *finder_tree_find_watch(const FinderTree *tree, int watch);
void finder_tree_set_watch(FinderTree *tree, FinderNode *node, int watch);

/*
 * Writes the path from the root of the hierarchy, "/a/b"; "" for the root. Returns 0, or CGROUP_MALFORMED if the path
 * is too long.
 */
int finder_tree_path(const FinderNode *node, char ret[static CGROUP_PATH_MAX]);
