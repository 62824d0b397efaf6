/* SPDX-License-Identifier: Apache-2.0 */
/* The manager that can create a scope, derived from the cgroup path of the process. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "client/cgroup/scope_place.h"

#define SESSION "/user.slice/user-1000.slice/session-2.scope"
#define MANAGER "/user.slice/user-1000.slice/user@1000.service"

static void assert_place(const char *path, uint32_t uid, ScopeManager manager, const char *slice, const char *kept) {
        ScopePlace place;

        scope_place_find(path, uid, &place);
        assert_int_equal(place.manager, manager);
        assert_string_equal(place.slice, slice);
        assert_int_equal(place.n_kept, strlen(kept));
        assert_memory_equal(path, kept, place.n_kept);
        assert_string_equal(place.reason, "");
}

static void assert_none(const char *path, uint32_t uid, const char *reason) {
        ScopePlace place;

        scope_place_find(path, uid, &place);
        assert_int_equal(place.manager, SCOPE_MANAGER_NONE);
        assert_string_equal(place.reason, reason);
}

static void a_session_asks_the_manager_of_its_user(void **state) {
        (void)state;
        assert_place(SESSION, 1000, SCOPE_MANAGER_USER, "", "/user.slice/user-1000.slice");
        assert_place("/user.slice/user-1000.slice/session-c1.scope", 1000, SCOPE_MANAGER_USER, "",
                     "/user.slice/user-1000.slice");
}

static void root_stays_in_the_slice_of_its_session(void **state) {
        (void)state;
        assert_place("/user.slice/user-0.slice/session-2.scope", 0, SCOPE_MANAGER_SYSTEM, "user-0.slice",
                     "/user.slice/user-0.slice");
        /* after sudo */
        assert_place(SESSION, 0, SCOPE_MANAGER_SYSTEM, "user-1000.slice", "/user.slice/user-1000.slice");
}

static void a_scope_of_the_users_manager_stays_in_its_slice(void **state) {
        (void)state;
        assert_place(MANAGER "/app.slice/vte-spawn-1.scope", 1000, SCOPE_MANAGER_USER, "app.slice",
                     MANAGER "/app.slice");
        assert_place(MANAGER "/app.slice/app-x.slice/x-1.scope", 1000, SCOPE_MANAGER_USER, "app-x.slice",
                     MANAGER "/app.slice/app-x.slice");
        assert_place(MANAGER "/init.scope", 1000, SCOPE_MANAGER_USER, "", MANAGER);
        /* After sudo in the user's manager. */
        assert_place(MANAGER "/app.slice/vte-spawn-1.scope", 0, SCOPE_MANAGER_SYSTEM, "user-1000.slice",
                     "/user.slice/user-1000.slice");
        assert_place("/user.slice/user-0.slice/user@0.service/init.scope", 0, SCOPE_MANAGER_USER, "",
                     "/user.slice/user-0.slice/user@0.service");
}

static void only_units_of_a_users_manager_end_with_it(void **state) {
        ScopePlace place;

        (void)state;
        scope_place_find(MANAGER "/app.slice/vte-spawn-1.scope", 1000, &place);
        assert_true(place.is_inside);
        scope_place_find(SESSION, 1000, &place);
        assert_false(place.is_inside);
        scope_place_find(MANAGER "/app.slice/vte-spawn-1.scope", 0, &place);
        assert_false(place.is_inside);
}

static void the_root_may_be_left(void **state) {
        static const char *const paths[] = { "/", "/init.scope" };
        ScopePlace place;

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                assert_place(paths[i], 0, SCOPE_MANAGER_SYSTEM, "", "");
                assert_place(paths[i], 1000, SCOPE_MANAGER_USER, "", "");
                scope_place_find(paths[i], 0, &place);
                assert_true(place.is_root);
        }
        scope_place_find(SESSION, 0, &place);
        assert_false(place.is_root);
}

static void groups_created_by_others_are_not_left(void **state) {
        (void)state;
        for (uint32_t uid = 0; uid <= 1000; uid += 1000) {
                assert_none("/system.slice/cron.service", uid, "in the service cron.service");
                assert_none("/system.slice/slurmstepd.scope/job_42/step_0/user/task_0", uid,
                            "in the scope slurmstepd.scope");
                assert_none("/system.slice/docker-0123.scope", uid, "in the scope docker-0123.scope");
                assert_none("/kubepods.slice/kubepods-pod1.slice/cri-containerd-0123.scope", uid,
                            "in the scope cri-containerd-0123.scope");
                assert_none("/machine.slice/machine-x.scope/payload/user.slice", uid, "in the scope machine-x.scope");
                assert_none("/system.slice/perfd-j1.scope", uid, "in the scope perfd-j1.scope");
                assert_none("/docker/0123", uid, "in the control group docker");
                assert_none("/perfd-j1", uid, "in the control group perfd-j1");
                assert_none("/user.slice", uid, "not in a unit of systemd");
                assert_none("/user.slice/user-1000.slice", uid, "not in a unit of systemd");
        }
}

static void neither_are_services_and_jobs_of_the_user(void **state) {
        (void)state;
        assert_none(MANAGER "/app.slice/train.service", 1000, "in the service train.service");
        assert_none(MANAGER "/app.slice/perfd-j1.scope", 1000, "in the scope of another job, perfd-j1.scope");
        assert_none(MANAGER "/app.slice/perfd-j1.scope", 0, "in the scope of another job, perfd-j1.scope");
        assert_none(MANAGER "/user.slice/libpod-0123.scope/container", 1000, "in the scope libpod-0123.scope");
        assert_none(MANAGER, 1000, "in the service user@1000.service");
        assert_none("/user.slice/user-1000.slice/session-2.scope/inner", 1000, "in the scope session-2.scope");
}

static void a_session_of_another_user_is_not_left(void **state) {
        (void)state;
        assert_none(SESSION, 1001, "in a session of another user");
        assert_none("/user.slice/user-0.slice/session-2.scope", 1000, "in a session of another user"); /* after su */
        assert_none("/user.slice/user-1000.slice/user@1001.service/init.scope", 1000,
                    "in the service user@1001.service");
}

static void similar_names_do_not_match(void **state) {
        (void)state;
        assert_none("/../session-2.scope", 0, "in the control group ..");
        assert_none("/user.slice/user-.slice/session-2.scope", 0, "in the scope session-2.scope");
        assert_none("/user.slice/user-1x.slice/session-2.scope", 0, "in the scope session-2.scope");
        assert_none("/user.slice/user-99999999999.slice/session-2.scope", 0, "in the scope session-2.scope");
        assert_none("/user.slice/user-1000.slice/session-.scopes", 1000, "in the control group session-.scopes");
        assert_none("/other.slice/user-1000.slice/session-2.scope", 1000, "in the scope session-2.scope");
        assert_none("", 0, "not in a unit of systemd");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_session_asks_the_manager_of_its_user),
                cmocka_unit_test(root_stays_in_the_slice_of_its_session),
                cmocka_unit_test(a_scope_of_the_users_manager_stays_in_its_slice),
                cmocka_unit_test(only_units_of_a_users_manager_end_with_it),
                cmocka_unit_test(the_root_may_be_left),
                cmocka_unit_test(groups_created_by_others_are_not_left),
                cmocka_unit_test(neither_are_services_and_jobs_of_the_user),
                cmocka_unit_test(a_session_of_another_user_is_not_left),
                cmocka_unit_test(similar_names_do_not_match),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
