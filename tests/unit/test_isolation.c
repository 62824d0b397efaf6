/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of isolation that are possible in a given environment. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "client/cgroup/isolation.h"

/* Returns a machine with systemd and cgroup v2; the group at `path` belongs to root. */
static CgroupContext machine(const char *path, uint32_t uid) {
        CgroupContext s = {
                .uid = uid,
                .has_systemd = true,
                .has_system_manager = true,
                .has_linger = true,
                .tasks_max = UINT64_MAX,
                .is_writable = uid == 0,
        };

        snprintf(s.unit, sizeof(s.unit), "%s", path);
        snprintf(s.directory, sizeof(s.directory), "sys/fs/cgroup%s", path);
        scope_place_find(path, uid, &s.scope);
        return s;
}

/* no_scope, no_group: part of the expected reason, or NULL if the kind is possible. */
static void assert_choice(const CgroupContext *surroundings, const char *no_scope, const char *no_group) {
        const char *scope = isolation_refuse_scope(surroundings), *group = isolation_refuse_group(surroundings);

        assert_int_equal(!scope, !no_scope);
        assert_int_equal(!group, !no_group);
        if (!strstr(scope ?: "", no_scope ?: "") || !strstr(group ?: "", no_group ?: ""))
                fail_msg("scope: '%s', group: '%s'", scope, group);
}

#define SESSION "/user.slice/user-1000.slice/session-2.scope"
#define TERMINAL "/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope"

static void a_session_gets_a_scope(void **state) {
        CgroupContext root = machine(SESSION, 0), user = machine(SESSION, 1000);

        (void)state;
        assert_choice(&root, NULL, "not delegated");
        assert_choice(&user, NULL, "cannot be written");
}

static void a_user_who_does_not_linger_keeps_the_session(void **state) {
        CgroupContext session = machine(SESSION, 1000), terminal = machine(TERMINAL, 1000), root = machine(SESSION, 0);

        (void)state;
        session.has_linger = terminal.has_linger = root.has_linger = false;
        assert_choice(&session, "enable-linger", "cannot be written");
        assert_choice(&root, NULL, "not delegated");
        /* The process is already in the user's manager. */
        terminal.is_own = terminal.is_writable = true;
        assert_choice(&terminal, NULL, NULL);
}

static void limits_are_never_left(void **state) {
        CgroupContext session = machine(SESSION, 0), terminal = machine(TERMINAL, 1000);

        (void)state;
        session.is_limited = terminal.is_limited = true;
        assert_choice(&session, "limits", "not delegated");
        terminal.is_own = terminal.is_writable = true;
        assert_choice(&terminal, "limits", NULL);
}

static void groups_managed_by_others_are_not_used(void **state) {
        CgroupContext s = machine(SESSION, 0);

        (void)state;
        s.is_apart = true;
        assert_choice(&s, "version 1", "not delegated");

        s = machine(TERMINAL, 1000);
        s.is_delegated = s.is_own = s.is_writable = true;
        assert_choice(&s, "delegated to another program", NULL);
}

static void in_a_service_there_is_a_group_where_it_was_delegated(void **state) {
        CgroupContext s = machine("/system.slice/slurmd.service", 0);

        (void)state;
        assert_choice(&s, "slurmd.service", "not delegated");
        s.is_delegated = true;
        assert_choice(&s, "slurmd.service", NULL);

        s = machine("/system.slice/cron.service", 1000);
        assert_choice(&s, "cron.service", "cannot be written");

        /* As with DynamicUser= or User= and Delegate=. */
        s.is_own = s.is_writable = true;
        assert_choice(&s, "cron.service", NULL);
}

static void a_run_within_a_run_stays_in_it(void **state) {
        CgroupContext root = machine("/user.slice/user-0.slice/perfd-j1.scope", 0);
        CgroupContext user = machine("/user.slice/user-1000.slice/user@1000.service/app.slice/perfd-j1.scope", 1000);

        (void)state;
        assert_choice(&root, "perfd-j1.scope", "not delegated");
        user.is_own = user.is_writable = true;
        assert_choice(&user, "another job", NULL);
}

static void at_the_root_systemd_is_asked_if_it_is_its_own(void **state) {
        static const char *const paths[] = { "/", "/init.scope" };

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                CgroupContext s = machine(paths[i], 0);

                assert_choice(&s, NULL, "not delegated");
                /* A whole namespace was delegated to the container: to its systemd, if it runs one. */
                s.is_delegated = true;
                assert_choice(&s, NULL, "not delegated");
                s.has_system_manager = false;
                assert_choice(&s, "does not manage", "not delegated");
        }
}

static void without_systemd_a_writable_group_will_do(void **state) {
        CgroupContext s = machine("/docker/0123", 0);

        (void)state;
        s.has_systemd = s.has_system_manager = s.has_linger = false;
        assert_choice(&s, "systemd is not running", NULL);
        s.is_writable = false; /* as in most containers */
        assert_choice(&s, "systemd is not running", "cannot be written");
        s.directory[0] = '\0';
        assert_choice(&s, "systemd is not running", "no version 2 control group");
}

static void in_version_1_only_root_has_a_scope(void **state) {
        CgroupContext root = machine(SESSION, 0), user = machine(SESSION, 1000);

        (void)state;
        root.directory[0] = user.directory[0] = '\0';
        assert_choice(&root, NULL, "no version 2 control group");
        assert_choice(&user, "version 1", "no version 2 control group");
}

static void only_requested_kinds_are_tried(void **state) {
        Isolated isolated;

        (void)state;
        isolation_enter(&isolated, "j1", ISOLATION_NONE, &(RunLimits){}, 0);
        assert_int_equal(isolated.kind, ISOLATION_NONE);
        assert_string_equal(isolated.text, "");
        isolation_leave(&isolated, true);

        isolation_enter(&isolated, "j1", ISOLATION_SUBREAPER, &(RunLimits){}, 0);
        assert_int_equal(isolated.kind, ISOLATION_SUBREAPER);
        assert_string_equal(isolated.text, "no cgroup for the job (no scope: not wanted; no cgroup: not wanted)");
        isolation_leave(&isolated, true);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_session_gets_a_scope),
                cmocka_unit_test(a_user_who_does_not_linger_keeps_the_session),
                cmocka_unit_test(limits_are_never_left),
                cmocka_unit_test(groups_managed_by_others_are_not_used),
                cmocka_unit_test(in_a_service_there_is_a_group_where_it_was_delegated),
                cmocka_unit_test(a_run_within_a_run_stays_in_it),
                cmocka_unit_test(at_the_root_systemd_is_asked_if_it_is_its_own),
                cmocka_unit_test(without_systemd_a_writable_group_will_do),
                cmocka_unit_test(in_version_1_only_root_has_a_scope),
                cmocka_unit_test(only_requested_kinds_are_tried),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
