/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/detection/finder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "sample/detection/pattern.h"
#include "util/file.h"
#include "util/hash.h"

/* --- the groups that are known ------------------------------------------------------------------- */

/*
 * A node is a directory of a hierarchy that is a job, may contain jobs, or was counted because of its name. Nodes
 * are found by parent and name, and by inotify watch.
 */
typedef struct FinderNode FinderNode;
struct FinderNode {
        FinderNode *parent; /* NULL: the root of a hierarchy */
        LIST_HEAD(, FinderNode) children;
        LIST_ENTRY(FinderNode) in_parent, in_names, in_watches;
        TAILQ_ENTRY(FinderNode) in_scans, in_found, in_changed;
        Hierarchy hierarchy;
        uint64_t inode;
        int watch;         /* -1: not watched */
        int rule;          /* rule that matches the node as a job; -1: none */
        bool was_found;    /* the group, in this or another hierarchy, was returned or is waiting */
        bool is_to_scan;   /* in the list of directories to scan */
        bool is_waiting;   /* in the list of groups that wait for other hierarchies */
        bool is_old;       /* has waited for one timer interval */
        bool is_found;   /* in the list of groups to return */
        bool has_changed; /* in the list of groups with a step that began or ended */
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

static struct FinderBucket *bucket_of_name(const FinderTree *tree, const FinderNode *parent, const char *name) {
        uint64_t hash = hash_text(HASH_BEGIN ^ (uintptr_t)parent, name);

        return (struct FinderBucket *)&tree->names[hash % FINDER_BUCKETS];
}

static struct FinderBucket *bucket_of_watch(const FinderTree *tree, int watch) {
        return (struct FinderBucket *)&tree->watches[(unsigned)watch % FINDER_BUCKETS];
}

/* Adds a node with all states 0, owned by the tree; parent NULL adds the root of `hierarchy`. NULL: out of memory. */
static FinderNode *finder_tree_add(FinderTree *tree, FinderNode *parent, Hierarchy hierarchy, const char *name) {
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

static void finder_tree_set_watch(FinderTree *tree, FinderNode *node, int watch) {
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

/* Removes a node that has no children and is in no list of the Finder. */
static void finder_tree_remove(FinderTree *tree, FinderNode *node) {
        finder_tree_set_watch(tree, node, -1);
        LIST_REMOVE(node, in_names);
        if (node->parent)
                LIST_REMOVE(node, in_parent);
        else
                tree->roots[node->hierarchy] = NULL;
        tree->n_nodes--;
        free(node);
}

static void finder_tree_deinit(FinderTree *tree) {
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                while (tree->roots[h]) {
                        FinderNode *node = tree->roots[h];

                        while (!LIST_EMPTY(&node->children))
                                node = LIST_FIRST(&node->children);
                        finder_tree_remove(tree, node);
                }
}

static FinderNode *finder_tree_find(const FinderTree *tree, const FinderNode *parent, const char *name) {
        FinderNode *node;

        LIST_FOREACH(node, bucket_of_name(tree, parent, name), in_names)
                if (node->parent == parent && strcmp(node->name, name) == 0)
                        return node;
        return NULL;
}

static FinderNode *finder_tree_find_path(const FinderTree *tree, const FinderNode *root, const char *path) {
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

static FinderNode *finder_tree_find_watch(const FinderTree *tree, int watch) {
        FinderNode *node;

        LIST_FOREACH(node, bucket_of_watch(tree, watch), in_watches)
                if (node->watch == watch)
                        return node;
        return NULL;
}

/* Writes the path from the root of the hierarchy, "/a/b"; "" for the root. 0, or CGROUP_MALFORMED if the path is too
 * long. */
static int finder_tree_path(const FinderNode *node, char ret[static CGROUP_PATH_MAX]) {
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

/* --- the group of a job -------------------------------------------------------------------------- */

#define HOST_NAME_BYTES 65

/*
 * Finds the hierarchies that contain the group, and its owner; the owner is root if the hierarchies differ. Returns
 * false if the group no longer exists.
 */
static bool find_place(const CgroupTree *tree, const char *path, CgroupPlace *ret, uint32_t *ret_owner) {
        bool is_there = false;

        *ret = (CgroupPlace){};
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++) {
                char whole[CGROUP_PATH_MAX];
                scoped(closep) int fd = -1;
                struct stat st;

                if (cgroup_tree_path(tree, h, path, whole) != 0 || cgroup_tree_open(tree, h, whole, &fd) != 0 ||
                    fstat(fd, &st) < 0 || cgroup_tree_place_set(ret, h, whole) != 0)
                        continue;
                *ret_owner = is_there && *ret_owner != st.st_uid ? 0 : st.st_uid;
                is_there = true;
        }
        return is_there;
}

/*
 * Returns true for the name of this machine: packages of Slurm that support several slurmd name the node even if
 * there is only one.
 */
static bool is_host(const char *node) {
        char host[HOST_NAME_BYTES] = "";
        size_t n;

        (void)gethostname(host, sizeof(host) - 1);
        n = strcspn(host, ".");
        return (strncmp(node, host, n) == 0 && node[n] == '\0') || strcmp(node, host) == 0;
}

static bool take_names(FoundGroup *found, const PatternMatch *match) {
        const char *node = match->node[0] && !is_host(match->node) ? match->node : "";
        int n = snprintf(found->job, sizeof(found->job), "%s%s%s", match->job, *node ? "." : "", node);

        memcpy(found->path_job, match->job, sizeof(found->path_job));
        memcpy(found->node, match->node, sizeof(found->node));
        return (size_t)n < sizeof(found->job);
}

/* Describes the group with a path below the mount points ("/a/b") that matches the rule's pattern. 0, or an outcome. */
enum {
        FOUND_GROUP_GONE = 1, /* the group no longer exists in any hierarchy */
        FOUND_GROUP_NAMELESS, /* the captured text is too long for an id, or not a uid */
};
static int found_group_find(const CgroupTree *tree, const FinderRule *rule, const char *path, FoundGroup *ret) {
        FoundGroup found = {};
        PatternMatch match;

        if (pattern_match(&rule->pattern, path, &match) != 0 || !take_names(&found, &match))
                return FOUND_GROUP_NAMELESS;
        if (!find_place(tree, path, &found.place, &found.owner_uid))
                return FOUND_GROUP_GONE;

        found.is_sluid = match.is_sluid;
        found.has_uid = match.has_uid;
        found.uid = match.uid;
        memcpy(found.pattern, rule->setting, sizeof(found.pattern));
        *ret = found;
        return 0;
}

bool finder_group_is_of(const FoundGroup *found, const JobDescription *job) {
        const char *name = job_description_label(job, found->is_sluid ? "sluid" : "slurm_job");
        const char *node = job_description_label(job, "slurm_node");

        if (strcmp(found->job, job->id) == 0)
                return true;
        if (!name || strcasecmp(name, found->path_job) != 0)
                return false;
        return !found->node[0] || !node || strcmp(node, found->node) == 0;
}

/* --- the finder ---------------------------------------------------------------------------------- */

#define EVENTS (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
/* Size of one read of inotify events: a few hundred, so that the loop is not delayed. */
#define EVENTS_BYTES ((size_t)16 << 10)

struct Finder {
        CgroupTree *cgroups; /* borrowed */
        FinderTree tree;
        FinderRules rules;
        PatternStates *states; /* owned; of the directory being evaluated */
        dev_t devices[N_HIERARCHIES]; /* devices of the mount points */
        int fd, timer_fd, epoll_fd;
        bool needs_full_scan; /* all directories must be scanned: at the start, or after lost events */
        TAILQ_HEAD(, FinderNode) scans; /* directories to scan */
        /* groups that wait for other hierarchies; groups to return */
        TAILQ_HEAD(FoundList, FinderNode) waiting, found;
        TAILQ_HEAD(, FinderNode) changed; /* groups in which a step has begun or ended */
        FinderStats stats;
        char events[EVENTS_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
};

/* --- nodes -------------------------------------------------------------------------------------- */

static void queue_scan(Finder *finder, FinderNode *node) {
        if (!node->is_to_scan)
                TAILQ_INSERT_TAIL(&finder->scans, node, in_scans);
        node->is_to_scan = true;
}

static void unqueue_scan(Finder *finder, FinderNode *node) {
        if (node->is_to_scan)
                TAILQ_REMOVE(&finder->scans, node, in_scans);
        node->is_to_scan = false;
}

static void queue_changed(Finder *finder, FinderNode *node) {
        if (!node->has_changed)
                TAILQ_INSERT_TAIL(&finder->changed, node, in_changed);
        node->has_changed = true;
}

static void unqueue_changed(Finder *finder, FinderNode *node) {
        if (node->has_changed)
                TAILQ_REMOVE(&finder->changed, node, in_changed);
        node->has_changed = false;
}

static void unqueue_found(Finder *finder, FinderNode *node) {
        assert(!(node->is_found && node->is_waiting)); /* both lists use the same links */
        if (node->is_found)
                TAILQ_REMOVE(&finder->found, node, in_found);
        if (node->is_waiting)
                TAILQ_REMOVE(&finder->waiting, node, in_found);
        node->is_found = node->is_waiting = node->is_old = false;
}

static void queue_found(Finder *finder, FinderNode *node) {
        unqueue_found(finder, node);
        TAILQ_INSERT_TAIL(&finder->found, node, in_found);
        node->is_found = true;
}

static void arm_timer(Finder *finder) {
        const struct itimerspec once = { .it_value = { .tv_nsec = FINDER_WAIT_MS * 1000000L } };

        /* cannot fail: the time is valid */
        (void)timerfd_settime(finder->timer_fd, 0, &once, NULL);
}

static void queue_waiting(Finder *finder, FinderNode *node) {
        assert(!node->is_found && !node->is_waiting);
        if (TAILQ_EMPTY(&finder->waiting))
                arm_timer(finder);
        TAILQ_INSERT_TAIL(&finder->waiting, node, in_found);
        node->is_waiting = true;
}

/* Finds the same group in the other hierarchies. Returns their number. */
static size_t find_counterparts(const Finder *finder, const FinderNode *node, FinderNode *ret[static N_HIERARCHIES]) {
        char path[CGROUP_PATH_MAX];
        size_t n = 0;

        if (finder_tree_path(node, path) != 0)
                return 0;
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                if (finder->tree.roots[h] && h != node->hierarchy) {
                        ret[n] = finder_tree_find_path(&finder->tree, finder->tree.roots[h], path);
                        n += ret[n] != NULL;
                }
        return n;
}

/* Returns true if the group exists in each hierarchy that contains the first directory of its path. */
static bool is_everywhere(const Finder *finder, const FinderNode *node) {
        const FinderNode *first = node;
        char path[CGROUP_PATH_MAX];

        if (finder_tree_path(node, path) != 0)
                return true;
        while (first->parent->parent)
                first = first->parent;

        for (Hierarchy h = 0; h < N_HIERARCHIES; h++) {
                const FinderNode *root = finder->tree.roots[h];

                if (root && finder_tree_find(&finder->tree, root, first->name) &&
                    !finder_tree_find_path(&finder->tree, root, path))
                        return false;
        }
        return true;
}

static void add_job(Finder *finder, FinderNode *node) {
        FinderNode *counterparts[N_HIERARCHIES];
        size_t n = find_counterparts(finder, node, counterparts);
        bool was_found = false;

        for (size_t i = 0; i < n; i++) {
                if (counterparts[i]->is_waiting && is_everywhere(finder, counterparts[i]))
                        queue_found(finder, counterparts[i]);
                was_found = was_found || counterparts[i]->was_found;
        }

        node->was_found = true;
        if (was_found)
                return;
        if (is_everywhere(finder, node))
                queue_found(finder, node);
        else
                queue_waiting(finder, node);
}

/* Forgets a node without children. A group removed in one hierarchy may soon be created again in all. */
static void forget_one(Finder *finder, FinderNode *node) {
        bool was_queued = node->is_found || node->is_waiting;
        FinderNode *counterparts[N_HIERARCHIES];
        size_t n_counterparts = node->rule >= 0 ? find_counterparts(finder, node, counterparts) : 0;

        unqueue_scan(finder, node);
        unqueue_found(finder, node);
        unqueue_changed(finder, node);
        if (node->watch >= 0)
                /* fails if the kernel has removed the watch with the directory */
                (void)inotify_rm_watch(finder->fd, node->watch);
        finder_tree_remove(&finder->tree, node);

        for (size_t i = 0; i < n_counterparts; i++)
                counterparts[i]->was_found = counterparts[i]->is_found || counterparts[i]->is_waiting;
        if (was_queued && n_counterparts > 0)
                add_job(finder, counterparts[0]);
}

static void forget(Finder *finder, FinderNode *node) {
        for (;;) {
                FinderNode *leaf = node;

                while (!LIST_EMPTY(&leaf->children))
                        leaf = LIST_FIRST(&leaf->children);
                if (leaf == node)
                        break;
                forget_one(finder, leaf);
        }
        forget_one(finder, node);
}

/* --- evaluating a directory --------------------------------------------------------------------- */

static void count_unrecognized(Finder *finder, const FinderNode *node) {
        FinderNode *counterparts[N_HIERARCHIES];

        finder->stats.n_unrecognized += find_counterparts(finder, node, counterparts) == 0;
}

/* Adds a new directory. */
static int add(Finder *finder, FinderNode *parent, const char *name, uint64_t inode) {
        FinderNode *node;
        FinderVerdict verdict;

        if (finder->tree.n_nodes >= FINDER_GROUPS_MAX) {
                finder->stats.n_not_watched++;
                return 0;
        }
        verdict = finder_rules_judge(&finder->rules, parent->states, name, finder->states);
        if (verdict.rule < 0 && !verdict.may_contain_jobs && !verdict.is_unrecognized)
                return 0;

        node = finder_tree_add(&finder->tree, parent, parent->hierarchy, name);
        if (!node)
                return -ENOMEM;
        memcpy(node->states, finder->states, finder->rules.n * sizeof(PatternStates));
        node->inode = inode;
        node->is_seen = true;
        node->rule = verdict.rule;
        if (verdict.rule >= 0)
                add_job(finder, node);
        if (verdict.may_contain_jobs)
                queue_scan(finder, node);
        if (verdict.is_unrecognized)
                count_unrecognized(finder, node);
        return 0;
}

/* Compares a name with the directory's present content, whatever the event was. */
static int check_entry(Finder *finder, FinderNode *parent, int parent_fd, const char *name) {
        FinderNode *node = finder_tree_find(&finder->tree, parent, name);
        struct stat st;
        bool is_there = fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);

        if (is_there && node && node->inode == st.st_ino) {
                node->is_seen = true;
                return 0;
        }
        if (node)
                forget(finder, node);
        return is_there ? add(finder, parent, name, st.st_ino) : 0;
}

/* --- directories -------------------------------------------------------------------------------- */

/*
 * Opens the directory of a node, unless the name now belongs to another directory. Returns 0; all other results mean
 * that the node no longer exists.
 */
static int open_node(const Finder *finder, const FinderNode *node, int *ret_fd) {
        char path[CGROUP_PATH_MAX], full[CGROUP_PATH_MAX];
        scoped(closep) int fd = -1;
        struct stat st;
        int r;

        r = finder_tree_path(node, path);
        if (r == 0)
                r = cgroup_tree_path(finder->cgroups, node->hierarchy, path, full);
        if (r == 0)
                r = cgroup_tree_open(finder->cgroups, node->hierarchy, full, &fd);
        if (r != 0)
                return r;
        if (fstat(fd, &st) < 0 || st.st_ino != node->inode)
                return CGROUP_GONE;

        *ret_fd = TAKE_FD(fd);
        return 0;
}

static void count_not_watched(Finder *finder, FinderNode *node) {
        finder->stats.n_not_watched += !node->is_counted;
        node->is_counted = true;
}

/* Returns false if the directory cannot be watched. */
static bool watch(Finder *finder, FinderNode *node, int fd) {
        char path[32];
        int wd;

        if (node->watch >= 0)
                return true;
        if (finder->tree.n_watches >= FINDER_WATCHES_MAX)
                return false;
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        wd = inotify_add_watch(finder->fd, path, EVENTS | IN_ONLYDIR);
        finder_tree_set_watch(&finder->tree, node, wd);
        return wd >= 0;
}

static int check_entries(Finder *finder, FinderNode *node, DIR *directory) {
        const struct dirent *entry;
        FinderNode *child, *next;
        int r = 0;

        for (child = LIST_FIRST(&node->children); child; child = LIST_NEXT(child, in_parent))
                child->is_seen = false;
        while (r == 0 && (entry = readdir(directory)))
                if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) && strcmp(entry->d_name, ".") != 0 &&
                    strcmp(entry->d_name, "..") != 0)
                        r = check_entry(finder, node, dirfd(directory), entry->d_name);

        for (child = LIST_FIRST(&node->children); r == 0 && child; child = next) {
                next = LIST_NEXT(child, in_parent);
                if (!child->is_seen)
                        forget(finder, child);
        }
        return r;
}

static int scan_directory(Finder *finder, FinderNode *node) {
        scoped(closedirp) DIR *directory = NULL;
        scoped(closep) int fd = -1;

        if (open_node(finder, node, &fd) != 0)
                return 0; /* the watch of the parent directory reports the removal */
        if (!watch(finder, node, fd)) /* watch before reading, so that no change is missed */
                count_not_watched(finder, node);

        directory = file_open_list(fd, ".");
        if (directory)
                return check_entries(finder, node, directory);

        count_not_watched(finder, node);
        return 0;
}

static int scan_queued(Finder *finder) {
        FinderNode *node;
        int r = 0;

        while (r == 0 && (node = TAILQ_FIRST(&finder->scans))) {
                unqueue_scan(finder, node);
                r = scan_directory(finder, node);
        }
        return r;
}

/* --- hierarchies -------------------------------------------------------------------------------- */

/* Returns false for a second hierarchy on the same mount, such as cpu and cpuacct. */
static bool is_other_mount(const Finder *finder, const struct stat *st) {
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                if (finder->tree.roots[h] && finder->tree.roots[h]->inode == st->st_ino &&
                    finder->devices[h] == st->st_dev)
                        return true;
        return false;
}

static int add_root(Finder *finder, Hierarchy hierarchy) {
        char path[CGROUP_PATH_MAX];
        scoped(closep) int fd = -1;
        FinderNode *node;
        struct stat st;

        if (cgroup_tree_path(finder->cgroups, hierarchy, "", path) != 0 ||
            cgroup_tree_open(finder->cgroups, hierarchy, path, &fd) != 0 || fstat(fd, &st) < 0 ||
            is_other_mount(finder, &st))
                return 0;

        node = finder_tree_add(&finder->tree, NULL, hierarchy, "");
        if (!node)
                return -ENOMEM;
        node->inode = st.st_ino;
        finder->devices[hierarchy] = st.st_dev;
        finder_rules_begin(&finder->rules, node->states);
        return 0;
}

static int add_fd(const Finder *finder, int fd) {
        struct epoll_event event = { .events = EPOLLIN };

        return epoll_ctl(finder->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_fds(Finder *finder) {
        int r;

        finder->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (finder->fd < 0)
                return -errno;
        finder->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (finder->timer_fd < 0)
                return -errno;
        finder->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (finder->epoll_fd < 0)
                return -errno;

        r = add_fd(finder, finder->fd);
        return r < 0 ? r : add_fd(finder, finder->timer_fd);
}

int finder_new(Finder **ret, CgroupTree *tree, const FinderPattern *patterns, size_t n_patterns) {
        scoped(finder_freep) Finder *finder = NULL;
        int r;

        finder = calloc(1, sizeof(*finder));
        if (!finder)
                return -ENOMEM;

        TAILQ_INIT(&finder->scans);
        TAILQ_INIT(&finder->waiting);
        TAILQ_INIT(&finder->found);
        TAILQ_INIT(&finder->changed);
        finder->cgroups = tree;
        finder->needs_full_scan = true;
        finder->fd = finder->timer_fd = finder->epoll_fd = -1;
        r = open_fds(finder);
        if (r >= 0)
                r = finder_rules_init(&finder->rules, patterns, n_patterns);
        if (r < 0)
                return r;
        finder->tree.n_rules = finder->rules.n;
        finder->states = calloc(finder->rules.n + 1, sizeof(*finder->states));
        if (!finder->states)
                return -ENOMEM;

        for (Hierarchy h = 0; r == 0 && finder->rules.n > 0 && h < N_HIERARCHIES; h++)
                r = add_root(finder, h);
        if (r < 0)
                return r;

        *ret = TAKE(finder);
        return 0;
}

Finder *finder_free(Finder *finder) {
        if (!finder)
                return NULL;

        finder_tree_deinit(&finder->tree);
        closep(&finder->epoll_fd);
        closep(&finder->timer_fd);
        closep(&finder->fd);
        finder_rules_deinit(&finder->rules);
        free(finder->states);
        free(finder);
        return NULL;
}

/* --- events ------------------------------------------------------------------------------------- */

int finder_fd(const Finder *finder) {
        return finder->epoll_fd;
}

/* Stops waiting for groups that have waited for at least one interval. */
static void expire_waiting(Finder *finder) {
        FinderNode *node, *next;
        uint64_t n_times;

        if (read(finder->timer_fd, &n_times, sizeof(n_times)) != sizeof(n_times))
                return;

        for (node = TAILQ_FIRST(&finder->waiting); node; node = next) {
                next = TAILQ_NEXT(node, in_found);
                if (node->is_old)
                        queue_found(finder, node);
                else
                        node->is_old = true;
        }
        if (!TAILQ_EMPTY(&finder->waiting))
                arm_timer(finder);
}

static bool has_states(const Finder *finder, const FinderNode *node) {
        for (size_t i = 0; i < finder->rules.n; i++)
                if (node->states[i])
                        return true;
        return false;
}

static void queue_tree(Finder *finder, FinderNode *node) {
        FinderNode *child;

        queue_scan(finder, node);
        LIST_FOREACH(child, &node->children, in_parent)
                if (has_states(finder, child))
                        queue_tree(finder, child);
}

static int process_event(Finder *finder, const struct inotify_event *event) {
        scoped(closep) int fd = -1;
        FinderNode *node;

        if (event->mask & IN_Q_OVERFLOW) {
                finder->needs_full_scan = true;
                return 0;
        }
        node = finder_tree_find_watch(&finder->tree, event->wd);
        if (!node)
                return 0; /* the watch of a removed node */
        if (event->mask & IN_IGNORED) {
                finder_tree_set_watch(&finder->tree, node, -1);
                return 0;
        }
        if (!(event->mask & IN_ISDIR) || event->len == 0)
                return 0;
        if (node->rule >= 0)
                queue_changed(finder, node);
        if (!has_states(finder, node) || open_node(finder, node, &fd) != 0)
                return 0;
        return check_entry(finder, node, fd, event->name);
}

static int process_events(Finder *finder) {
        ssize_t n;
        int r = 0;

        n = read(finder->fd, finder->events, sizeof(finder->events));
        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;

        for (const char *p = finder->events; r == 0 && p < finder->events + n;) {
                const struct inotify_event *event = (const void *)p;

                r = process_event(finder, event);
                p += sizeof(*event) + event->len;
        }
        return r;
}

int finder_scan(Finder *finder) {
        int r;

        r = process_events(finder);
        if (r < 0)
                return r;

        if (finder->needs_full_scan)
                for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                        if (finder->tree.roots[h])
                                queue_tree(finder, finder->tree.roots[h]);
        finder->needs_full_scan = false;
        r = scan_queued(finder);
        if (r < 0)
                return r;

        expire_waiting(finder);
        return 0;
}

/* --- results ------------------------------------------------------------------------------------ */

/* Returns false if the group is gone, or its id would be too long. */
static bool find_group(Finder *finder, const FinderNode *node, FoundGroup *ret) {
        char path[CGROUP_PATH_MAX];
        int r;

        if (finder_tree_path(node, path) != 0)
                return false;

        r = found_group_find(finder->cgroups, &finder->rules.items[node->rule], path, ret);
        finder->stats.n_unrecognized += r == FOUND_GROUP_NAMELESS;
        return r == 0;
}

int finder_next(Finder *finder, FoundGroup *ret) {
        FinderNode *node;

        while ((node = TAILQ_FIRST(&finder->found))) {
                scoped(closep) int fd = -1;

                unqueue_found(finder, node);
                if (!find_group(finder, node, ret))
                        continue;
                if (open_node(finder, node, &fd) == 0)
                        /* reports steps; without a watch, they are not reported */
                        (void)watch(finder, node, fd);
                finder->stats.n_found++;
                return 0;
        }
        return FINDER_NONE;
}

int finder_next_step(Finder *finder, CgroupPlace *ret) {
        FinderNode *node;
        FoundGroup group;

        while ((node = TAILQ_FIRST(&finder->changed))) {
                unqueue_changed(finder, node);
                if (find_group(finder, node, &group)) {
                        *ret = group.place;
                        return 0;
                }
        }
        return FINDER_NONE;
}

void finder_stats(const Finder *finder, FinderStats *ret) {
        *ret = finder->stats;
        ret->n_watches = finder->tree.n_watches;
}
