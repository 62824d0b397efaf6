/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/enclosure.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "client/run/bus.h"
#include "util/scoped.h"

/* --- choosing ------------------------------------------------------------------------------------- */

/* NULL when nothing speaks against a scope. */
static const char *why_no_scope(const CgroupContext *context) {
        const ScopePlace *place = &context->scope;

        if (!context->has_systemd)
                return "systemd does not run here";
        if (place->manager == SCOPE_MANAGER_NONE)
                return place->reason;
        if (place->is_root && !context->has_system_manager)
                return "systemd does not manage this control group";
        if (context->is_apart)
                return "in a control group of version 1 that systemd did not make";
        if (context->is_delegated && !place->is_root)
                return "in a control group that was left to somebody else";
        if (context->is_limited)
                return "the control group has limits of its own";
        if (place->manager == SCOPE_MANAGER_USER && !place->is_inside && !context->has_linger)
                return "the user's systemd ends with the last session: see loginctl enable-linger";
        if (place->manager == SCOPE_MANAGER_USER && !context->directory[0])
                return "users have no control groups of their own in version 1";
        return NULL;
}

static const char *why_no_group(const CgroupContext *context) {
        bool is_managed = context->has_systemd && context->scope.is_root;

        if (!context->directory[0])
                return "no control group of version 2";
        if (!context->is_writable)
                return "the control group cannot be written";
        if (!context->has_systemd || (context->is_delegated && !is_managed) || (context->is_own && context->uid != 0))
                return NULL;
        return "systemd has not delegated the control group";
}

void enclosure_choose(const CgroupContext *context, EnclosureChoice *ret) {
        const char *no_scope = why_no_scope(context), *no_group = why_no_group(context);

        *ret = (EnclosureChoice){ .may_scope = !no_scope, .may_group = !no_group };
        snprintf(ret->no_scope, sizeof(ret->no_scope), "%s", no_scope ? no_scope : "");
        snprintf(ret->no_group, sizeof(ret->no_group), "%s", no_group ? no_group : "");
}

/* --- entering ------------------------------------------------------------------------------------- */

typedef struct Attempt {
        const char *job;
        const RunLimits *limits;
        int root_fd; /* owned */
        CgroupContext context;
        EnclosureChoice choice;
        Enclosed *enclosed;
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

static void keep_reason(char ret[static SCOPE_REASON_MAX], const char *reason) {
        snprintf(ret, SCOPE_REASON_MAX, "%.*s", (int)SCOPE_REASON_MAX - 1, reason);
}

/* Ids have no character that names of units may not have. */
static bool try_scope(Attempt *attempt, uint64_t timeout_ns) {
        const CgroupContext *context = &attempt->context;
        char name[JOB_ID_MAX + 16], description[JOB_ID_MAX + 16], reason[BUS_REASON_MAX];
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
        r = bus_start_scope(&request, timeout_ns, reason);
        /* The scope may exist although the confirmation came too late. */
        if ((r == 0 || r == BUS_LATE) && is_in_scope(attempt->root_fd, name)) {
                attempt->enclosed->kind = ENCLOSURE_SCOPE;
                snprintf(attempt->enclosed->text, ENCLOSED_TEXT_MAX, "scope %s", name);
                return true;
        }

        if (r == 0)
                snprintf(reason, sizeof(reason), "systemd has put this process somewhere else");
        keep_reason(attempt->choice.no_scope, r < 0 ? strerrordesc_np(-r) : reason);
        /* systemd may still move this process there, out of any other group. */
        if (r == BUS_LATE) {
                attempt->choice.may_group = false;
                keep_reason(attempt->choice.no_group, "not tried after that");
        }
        return false;
}

static bool try_group(Attempt *attempt) {
        Enclosed *enclosed = attempt->enclosed;
        char reason[SCOPE_REASON_MAX];
        int r;

        assert(enclosed->kind == ENCLOSURE_NONE && enclosed->group.parent_fd < 0);
        r = child_group_enter(&enclosed->group, attempt->root_fd, attempt->context.directory, attempt->job);
        if (r == 0) {
                enclosed->kind = ENCLOSURE_CGROUP;
                snprintf(enclosed->text, ENCLOSED_TEXT_MAX, "cgroup %s (no scope: %s)", enclosed->group.name,
                         attempt->choice.no_scope);
                return true;
        }

        snprintf(reason, sizeof(reason), "cannot be made: %s", strerrordesc_np(-r));
        keep_reason(attempt->choice.no_group, reason);
        return false;
}

static void choose(Attempt *attempt, Enclosure best) {
        int r;

        attempt->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        r = cgroup_context_read(&attempt->context, attempt->root_fd, geteuid());
        if (r == 0)
                enclosure_choose(&attempt->context, &attempt->choice);
        else {
                keep_reason(attempt->choice.no_scope, "no control groups");
                keep_reason(attempt->choice.no_group, strerrordesc_np(-r));
        }

        if (best > ENCLOSURE_SCOPE) {
                attempt->choice.may_scope = false;
                keep_reason(attempt->choice.no_scope, "not wanted");
        }
        if (best > ENCLOSURE_CGROUP) {
                attempt->choice.may_group = false;
                keep_reason(attempt->choice.no_group, "not wanted");
        }
}

void enclosure_enter(Enclosed *ret, const char *job, Enclosure best, const RunLimits *limits, uint64_t timeout_ns) {
        scoped(attempt_deinit) Attempt attempt = { .job = job, .limits = limits, .root_fd = -1, .enclosed = ret };

        enclosure_init(ret);
        if (best == ENCLOSURE_NONE)
                return;

        choose(&attempt, best);
        if (attempt.choice.may_scope && try_scope(&attempt, timeout_ns))
                return;
        if (attempt.choice.may_group && try_group(&attempt))
                return;

        ret->kind = ENCLOSURE_SUBREAPER;
        snprintf(ret->text, sizeof(ret->text), "no cgroup for the job (no scope: %s; no cgroup: %s)", attempt.choice.no_scope,
                 attempt.choice.no_group);
}

void enclosure_init(Enclosed *enclosed) {
        *enclosed = (Enclosed){ .kind = ENCLOSURE_NONE, .group = { .parent_fd = -1 } };
}

void enclosure_leave(Enclosed *enclosed, bool removes) {
        child_group_leave(&enclosed->group, removes);
}
