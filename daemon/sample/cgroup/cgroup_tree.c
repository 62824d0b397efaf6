/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/cgroup/cgroup_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "sample/cgroup/cgroup_parse.h"
#include "sample/mounts.h"
#include "util/beneath.h"
#include "util/file.h"

#define MOUNTINFO_MAX ((size_t)16 << 20)
/* limits the text of proc/PID/cgroup: a path for each v1 hierarchy */
#define PLACE_TEXT_MAX ((size_t)16 << 10)

typedef struct CgroupMount {
        int fd;                     /* owned; -1: not mounted */
        char root[CGROUP_PATH_MAX]; /* path of the group at the mount point: "/" except for part of a hierarchy
                                     * mounted in a container */
} CgroupMount;

struct CgroupTree {
        int root_fd;
        CgroupMount mounts[N_HIERARCHIES];
        CgroupDevices devices;
        unsigned n_opened; /* number of groups opened so far */
        char *text; /* owned; CGROUP_TEXT_MAX bytes: the last text read */
};

static const struct {
        const char *controller;
        size_t offset; /* offset of the path in CgroupPlace */
} hierarchies[N_HIERARCHIES] = {
        [HIERARCHY_V2] = { NULL, offsetof(CgroupPlace, v2) },
        [HIERARCHY_CPU] = { "cpu", offsetof(CgroupPlace, cpu) },
        [HIERARCHY_CPUACCT] = { "cpuacct", offsetof(CgroupPlace, cpuacct) },
        [HIERARCHY_CPUSET] = { "cpuset", offsetof(CgroupPlace, cpuset) },
        [HIERARCHY_MEMORY] = { "memory", offsetof(CgroupPlace, memory) },
        [HIERARCHY_BLKIO] = { "blkio", offsetof(CgroupPlace, blkio) },
        [HIERARCHY_PIDS] = { "pids", offsetof(CgroupPlace, pids) },
};

/* --- comma-separated words ---------------------------------------------------------------------- */

static bool lists_word(const char *list, size_t n_list, const char *word) {
        const char *end = list + n_list;
        size_t n = strlen(word);

        while (list < end) {
                const char *comma = memchr(list, ',', (size_t)(end - list));
                size_t n_item = (size_t)((comma ? comma : end) - list);

                if (n_item == n && memcmp(list, word, n) == 0)
                        return true;
                list += n_item + 1;
        }
        return false;
}

/* --- paths -------------------------------------------------------------------------------------- */

/*
 * Returns true for a path as written by the kernel, "/a/b", without components such as "..". "/../a" is outside the
 * cgroup namespace.
 */
static bool is_plain(const char *path) {
        if (*path != '/' || strlen(path) >= CGROUP_PATH_MAX)
                return false;

        while (*path) {
                size_t n = strcspn(++path, "/");

                if ((n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.'))
                        return false;
                path += n;
        }
        return true;
}

/* Returns the part of the path below the mount point; "" for the mount point itself, NULL if the path is outside. */
static const char *below_mount(const CgroupMount *mount, const char *path) {
        size_t n = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);

        if (!is_plain(path) || strncmp(path, mount->root, n) != 0 || (path[n] != '/' && path[n] != '\0'))
                return NULL;
        return path[n] == '/' ? path + n + 1 : path + n;
}

int cgroup_tree_open(const CgroupTree *tree, Hierarchy hierarchy, const char *path, int *ret_fd) {
        const CgroupMount *mount = &tree->mounts[hierarchy];
        const char *below;
        int r;

        if (mount->fd < 0)
                return CGROUP_GONE;
        below = below_mount(mount, path);
        if (!below)
                return CGROUP_MALFORMED;

        r = beneath_open(mount->fd, below, true, ret_fd);
        if (r == BENEATH_NONE)
                return CGROUP_GONE;
        return r == BENEATH_OUTSIDE ? CGROUP_MALFORMED : r;
}

unsigned cgroup_tree_n_above(const CgroupTree *tree, Hierarchy hierarchy, const char *path) {
        const CgroupMount *mount = &tree->mounts[hierarchy];
        const char *below = mount->fd >= 0 ? below_mount(mount, path) : NULL;
        unsigned n = below && *below;

        for (; below && *below; below++)
                n += *below == '/';
        return n;
}

/* --- mounts ------------------------------------------------------------------------------------- */

static bool is_type(const Mount *mount, const char *type) {
        return mount->type.n == strlen(type) && memcmp(mount->type.text, type, mount->type.n) == 0;
}

static bool is_of(const Mount *mount, Hierarchy hierarchy) {
        if (hierarchy == HIERARCHY_V2)
                return is_type(mount, "cgroup2");
        return is_type(mount, "cgroup") &&
               lists_word(mount->options.text, mount->options.n, hierarchies[hierarchy].controller);
}

/* Returns false if another file system was mounted over the hierarchy. */
static bool is_hierarchy(int fd) {
        return faccessat(fd, "cgroup.procs", F_OK, 0) == 0;
}

/* Opens a mount; if it cannot be used, a later mount of the same hierarchy is tried. */
static void try_mount(CgroupTree *tree, const Mount *mount, Hierarchy hierarchy) {
        CgroupMount *to = &tree->mounts[hierarchy];
        scoped(closep) int fd = -1;
        char root[CGROUP_PATH_MAX], point[4096];

        if (mounts_unescape(mount->root, root, sizeof(root)) >= sizeof(root) || !is_plain(root) ||
            mounts_unescape(mount->point, point, sizeof(point)) >= sizeof(point) || point[0] != '/')
                return;
        if (beneath_open(tree->root_fd, point + 1, false, &fd) != 0 || !is_hierarchy(fd))
                return;

        to->fd = TAKE_FD(fd);
        memcpy(to->root, root, sizeof(root));
}

/* Prefers mounts of whole hierarchies: a container's part may be mounted elsewhere as well. */
static void find_mounts(CgroupTree *tree, const MountList *list) {
        for (int is_part = 0; is_part < 2; is_part++)
                for (size_t i = 0; i < list->n; i++)
                        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                                if (tree->mounts[h].fd < 0 && (list->items[i].root.n > 1) == is_part &&
                                    is_of(&list->items[i], h))
                                        try_mount(tree, &list->items[i], h);
}

/* With another root, reads the mounts of process 1, like the sampler. */
static int read_mountinfo(const CgroupTree *tree, bool is_machine, char **ret) {
        int r = -ENOENT;

        if (!is_machine)
                r = file_read_at(tree->root_fd, "proc/1/mountinfo", MOUNTINFO_MAX, ret, NULL);
        if (r < 0)
                r = file_read_at(tree->root_fd, "proc/self/mountinfo", MOUNTINFO_MAX, ret, NULL);
        return r;
}

static int read_mounts(CgroupTree *tree, bool is_machine) {
        scoped(mount_list_deinit) MountList list = {};
        scoped(freep) char *text = NULL;
        const char *fault;
        int r;

        r = read_mountinfo(tree, is_machine, &text);
        if (r < 0)
                return r == -ENOMEM ? r : 0;

        r = mounts_parse(text, &list, &fault);
        if (r < 0)
                return r;
        if (r == 0)
                find_mounts(tree, &list);
        return 0;
}

int cgroup_tree_new(CgroupTree **ret, const char *root) {
        scoped(cgroup_tree_freep) CgroupTree *tree = NULL;
        int r;

        tree = calloc(1, sizeof(*tree));
        if (!tree)
                return -ENOMEM;

        tree->devices.block_fd = -1;
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                tree->mounts[h].fd = -1;

        tree->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (tree->root_fd < 0)
                return -errno;
        tree->text = malloc(CGROUP_TEXT_MAX);
        if (!tree->text)
                return -ENOMEM;

        cgroup_devices_init(&tree->devices, tree->root_fd);
        r = read_mounts(tree, strcmp(root, "/") == 0);
        if (r < 0)
                return r;

        *ret = TAKE(tree);
        return 0;
}

CgroupTree *cgroup_tree_free(CgroupTree *tree) {
        if (!tree)
                return NULL;

        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                closep(&tree->mounts[h].fd);
        cgroup_devices_deinit(&tree->devices);
        closep(&tree->root_fd);
        free(tree->text);
        free(tree);
        return NULL;
}

bool cgroup_tree_is_mounted(const CgroupTree *tree) {
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++)
                if (tree->mounts[h].fd >= 0)
                        return true;
        return false;
}

unsigned cgroup_tree_count(CgroupTree *tree) {
        return tree->n_opened++;
}

int cgroup_tree_path(const CgroupTree *tree, Hierarchy hierarchy, const char *below, char ret[static CGROUP_PATH_MAX]) {
        const CgroupMount *mount = &tree->mounts[hierarchy];
        int n;

        if (mount->fd < 0)
                return CGROUP_MALFORMED;

        n = snprintf(ret, CGROUP_PATH_MAX, "%s%s", strcmp(mount->root, "/") == 0 && *below ? "" : mount->root, below);
        return n < CGROUP_PATH_MAX ? 0 : CGROUP_MALFORMED;
}

char *cgroup_tree_text(CgroupTree *tree) {
        return tree->text;
}

CgroupDevices *cgroup_tree_devices(CgroupTree *tree) {
        return &tree->devices;
}

/* --- places ------------------------------------------------------------------------------------- */

static char *place_path(CgroupPlace *place, Hierarchy hierarchy) {
        return (char *)place + hierarchies[hierarchy].offset;
}

const char *cgroup_tree_place_path(const CgroupPlace *place, Hierarchy hierarchy) {
        return (const char *)place + hierarchies[hierarchy].offset;
}

int cgroup_tree_place_set(CgroupPlace *place, Hierarchy hierarchy, const char *path) {
        size_t n = strlen(path);

        if (n >= CGROUP_PATH_MAX)
                return CGROUP_MALFORMED;
        memcpy(place_path(place, hierarchy), path, n + 1);
        return 0;
}

static bool is_line_of(const CgroupLine *line, Hierarchy hierarchy) {
        if (hierarchy == HIERARCHY_V2)
                return line->n_controllers == 0;
        return lists_word(line->controllers, line->n_controllers, hierarchies[hierarchy].controller);
}

static int take_line(const CgroupTree *tree, const CgroupLine *line, CgroupPlace *place) {
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++) {
                char *path = place_path(place, h);

                if (tree->mounts[h].fd < 0 || !is_line_of(line, h))
                        continue;
                if (line->n_path >= CGROUP_PATH_MAX)
                        return CGROUP_MALFORMED;

                memcpy(path, line->path, line->n_path);
                path[line->n_path] = '\0';
                if (!below_mount(&tree->mounts[h], path))
                        return CGROUP_MALFORMED;
        }
        return 0;
}

static int parse_place(const CgroupTree *tree, const char *text, CgroupPlace *ret) {
        CgroupPlace place = {};
        CgroupLine line;
        int r;

        while ((r = cgroup_parse_next_line(&text, &line)) == 0)
                if (take_line(tree, &line, &place) != 0)
                        return CGROUP_MALFORMED;
        if (r != CGROUP_TEXT_END)
                return CGROUP_MALFORMED;

        *ret = place;
        return 0;
}

int cgroup_tree_find_process(const CgroupTree *tree, int32_t pid, CgroupPlace *ret) {
        scoped(freep) char *text = NULL;
        char path[48];
        int r;

        (void)snprintf(path, sizeof(path), "proc/%d/cgroup", (int)pid);
        r = file_read_at(tree->root_fd, path, PLACE_TEXT_MAX, &text, NULL);
        if (r == -EFBIG)
                return CGROUP_MALFORMED;
        /* ESRCH: the process ended while the file was open */
        if (r == -ENOENT || r == -ESRCH)
                return CGROUP_GONE;
        return r < 0 ? r : parse_place(tree, text, ret);
}

/* --- names -------------------------------------------------------------------------------------- */

/* Returns false for the root, which is the node, not a job. */
static bool is_group(const char *path) {
        return *path && strcmp(path, "/") != 0;
}

static bool is_at_or_above(const char *path, const char *of) {
        size_t n = strlen(path);

        return strncmp(path, of, n) == 0 && (of[n] == '/' || of[n] == '\0');
}

/* On a machine with v1, a job's group in v2 was created by the service manager, or for the job. */
bool cgroup_tree_place_is_own(const CgroupPlace *place, Hierarchy hierarchy) {
        bool is_in_cpuacct = is_group(place->cpuacct);
        bool is_in_v2 = is_group(place->v2) && (!is_in_cpuacct || is_at_or_above(place->cpuacct, place->v2));

        if (hierarchy == HIERARCHY_V2)
                return is_in_v2;
        if (hierarchy == HIERARCHY_CPUACCT)
                return is_in_cpuacct && !is_in_v2;
        return is_group(cgroup_tree_place_path(place, hierarchy));
}

/* Order in which the hierarchies are tried for the name of a group. */
static const Hierarchy order[N_HIERARCHIES] = {
        HIERARCHY_V2,     HIERARCHY_CPUACCT, HIERARCHY_MEMORY, HIERARCHY_CPU,
        HIERARCHY_CPUSET, HIERARCHY_BLKIO,   HIERARCHY_PIDS,
};

Hierarchy cgroup_tree_place_main(const CgroupPlace *place) {
        for (size_t i = 0; i < N_HIERARCHIES; i++)
                if (cgroup_tree_place_is_own(place, order[i]))
                        return order[i];
        return N_HIERARCHIES;
}

int cgroup_tree_place_name(const CgroupPlace *place, char ret[static CGROUP_NAME_MAX]) {
        Hierarchy main = cgroup_tree_place_main(place);

        if (main == N_HIERARCHIES)
                return CGROUP_GONE;

        (void)snprintf(ret, CGROUP_NAME_MAX, "%s%s%s", main == HIERARCHY_V2 ? "" : hierarchies[main].controller,
                       main == HIERARCHY_V2 ? "" : ":", cgroup_tree_place_path(place, main));
        return 0;
}

/* Splits a name into the hierarchy before the colon and the path after it. */
static Hierarchy split_name(const char *name, const char **ret_path) {
        size_t n = strcspn(name, ":/");

        *ret_path = name;
        if (*name == '/')
                return HIERARCHY_V2;

        *ret_path = name + n + 1;
        for (Hierarchy h = HIERARCHY_CPU; name[n] == ':' && h < N_HIERARCHIES; h++)
                if (strlen(hierarchies[h].controller) == n && strncmp(name, hierarchies[h].controller, n) == 0)
                        return h;
        return N_HIERARCHIES;
}

int cgroup_tree_place_from_name(const char *name, CgroupPlace *ret) {
        CgroupPlace place = {};
        const char *path;
        Hierarchy main = split_name(name, &path);
        size_t i = 0;

        if (main == N_HIERARCHIES || !is_plain(path) || strstr(path, "//") || path[strlen(path) - 1] == '/')
                return CGROUP_MALFORMED;

        while (order[i] != main)
                i++;
        for (; i < N_HIERARCHIES; i++)
                memcpy(place_path(&place, order[i]), path, strlen(path));
        *ret = place;
        return 0;
}

bool cgroup_tree_name_parent(char *name) {
        char *first = strchr(name, '/'), *last = strrchr(name, '/');

        if (!last || last[1] == '\0')
                return false;
        *(last == first ? last + 1 : last) = '\0';
        return true;
}
