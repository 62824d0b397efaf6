#include "sample/finder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "model/pattern.h"
#include "sample/finder_tree.h"

#define EVENTS (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
/* What one scan takes: a few hundred events, so that the loop turns. */
#define EVENTS_BYTES ((size_t)16 << 10)
#define HOST_NAME_BYTES 65

struct Finder {
        CgroupTree *cgroups; /* not owned */
        FinderTree tree;
        FinderRules rules;
        PatternStates *states; /* owned; of the directory that is judged */
        dev_t devices[N_HIERARCHIES]; /* of the roots */
        int fd;
        bool is_to_read_all; /* nothing was read yet, or events were lost */
        char host[HOST_NAME_BYTES];
        TAILQ_HEAD(, FinderNode) scans; /* to be read */
        TAILQ_HEAD(, FinderNode) found; /* to be handed out */
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

static void queue_found(Finder *finder, FinderNode *node) {
        if (!node->is_to_hand)
                TAILQ_INSERT_TAIL(&finder->found, node, in_found);
        node->is_to_hand = true;
}

static void unqueue_found(Finder *finder, FinderNode *node) {
        if (node->is_to_hand)
                TAILQ_REMOVE(&finder->found, node, in_found);
        node->is_to_hand = false;
}

/* The same group in the other hierarchies; *h is where to look next. NULL: there is none more. */
static FinderNode *next_twin(const Finder *finder, const FinderNode *node, Hierarchy *h) {
        char path[CGROUP_PATH_MAX];

        if (finder_node_path(node, path) != 0)
                return NULL;
        while (*h < N_HIERARCHIES) {
                const FinderNode *root = finder->tree.roots[*h];
                FinderNode *twin = root && *h != node->hierarchy ? finder_tree_find_path(&finder->tree, root, path) : NULL;

                (*h)++;
                if (twin)
                        return twin;
        }
        return NULL;
}

static void forget_one(Finder *finder, FinderNode *node) {
        FinderNode *twin;

        if (node->rule >= 0)
                for (Hierarchy h = 0; (twin = next_twin(finder, node, &h));)
                        twin->handed &= ~(1U << node->hierarchy);
        unqueue_scan(finder, node);
        unqueue_found(finder, node);
        if (node->watch >= 0)
                (void)inotify_rm_watch(finder->fd, node->watch); /* which the kernel did itself when the directory is gone */
        finder_tree_remove(&finder->tree, node);
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

/* --- what a directory is ------------------------------------------------------------------------ */

/* It may have been handed out from another hierarchy: then only if it was not known to be in this one as well. */
static void take_job(Finder *finder, FinderNode *node) {
        FinderNode *twin;

        for (Hierarchy h = 0; (twin = next_twin(finder, node, &h));) {
                if (twin->is_to_hand)
                        return;
                node->handed |= twin->handed;
        }
        if (!(node->handed & (1U << node->hierarchy)))
                queue_found(finder, node);
}

static void take_unrecognized(Finder *finder, const FinderNode *node) {
        Hierarchy h = 0;

        finder->stats.n_unrecognized += !next_twin(finder, node, &h);
}

/* A directory that was not known. */
static int add(Finder *finder, FinderNode *parent, const char *name, uint64_t inode) {
        FinderNode *node;
        FinderVerdict verdict;

        if (finder->tree.n_nodes >= FINDER_GROUPS_MAX) {
                finder->stats.n_not_watched++;
                return 0;
        }
        verdict = finder_rules_judge(&finder->rules, parent->states, name, finder->states);
        if (verdict.rule < 0 && !verdict.leads_on && !verdict.is_unrecognized)
                return 0;

        node = finder_tree_add(&finder->tree, parent, parent->hierarchy, name);
        if (!node)
                return -ENOMEM;
        memcpy(node->states, finder->states, finder->rules.n * sizeof(PatternStates));
        node->inode = inode;
        node->is_seen = true;
        node->rule = verdict.rule;
        if (verdict.rule >= 0)
                take_job(finder, node);
        if (verdict.leads_on)
                queue_scan(finder, node);
        if (verdict.is_unrecognized)
                take_unrecognized(finder, node);
        return 0;
}

/* Whatever an event said: what is there now? */
static int look(Finder *finder, FinderNode *parent, int parent_fd, const char *name) {
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

/* Path in the hierarchy, with what is above the mount. */
static int full_path(const Finder *finder, Hierarchy hierarchy, const char *path, char ret[static CGROUP_PATH_MAX]) {
        const char *root = cgroup_tree_root(finder->cgroups, hierarchy);
        int n = snprintf(ret, CGROUP_PATH_MAX, "%s%s", strcmp(root, "/") == 0 && *path ? "" : root, path);

        return n < CGROUP_PATH_MAX ? 0 : CGROUP_MALFORMED;
}

/* The node's own directory: another one of its name is none. 0, or an outcome or error that comes to the same: it is not there. */
static int open_node(const Finder *finder, const FinderNode *node, int *ret_fd) {
        char path[CGROUP_PATH_MAX], full[CGROUP_PATH_MAX];
        scoped(closep) int fd = -1;
        struct stat st;
        int r;

        r = finder_node_path(node, path);
        if (r == 0)
                r = full_path(finder, node->hierarchy, path, full);
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

/* Before it is read, so that nothing falls between. */
static void watch(Finder *finder, FinderNode *node, int fd) {
        char path[32];
        int wd = -1;

        if (node->watch >= 0)
                return;
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (finder->tree.n_watches < FINDER_WATCHES_MAX)
                wd = inotify_add_watch(finder->fd, path, EVENTS | IN_ONLYDIR);
        if (wd >= 0)
                finder_tree_set_watch(&finder->tree, node, wd);
        else
                count_not_watched(finder, node);
}

static int look_at_all(Finder *finder, FinderNode *node, DIR *directory) {
        const struct dirent *entry;
        FinderNode *child, *next;
        int r = 0;

        for (child = LIST_FIRST(&node->children); child; child = LIST_NEXT(child, in_parent))
                child->is_seen = false;
        while (r == 0 && (entry = readdir(directory)))
                if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) && strcmp(entry->d_name, ".") != 0 &&
                    strcmp(entry->d_name, "..") != 0)
                        r = look(finder, node, dirfd(directory), entry->d_name);

        for (child = LIST_FIRST(&node->children); r == 0 && child; child = next) {
                next = LIST_NEXT(child, in_parent);
                if (!child->is_seen)
                        forget(finder, child);
        }
        return r;
}

static int scan_directory(Finder *finder, FinderNode *node) {
        scoped(closep) int fd = -1;
        DIR *directory;
        int r, list_fd;

        if (open_node(finder, node, &fd) != 0)
                return 0; /* its parent's watch tells */
        watch(finder, node, fd);

        list_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        directory = list_fd >= 0 ? fdopendir(list_fd) : NULL;
        if (!directory) {
                closep(&list_fd);
                count_not_watched(finder, node);
                return 0;
        }

        r = look_at_all(finder, node, directory);
        (void)closedir(directory);
        return r;
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

/* cpu and cpuacct are often one mount. */
static bool is_other_mount(const Finder *finder, const struct stat *st) {
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                if (finder->tree.roots[h] && finder->tree.roots[h]->inode == st->st_ino && finder->devices[h] == st->st_dev)
                        return true;
        return false;
}

static int add_root(Finder *finder, Hierarchy hierarchy) {
        const char *path = cgroup_tree_root(finder->cgroups, hierarchy);
        scoped(closep) int fd = -1;
        FinderNode *node;
        struct stat st;

        if (!path || cgroup_tree_open(finder->cgroups, hierarchy, path, &fd) != 0 || fstat(fd, &st) < 0 ||
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

int finder_new(Finder **ret, CgroupTree *tree, const FinderPattern *patterns, size_t n_patterns) {
        scoped(finder_freep) Finder *finder = NULL;
        int r;

        finder = calloc(1, sizeof(*finder));
        if (!finder)
                return -ENOMEM;

        TAILQ_INIT(&finder->scans);
        TAILQ_INIT(&finder->found);
        finder->cgroups = tree;
        finder->is_to_read_all = true;
        finder->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (finder->fd < 0)
                return -errno;
        r = finder_rules_init(&finder->rules, patterns, n_patterns);
        if (r < 0)
                return r;
        finder->tree.n_rules = finder->rules.n;
        finder->states = calloc(finder->rules.n + 1, sizeof(*finder->states));
        if (!finder->states)
                return -ENOMEM;

        (void)gethostname(finder->host, sizeof(finder->host) - 1);
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
        closep(&finder->fd);
        finder_rules_deinit(&finder->rules);
        free(finder->states);
        free(finder);
        return NULL;
}

/* --- events ------------------------------------------------------------------------------------- */

int finder_fd(const Finder *finder) {
        return finder->fd;
}

static bool leads_on(const Finder *finder, const FinderNode *node) {
        for (size_t i = 0; i < finder->rules.n; i++)
                if (node->states[i])
                        return true;
        return false;
}

static void queue_tree(Finder *finder, FinderNode *node) {
        FinderNode *child;

        queue_scan(finder, node);
        LIST_FOREACH(child, &node->children, in_parent)
                if (leads_on(finder, child))
                        queue_tree(finder, child);
}

static int take_event(Finder *finder, const struct inotify_event *event) {
        scoped(closep) int fd = -1;
        FinderNode *node;

        if (event->mask & IN_Q_OVERFLOW) {
                finder->is_to_read_all = true;
                return 0;
        }
        node = finder_tree_find_watch(&finder->tree, event->wd);
        if (!node)
                return 0; /* of a directory that is forgotten */
        if (event->mask & IN_IGNORED) {
                finder_tree_set_watch(&finder->tree, node, -1);
                return 0;
        }
        if (!(event->mask & IN_ISDIR) || event->len == 0 || open_node(finder, node, &fd) != 0)
                return 0;
        return look(finder, node, fd, event->name);
}

static int take_events(Finder *finder) {
        ssize_t n;
        int r = 0;

        n = read(finder->fd, finder->events, sizeof(finder->events));
        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;

        for (const char *p = finder->events; r == 0 && p < finder->events + n;) {
                const struct inotify_event *event = (const void *)p;

                r = take_event(finder, event);
                p += sizeof(*event) + event->len;
        }
        return r;
}

int finder_scan(Finder *finder) {
        int r;

        r = take_events(finder);
        if (r < 0)
                return r;

        if (finder->is_to_read_all)
                for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                        if (finder->tree.roots[h])
                                queue_tree(finder, finder->tree.roots[h]);
        finder->is_to_read_all = false;
        return scan_queued(finder);
}

/* --- handing out -------------------------------------------------------------------------------- */

/* All hierarchies that it is in, their bits in *ret_in. */
static void find_place(const Finder *finder, const char *path, CgroupPlace *ret, uint32_t *ret_in) {
        *ret = (CgroupPlace){};
        *ret_in = 0;

        for (Hierarchy h = 0; h < N_HIERARCHIES; h++) {
                char full[CGROUP_PATH_MAX];
                scoped(closep) int fd = -1;

                if (!cgroup_tree_root(finder->cgroups, h) || full_path(finder, h, path, full) != 0 ||
                    cgroup_tree_open(finder->cgroups, h, full, &fd) != 0)
                        continue;
                (void)cgroup_place_set(ret, h, full);
                *ret_in |= 1U << h;
        }
}

/* Packages of Slurm that can do with several slurmd name the node even when there is one, as this machine. */
static bool is_host(const Finder *finder, const char *node) {
        size_t n = strcspn(finder->host, ".");

        return (strncmp(node, finder->host, n) == 0 && node[n] == '\0') || strcmp(node, finder->host) == 0;
}

static bool name_job(const Finder *finder, const PatternMatch *match, FoundGroup *found) {
        bool has_node = match->node[0] && !is_host(finder, match->node);
        int n = snprintf(found->job, sizeof(found->job), "%s%s%s", match->job, has_node ? "." : "", has_node ? match->node : "");

        memcpy(found->path_job, match->job, sizeof(found->path_job));
        memcpy(found->node, match->node, sizeof(found->node));
        return (size_t)n < sizeof(found->job);
}

/* False: it is gone, or its id would be too long. */
static bool hand_out(Finder *finder, FinderNode *node, FoundGroup *ret) {
        const FinderRule *rule = &finder->rules.items[node->rule];
        FoundGroup found = { .is_wider = node->handed != 0 };
        char path[CGROUP_PATH_MAX];
        PatternMatch match;
        FinderNode *twin;
        uint32_t in;

        if (finder_node_path(node, path) != 0)
                return false;
        if (pattern_match(&rule->pattern, path, &match) != 0 || !name_job(finder, &match, &found)) {
                finder->stats.n_unrecognized++;
                return false;
        }
        find_place(finder, path, &found.place, &in);
        if (in == 0)
                return false;

        node->handed = in;
        for (Hierarchy h = 0; (twin = next_twin(finder, node, &h));)
                twin->handed = in;
        found.is_sluid = match.is_sluid;
        found.has_uid = match.has_uid;
        found.uid = match.uid;
        memcpy(found.pattern, rule->setting, sizeof(found.pattern));
        *ret = found;
        return true;
}

int finder_next(Finder *finder, FoundGroup *ret) {
        FinderNode *node;

        while ((node = TAILQ_FIRST(&finder->found))) {
                unqueue_found(finder, node);
                if (hand_out(finder, node, ret)) {
                        finder->stats.n_found += !ret->is_wider;
                        return 0;
                }
        }
        return FINDER_NONE;
}

void finder_stats(const Finder *finder, FinderStats *ret) {
        *ret = finder->stats;
        ret->n_watches = finder->tree.n_watches;
}

static const char *label_of(const JobInfo *info, const char *key) {
        for (size_t i = 0; i < info->n_labels; i++)
                if (strcmp(info->labels[i].key, key) == 0)
                        return info->labels[i].value;
        return NULL;
}

bool found_group_is_of(const FoundGroup *found, const JobInfo *info) {
        const char *job = label_of(info, found->is_sluid ? "sluid" : "slurm_job"), *node = label_of(info, "slurm_node");

        if (strcmp(found->job, info->id) == 0)
                return true;
        if (!job || strcasecmp(job, found->path_job) != 0)
                return false;
        return !found->node[0] || !node || strcmp(node, found->node) == 0;
}
