/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cgroup/cgroup_context.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "client/wire/user.h"
#include "util/file.h"
#include "util/scan.h"

#define TEXT_BYTES_MAX ((size_t)64 << 10)

/* --- files ---------------------------------------------------------------------------------------- */

static bool exists(int root_fd, const char *path) {
        return faccessat(root_fd, path, F_OK, 0) == 0;
}

/* --- places in hierarchies ------------------------------------------------------------------------ */

/* A line of proc/PID/cgroup: "4:cpu,cpuacct:/path". "" for version 2, "name=systemd" for systemd's own. */
typedef struct GroupLine {
        char controllers[128];
        char path[CGROUP_CONTEXT_PATH_MAX];
} GroupLine;

/* Returns false if the line has another form, or a part of it does not fit. */
static bool line_parse(const char *line, GroupLine *ret) {
        const char *colon = strchr(line, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
        const char *end = strchrnul(line, '\n');

        if (!second || second > end || (size_t)(second - colon) > sizeof(ret->controllers) ||
            (size_t)(end - second) > sizeof(ret->path))
                return false;

        memcpy(ret->controllers, colon + 1, (size_t)(second - colon - 1));
        ret->controllers[second - colon - 1] = '\0';
        memcpy(ret->path, second + 1, (size_t)(end - second - 1));
        ret->path[end - second - 1] = '\0';
        return ret->path[0] == '/';
}

static bool has_controller(const char *controllers, const char *name) {
        size_t n = strlen(name);

        for (const char *p = controllers; *p; p += strcspn(p, ","), p += *p == ',')
                if (strcspn(p, ",") == n && strncmp(p, name, n) == 0)
                        return true;

        return false;
}

/* Finds the path of this process in a hierarchy: "" for version 2, else a controller or systemd's own. False: none. */
static bool find_path(const char *lines, const char *controller, char ret[static CGROUP_CONTEXT_PATH_MAX]) {
        GroupLine line;

        for (const char *p = lines; *p; p = scan_line_end(p)) {
                if (!line_parse(p, &line))
                        continue;
                if (controller[0] ? !has_controller(line.controllers, controller) : line.controllers[0] != '\0')
                        continue;
                memcpy(ret, line.path, sizeof(line.path));
                return true;
        }

        return false;
}

#define MOUNT_WHOLE "sys/fs/cgroup"
#define MOUNT_MIXED "sys/fs/cgroup/unified"

/* Usual mount point of version 2 below the root directory. NULL when not mounted. */
static const char *find_mount(int root_fd) {
        if (exists(root_fd, MOUNT_WHOLE "/cgroup.controllers"))
                return MOUNT_WHOLE;

        return exists(root_fd, MOUNT_MIXED "/cgroup.controllers") ? MOUNT_MIXED : NULL;
}

/* systemd has a hierarchy of its own unless all are in version 2; another program may have created a hierarchy of
 * that name. */
static void find_unit(const char *lines, const char *mount, char ret[static CGROUP_CONTEXT_PATH_MAX]) {
        bool is_whole = mount && strcmp(mount, MOUNT_WHOLE) == 0;

        if ((is_whole || !find_path(lines, "name=systemd", ret)) && !find_path(lines, "", ret))
                ret[0] = '\0';
}

static bool is_at_or_above(const char *path, const char *other) {
        size_t n = strlen(path);

        return strcmp(path, "/") == 0 || (strncmp(path, other, n) == 0 && (other[n] == '/' || other[n] == '\0'));
}

/* systemd puts a process at or above its unit's path in each hierarchy. In any other place, another program has put
 * it there. */
static bool is_outside_unit(const char *lines, const char *unit) {
        GroupLine line;

        for (const char *p = lines; *p; p = scan_line_end(p))
                if (!line_parse(p, &line) ||
                    (strncmp(line.controllers, "name=", 5) != 0 && !is_at_or_above(line.path, unit)))
                        return true;

        return false;
}

/* --- limits --------------------------------------------------------------------------------------- */

/* Recognizes the spellings of no limit: "", "max", "max 100000", "-1", and in version 1 a number near the largest. */
static bool is_limit(const char *text) {
        uint64_t n;

        if (*text == '\0' || *text == '\n' || *text == '-' || strncmp(text, "max", 3) == 0)
                return false;

        return !scan_u64(text, &n) || n < UINT64_C(1) << 62;
}

/* Weights are not limits, and each slice distributes them again. The limit on tasks can be copied to the scope. */
static const struct {
        const char *controller; /* of version 1, "" for version 2 */
        const char *file;
} limits[] = {
        { "", "memory.max" },
        { "", "memory.high" },
        { "", "memory.swap.max" },
        { "", "cpu.max" },
        { "", "cpuset.cpus" },
        { "", "cpuset.mems" },
        { "", "io.max" },
        { "memory", "memory.limit_in_bytes" },
        { "cpu", "cpu.cfs_quota_us" },
};

/* Reads a limit of the group of the first n_path bytes of a path. NULL without a limit. Caller frees. */
static char *read_limit(int root_fd, const char *mount, const char *controller, const char *file, const char *path,
                        size_t n_path) {
        scoped(freep) char *name = NULL, *text = NULL;
        int n;

        if (controller[0])
                n = asprintf(&name, "sys/fs/cgroup/%s%.*s/%s", controller, (int)n_path, path, file);
        else
                n = asprintf(&name, "%s%.*s/%s", mount ?: "", (int)n_path, path, file);
        text = n >= 0 ? file_read_text(root_fd, name, TEXT_BYTES_MAX) : NULL;
        return text && is_limit(text) ? TAKE(text) : NULL;
}

/* Any limit in the groups of `path` that are longer than n_kept bytes. */
static bool has_limit(int root_fd, const char *mount, const char *controller, const char *file, const char *path,
                      size_t n_kept) {
        for (size_t n = strlen(path); n > n_kept && n > 1; n = (size_t)((const char *)memrchr(path, '/', n) - path)) {
                scoped(freep) char *text = read_limit(root_fd, mount, controller, file, path, n);

                if (text)
                        return true;
        }

        return false;
}

static bool find_limits(int root_fd, const char *lines, const char *mount, size_t n_kept) {
        char path[CGROUP_CONTEXT_PATH_MAX];

        for (size_t i = 0; i < N_ELEMENTS(limits); i++)
                if (find_path(lines, limits[i].controller, path) &&
                    has_limit(root_fd, mount, limits[i].controller, limits[i].file, path, n_kept))
                        return true;

        return false;
}

static uint64_t read_tasks_max(int root_fd, const char *lines, const char *mount) {
        static const char *const controllers[] = { "", "pids" };
        char path[CGROUP_CONTEXT_PATH_MAX];
        uint64_t n;

        for (size_t i = 0; i < N_ELEMENTS(controllers); i++) {
                scoped(freep) char *text = NULL;

                if (find_path(lines, controllers[i], path))
                        text = read_limit(root_fd, mount, controllers[i], "pids.max", path, strlen(path));
                if (text && scan_u64(text, &n))
                        return n;
        }

        return UINT64_MAX;
}

/* --- the group itself ----------------------------------------------------------------------------- */

static bool is_delegated(int fd) {
        static const char *const names[] = { "user.delegate", "trusted.delegate" };
        char value[2];

        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                if (fgetxattr(fd, names[i], value, sizeof(value)) == 1 && value[0] == '1')
                        return true;

        return false;
}

static bool belongs_to(int fd, const char *path, uint32_t uid) {
        struct stat st;

        return fstatat(fd, path, &st, AT_EMPTY_PATH) == 0 && st.st_uid == uid;
}

static void read_group(CgroupContext *ret, int root_fd, const char *mount, const char *path) {
        scoped(closep) int fd = -1;

        /* Beyond the root of our namespace. */
        if (strncmp(path, "/..", 3) == 0)
                return;
        if (snprintf(ret->directory, sizeof(ret->directory), "%s%s", mount, path) < (int)sizeof(ret->directory))
                fd = openat(root_fd, ret->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) {
                ret->directory[0] = '\0';
                return;
        }

        ret->is_delegated = is_delegated(fd);
        ret->is_own = belongs_to(fd, "", ret->uid) && belongs_to(fd, "cgroup.procs", ret->uid);
        ret->is_writable = faccessat(fd, ".", W_OK, AT_EACCESS) == 0 &&
                           faccessat(fd, "cgroup.procs", W_OK, AT_EACCESS) == 0;
}

/* --- systemd -------------------------------------------------------------------------------------- */

/* A container may see the machine's sockets, but not the machine's process 1 in the place that it has there. */
static bool is_manager_ours(int root_fd, const char *mount) {
        scoped(freep) char *lines = file_read_text(root_fd, "proc/1/cgroup", TEXT_BYTES_MAX);
        char path[CGROUP_CONTEXT_PATH_MAX] = "";

        if (lines)
                find_unit(lines, mount, path);
        return strcmp(path, "/init.scope") == 0;
}

static bool has_linger(int root_fd, uint32_t uid) {
        char name[128], path[192];

        user_name_find(uid, name, sizeof(name));
        if (!name[0] || strchr(name, '/'))
                return false;

        snprintf(path, sizeof(path), "var/lib/systemd/linger/%s", name);
        return exists(root_fd, path);
}

int cgroup_context_read(CgroupContext *ret, int root_fd, uint32_t uid) {
        scoped(freep) char *lines = NULL;
        const char *mount = find_mount(root_fd);
        char path[CGROUP_CONTEXT_PATH_MAX];
        int r;

        *ret = (CgroupContext){ .uid = uid, .tasks_max = UINT64_MAX };
        r = file_read_at(root_fd, "proc/self/cgroup", TEXT_BYTES_MAX, &lines, NULL);
        if (r < 0)
                return r;

        find_unit(lines, mount, ret->unit);
        scope_place_find(ret->unit, uid, &ret->scope);
        ret->is_apart = is_outside_unit(lines, ret->unit);
        ret->is_limited = ret->scope.manager != SCOPE_MANAGER_NONE &&
                          find_limits(root_fd, lines, mount, ret->scope.n_kept);
        ret->tasks_max = read_tasks_max(root_fd, lines, mount);
        if (mount && find_path(lines, "", path))
                read_group(ret, root_fd, mount, path);

        ret->has_systemd = exists(root_fd, "run/systemd/system");
        ret->has_system_manager = ret->has_systemd && is_manager_ours(root_fd, mount);
        ret->has_linger = ret->has_systemd && has_linger(root_fd, uid);
        return 0;
}

int cgroup_context_read_unit(int root_fd, char ret[static CGROUP_CONTEXT_PATH_MAX]) {
        scoped(freep) char *lines = NULL;
        int r;

        r = file_read_at(root_fd, "proc/self/cgroup", TEXT_BYTES_MAX, &lines, NULL);
        if (r == 0)
                find_unit(lines, find_mount(root_fd), ret);
        return r;
}
