/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cgroup/isolation.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "client/cgroup/bus.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/file.h"
#include "util/scoped.h"

/* --- child group ----------------------------------------------------------------------------------- */

/* Moves this process into the group. Fails if the group enables controllers for child groups, or is threaded. */
static int enter(int fd, const char *path) {
        scoped(closep) int procs_fd = openat(fd, path, O_WRONLY | O_CLOEXEC);

        if (procs_fd < 0)
                return -errno;

        return file_write_all(procs_fd, "0", 1);
}

/* --- leftovers of other runs ---------------------------------------------------------------------- */

/* Extended attribute that marks groups made by perfctl. */
#define MARK "user.perfd"
/* Minimum age of a leftover, in seconds: a run enters its new group much sooner. */
#define AGE_MIN_S 10

static bool is_leftover(int fd) {
        struct stat st;
        char mark;

        return fgetxattr(fd, MARK, &mark, 1) == 1 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
               (uint64_t)st.st_mtim.tv_sec + AGE_MIN_S < clock_realtime_ns() / NS_PER_S;
}

static void remove_leftovers(int fd);

static void remove_leftover(int fd, const char *name) {
        scoped(closep) int group_fd = -1;

        if (strncmp(name, SCOPE_PREFIX, strlen(SCOPE_PREFIX)) != 0)
                return;

        group_fd = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (group_fd < 0 || !is_leftover(group_fd))
                return;

        remove_leftovers(group_fd);
        (void)unlinkat(fd, name, AT_REMOVEDIR); /* fails while a process is in the group */
}

/* Counts processes in the group and in groups of nested runs. */
static void remove_leftovers(int fd) {
        scoped(closedirp) DIR *dir = file_open_list(fd, ".");
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                remove_leftover(fd, entry->d_name);
}

/* --- the group of this run ------------------------------------------------------------------------ */

/* Makes a new group. An empty group of the same name is removed first: it has the counters of another job. */
static int make_group(int fd, const char *name) {
        scoped(closep) int group_fd = -1;

        if (mkdirat(fd, name, 0755) < 0) {
                if (errno != EEXIST)
                        return -errno;
                if (unlinkat(fd, name, AT_REMOVEDIR) < 0 || mkdirat(fd, name, 0755) < 0)
                        return -errno;
        }

        group_fd = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (group_fd >= 0)
                (void)fsetxattr(group_fd, MARK, "1", 1, 0); /* works since Linux 5.7 */
        return 0;
}

int isolation_enter_group(ChildGroup *ret, int root_fd, const char *directory, const char *job) {
        scoped(closep) int fd = openat(root_fd, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ChildGroup group = { .parent_fd = -1 };
        char path[sizeof(group.name) + 16];
        int r;

        *ret = group;
        if (fd < 0)
                return -errno;

        remove_leftovers(fd);
        snprintf(group.name, sizeof(group.name), SCOPE_PREFIX "%s", job);
        r = make_group(fd, group.name);
        if (r < 0)
                return r;

        snprintf(path, sizeof(path), "%s/cgroup.procs", group.name);
        r = enter(fd, path);
        if (r < 0) {
                (void)unlinkat(fd, group.name, AT_REMOVEDIR);
                return r;
        }

        *ret = group;
        ret->parent_fd = TAKE_FD(fd);
        return 0;
}

void isolation_leave_group(ChildGroup *group, bool removes) {
        if (group->parent_fd < 0)
                return;

        assert(group->name[0] && !strchr(group->name, '/'));
        if (enter(group->parent_fd, "cgroup.procs") == 0 && removes)
                (void)unlinkat(group->parent_fd, group->name, AT_REMOVEDIR);
        closep(&group->parent_fd);
        group->parent_fd = -1;
}

/* --- isolation --------------------------------------------------------------------------------------- */

/* --- choosing ------------------------------------------------------------------------------------- */

const char *isolation_refuse_scope(const CgroupContext *context) {
        const ScopePlace *place = &context->scope;

        if (!context->has_systemd)
                return "systemd is not running";
        if (place->manager == SCOPE_MANAGER_NONE)
                return place->reason;
        if (place->is_root && !context->has_system_manager)
                return "systemd does not manage this control group";
        if (context->is_apart)
                return "in a version 1 control group that systemd did not create";
        if (context->is_delegated && !place->is_root)
                return "in a control group delegated to another program";
        if (context->is_limited)
                return "the control group has limits of its own";
        if (place->manager == SCOPE_MANAGER_USER && !place->is_inside && !context->has_linger)
                return "the user's systemd ends with the last session; see loginctl enable-linger";
        if (place->manager == SCOPE_MANAGER_USER && !context->directory[0])
                return "users have no control groups of their own in version 1";
        return NULL;
}

const char *isolation_refuse_group(const CgroupContext *context) {
        bool is_managed = context->has_systemd && context->scope.is_root;

        if (!context->directory[0])
                return "no version 2 control group";
        if (!context->is_writable)
                return "the control group cannot be written";
        if (!context->has_systemd || (context->is_delegated && !is_managed) || (context->is_own && context->uid != 0))
                return NULL;
        return "systemd has not delegated the control group";
}

/* --- entering ------------------------------------------------------------------------------------- */

typedef struct Attempt {
        const char *job;
        const RunLimits *limits;
        int root_fd; /* owned */
        CgroupContext context;
        const char *no_scope, *no_group;   /* why the kind is not used; NULL: it can be tried */
        char failed_scope[BUS_REASON_MAX]; /* reasons found while trying */
        char failed_group[SCOPE_REASON_MAX];
        Isolated *isolated;
} Attempt;

static void attempt_deinit(Attempt *attempt) {
        closep(&attempt->root_fd);
}

/* The manager's word is not enough: it is by /proc/PID/cgroup that perfd finds the group. */
static bool is_in_scope(int root_fd, const char *name) {
        char path[CGROUP_CONTEXT_PATH_MAX];
        const char *last;

        if (cgroup_context_read_unit(root_fd, path) < 0)
                return false;

        last = strrchr(path, '/');
        return last && strcmp(last + 1, name) == 0;
}

/* Ids have no character that names of units may not have. */
static bool try_scope(Attempt *attempt, uint64_t timeout_ns) {
        const CgroupContext *context = &attempt->context;
        char name[JOB_ID_MAX + 16], description[JOB_ID_MAX + 16];
        ScopeRequest request = {
                .manager = context->scope.manager,
                .uid = context->uid,
                .name = name,
                .description = description,
                .slice = context->scope.slice,
                .tasks_max = context->tasks_max,
                .limits = attempt->limits,
        };
        int r;

        snprintf(name, sizeof(name), SCOPE_PREFIX "%s.scope", attempt->job);
        snprintf(description, sizeof(description), "Job %s", attempt->job);
        r = bus_start_scope(&request, timeout_ns, attempt->failed_scope);
        /* The scope may exist although the confirmation came too late. */
        if ((r == 0 || r == BUS_LATE) && is_in_scope(attempt->root_fd, name)) {
                attempt->isolated->kind = ISOLATION_SCOPE;
                snprintf(attempt->isolated->text, ISOLATED_TEXT_MAX, "scope %s", name);
                return true;
        }

        attempt->no_scope = r < 0   ? error_text(-r)
                            : r > 0 ? attempt->failed_scope
                                    : "systemd moved this process elsewhere";
        /* systemd may still move this process there, out of any other group. */
        if (r == BUS_LATE)
                attempt->no_group = "not tried after this failure";
        return false;
}

static bool try_group(Attempt *attempt) {
        Isolated *isolated = attempt->isolated;
        int r;

        assert(isolated->kind == ISOLATION_NONE && isolated->group.parent_fd < 0);
        r = isolation_enter_group(&isolated->group, attempt->root_fd, attempt->context.directory, attempt->job);
        if (r == 0) {
                isolated->kind = ISOLATION_CGROUP;
                snprintf(isolated->text, ISOLATED_TEXT_MAX, "cgroup %s (no scope: %s)", isolated->group.name,
                         attempt->no_scope);
                return true;
        }

        snprintf(attempt->failed_group, sizeof(attempt->failed_group), "cannot be created: %s", error_text(-r));
        attempt->no_group = attempt->failed_group;
        return false;
}

static void choose(Attempt *attempt, Isolation best) {
        int r;

        attempt->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        r = cgroup_context_read(&attempt->context, attempt->root_fd, geteuid());
        attempt->no_scope = r < 0 ? "no control groups" : isolation_refuse_scope(&attempt->context);
        attempt->no_group = r < 0 ? error_text(-r) : isolation_refuse_group(&attempt->context);
        if (best > ISOLATION_SCOPE)
                attempt->no_scope = "not wanted";
        if (best > ISOLATION_CGROUP)
                attempt->no_group = "not wanted";
}

void isolation_enter(Isolated *ret, const char *job, Isolation best, const RunLimits *limits, uint64_t timeout_ns) {
        scoped(attempt_deinit) Attempt attempt = { .job = job, .limits = limits, .root_fd = -1, .isolated = ret };

        isolation_init(ret);
        if (best == ISOLATION_NONE)
                return;

        choose(&attempt, best);
        if (!attempt.no_scope && try_scope(&attempt, timeout_ns))
                return;
        if (!attempt.no_group && try_group(&attempt))
                return;

        ret->kind = ISOLATION_SUBREAPER;
        snprintf(ret->text, sizeof(ret->text), "no cgroup for the job (no scope: %s; no cgroup: %s)", attempt.no_scope,
                 attempt.no_group);
}

void isolation_init(Isolated *isolated) {
        *isolated = (Isolated){ .kind = ISOLATION_NONE, .group = { .parent_fd = -1 } };
}

void isolation_leave(Isolated *isolated, bool removes) {
        isolation_leave_group(&isolated->group, removes);
}
