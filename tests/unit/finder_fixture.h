/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A finder on a tree of tests/data/trees
 */

#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "sample/detection/finder.h"
#include "tree.h"
#include "util/buffer.h"

typedef struct Fixture {
        char root[64]; /* "" if the tree is not copied */
        CgroupTree *tree;
        Finder *finder;
} Fixture;

static inline void begin_at(Fixture *f, const char *root, const FinderPattern *patterns, size_t n) {
        assert_int_equal(cgroup_tree_new(&f->tree, root), 0);
        assert_int_equal(finder_new(&f->finder, f->tree, patterns, n), 0);
        assert_int_equal(finder_scan(f->finder), 0);
}

/* Uses the default patterns of perfd. */
static inline void begin(Fixture *f, const char *root) {
        FinderPattern patterns[CONFIG_PATTERNS_MAX];
        Config config;

        config_defaults(&config);
        begin_at(f, root, patterns, config_patterns(&config.patterns, patterns));
}

/* Copies the tree, so that the test can change it. */
static inline void begin_copy(Fixture *f, const char *tree) {
        tree_copy(tree, f->root);
        begin(f, f->root);
}

static inline void begin_with(Fixture *f, const char *root, const char *text) {
        const FinderPattern pattern = { "other", text, NULL };

        begin_at(f, root, &pattern, 1);
}

static inline void end(Fixture *f) {
        finder_free(f->finder);
        cgroup_tree_free(f->tree);
        if (f->root[0])
                tree_remove(f->root);
}

static inline int compare(const void *a, const void *b) {
        return strcmp(a, b);
}

static inline void make(const Fixture *f, const char *path) {
        char full[256];

        (void)snprintf(full, sizeof(full), "%s/sys/fs/cgroup/%s", f->root, path);
        assert_int_equal(mkdir(full, 0755), 0);
}

static inline void make_away(const Fixture *f, const char *path) {
        char command[300];

        (void)snprintf(command, sizeof(command), "rm -r %s/sys/fs/cgroup/%s", f->root, path);
        assert_int_equal(system(command), 0);
}

static inline void unmake(const Fixture *f, const char *path) {
        char full[256];

        (void)snprintf(full, sizeof(full), "%s/sys/fs/cgroup/%s", f->root, path);
        assert_int_equal(rmdir(full), 0);
}

/* As begin_copy(), without the job that exists in one hierarchy only. */
static inline void begin_copy_of_v1(Fixture *f) {
        tree_copy("slurm-v1", f->root);
        make_away(f, "memory/slurm/uid_1000/job_45");
        begin(f, f->root);
}

/* Returns all groups that the finder returns now, sorted: "job pattern path [of UID], …". Caller frees. */
static inline char *found(Fixture *f) {
        char said[64][CGROUP_PATH_MAX + 256];
        scoped(buffer_deinit) Buffer all = {};
        FoundGroup group;
        size_t n = 0;

        assert_int_equal(finder_scan(f->finder), 0);
        while (finder_next(f->finder, &group) == 0) {
                const char *path = group.place.v2[0] ? group.place.v2 : group.place.memory;

                assert_true(n < 64);
                (void)snprintf(said[n], sizeof(said[n]), "%s %s %s", group.job, group.pattern, path);
                if (group.has_uid)
                        (void)snprintf(said[n] + strlen(said[n]), 32, " of %u", group.uid);
                n++;
        }
        qsort(said, n, sizeof(said[0]), compare);
        for (size_t i = 0; i < n; i++)
                buffer_printf(&all, "%s%s", i > 0 ? ", " : "", said[i]);
        return buffer_take(&all);
}

static inline void assert_found(Fixture *f, const char *expected) {
        scoped(freep) char *all = found(f);

        assert_string_equal(all, expected);
}

static inline uint64_t n_unrecognized(const Fixture *f) {
        FinderStats stats;

        finder_stats(f->finder, &stats);
        return stats.n_unrecognized;
}

static inline size_t n_watches(const Fixture *f) {
        FinderStats stats;

        finder_stats(f->finder, &stats);
        assert_int_equal(stats.n_not_watched, 0);
        return stats.n_watches;
}

static inline bool is_readable(const Fixture *f) {
        struct pollfd pollfd = { .fd = finder_fd(f->finder), .events = POLLIN };

        return poll(&pollfd, 1, 0) == 1;
}

static inline void await_change(const Fixture *f) {
        struct pollfd pollfd = { .fd = finder_fd(f->finder), .events = POLLIN };

        assert_int_equal(poll(&pollfd, 1, 10 * (int)FINDER_WAIT_MS), 1);
}

/* Scans until the finder returns a group. */
static inline FoundGroup await_group(Fixture *f) {
        FoundGroup group;

        while (finder_next(f->finder, &group) == FINDER_NONE) {
                await_change(f);
                assert_int_equal(finder_scan(f->finder), 0);
        }
        return group;
}
