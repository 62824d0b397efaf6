/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http/privacy.h"

#define OTHER_UID 65534U

static void a_user_sees_own_private_data(void **state) {
        const Caller caller = { .owner = OWNER_OF_UID(OTHER_UID - 1) };
        const Viewer viewer = privacy_viewer(PRIVACY_OWN, &caller), open = privacy_viewer(PRIVACY_ALL, &caller);

        (void)state;
        assert_true(privacy_may_see(&viewer, OTHER_UID - 1));
        assert_false(privacy_may_see(&viewer, OTHER_UID));
        assert_false(privacy_may_see(&viewer, 0));
        assert_true(privacy_may_see(&open, OTHER_UID));
}

static void an_unknown_user_sees_no_private_data(void **state) {
        const Caller unknown = { .owner.type = OWNER_UNKNOWN }, host = { .owner.type = OWNER_ADDRESS };
        const Viewer viewers[] = { privacy_viewer(PRIVACY_OWN, &unknown), privacy_viewer(PRIVACY_OWN, &host), {} };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(viewers); i++)
                assert_false(privacy_may_see(&viewers[i], 0));
}

static void an_administrator_sees_everything_and_root_over_tcp_does_not(void **state) {
        Caller admin = { .owner = OWNER_OF_UID(OTHER_UID), .is_local = true };
        const Caller root = { .owner = OWNER_OF_UID(0) };
        Viewer viewer;

        (void)state;
        admin.owner.is_admin = true;
        viewer = privacy_viewer(PRIVACY_OWN, &admin);
        assert_true(privacy_may_see(&viewer, 0));

        viewer = privacy_viewer(PRIVACY_OWN, &root);
        assert_true(privacy_may_see(&viewer, 0));
        assert_false(privacy_may_see(&viewer, 1000));
}

static void others_are_counts_only_on_a_private_node(void **state) {
        const Caller local = { .owner = OWNER_OF_UID(OTHER_UID), .is_local = true };
        const Caller remote = { .owner = OWNER_OF_UID(OTHER_UID) };
        Caller admin = local;
        Viewer viewer = privacy_viewer(PRIVACY_PRIVATE, &local), open = privacy_viewer(PRIVACY_OWN, &local);

        (void)state;
        assert_true(privacy_may_list(&viewer, OTHER_UID) && privacy_may_see(&viewer, OTHER_UID));
        assert_false(privacy_may_list(&viewer, 1000));
        assert_true(viewer.hides_names);
        assert_true(privacy_may_list(&open, 1000));
        assert_false(open.hides_names);

        /* a proxy has the user of its own process */
        viewer = privacy_viewer(PRIVACY_PRIVATE, &remote);
        assert_false(viewer.has_uid);
        assert_false(privacy_may_list(&viewer, OTHER_UID) || privacy_may_list(&viewer, 0));

        admin.owner.is_admin = true;
        viewer = privacy_viewer(PRIVACY_PRIVATE, &admin);
        assert_true(privacy_may_list(&viewer, 1000));
        assert_false(viewer.hides_names);
}

/* Runs in a child, which can become another user. */
static void the_user_who_runs_perfd_sees_everything(void **state) {
        const Caller caller = { .owner = OWNER_OF_UID(OTHER_UID) };
        pid_t child;
        int status;

        (void)state;
        if (geteuid() != 0)
                skip(); /* needs root, to act as several users */

        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                Viewer viewer;

                if (seteuid(OTHER_UID) < 0)
                        _exit(2);
                viewer = privacy_viewer(PRIVACY_OWN, &caller);
                _exit(privacy_may_see(&viewer, 1000));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WEXITSTATUS(status), 1);
}

static void a_run_is_shown_without_its_private_members(void **state) {
        const char run[] =
                "{\"stderr\":\"a, \\\"b\\\"\",\"begin\":\"2026\",\"rusage\":{\"stderr\":1},"
                "\"environment\":{\"TOKEN\":\"x\"},\"std\\u0065rr\":2,\"directory\":\"/home/a\",\"origin\":3,"
                "\"script\":{\"sha256\":\"ab\",\"origin\":\"/home/a/b.py\",\"directory\":4,\"script\":{\"origin\":5}},"
                "\"a\\nb\":[1,2.5,null]}";
        scoped(buffer_deinit) Buffer out = {};
        Json json = { .out = &out };

        (void)state;
        json_object_begin(&json);
        privacy_put_run(&json, json_text(run, strlen(run)));
        json_object_end(&json);
        assert_string_equal(
                out.text,
                "{\"run\":{\"begin\":\"2026\",\"rusage\":{\"stderr\":1},\"script\":{\"sha256\":\"ab\"}},"
                "\"hidden\":{\"run.stderr\":\"" PRIVACY_REASON "\",\"run.environment\":\"" PRIVACY_REASON "\","
                "\"run.directory\":\"" PRIVACY_REASON "\",\"run.origin\":\"" PRIVACY_REASON "\","
                "\"run.script.origin\":\"" PRIVACY_REASON "\",\"run.script.directory\":\"" PRIVACY_REASON "\","
                "\"run.script.script\":\"" PRIVACY_REASON "\",\"run.a\\nb\":\"" PRIVACY_REASON "\"}}");
}

static void hidden_members_are_named_with_the_reason(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Json json;

        (void)state;
        json = (Json){ .out = &out };
        json_object_begin(&json);
        privacy_put_hidden(&json, "command");
        json_object_end(&json);
        assert_string_equal(out.text, "{\"hidden\":{\"command\":\"" PRIVACY_REASON "\"}}");

        buffer_clear(&out);
        json = (Json){ .out = &out };
        json_object_begin(&json);
        privacy_put_hidden(&json, NULL);
        json_object_end(&json);
        assert_string_equal(out.text, "{\"hidden\":{}}");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_user_sees_own_private_data),
                cmocka_unit_test(an_unknown_user_sees_no_private_data),
                cmocka_unit_test(an_administrator_sees_everything_and_root_over_tcp_does_not),
                cmocka_unit_test(others_are_counts_only_on_a_private_node),
                cmocka_unit_test(the_user_who_runs_perfd_sees_everything),
                cmocka_unit_test(a_run_is_shown_without_its_private_members),
                cmocka_unit_test(hidden_members_are_named_with_the_reason),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
