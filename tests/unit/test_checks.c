/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/doctor/checks.h"
#include "tree.h"

static void look(const char *tree, Checks *ret) {
        scoped(closep) int root_fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(root_fd >= 0);
        *ret = (Checks){};
        checks_add_tree(ret, root_fd);
}

static const Check *find(const Checks *checks, const char *name) {
        for (size_t i = 0; i < checks->n; i++)
                if (strcmp(checks->items[i].name, name) == 0)
                        return &checks->items[i];

        return NULL;
}

#define assert_has(text, part) assert_non_null(strstr(text, part))

#define assert_check(checks, name_, state_, detail_)                            \
        ({                                                                      \
                const Check *check_ = find(checks, name_);                      \
                assert_non_null(check_);                                        \
                assert_string_equal(check_state_name(check_->state), state_);   \
                assert_has(check_->detail, detail_);                            \
                check_;                                                         \
        })

static void each_failed_check_has_an_effect_and_a_fix(void **state) {
        static const char *const trees[] = { TREES "doctor-well", TREES "doctor-v1", TREES "doctor-hidden",
                                             TREES "small" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(trees); i++) {
                Checks checks;

                look(trees[i], &checks);
                assert_in_range(checks.n, 3, CHECKS_MAX);
                for (size_t k = 0; k < checks.n; k++) {
                        const Check *check = &checks.items[k];

                        assert_true(check->detail[0] != '\0');
                        assert_int_equal(check->effect[0] == '\0', check->state == CHECK_OK);
                        assert_int_equal(check->fix[0] == '\0', check->state == CHECK_OK);
                }
        }
}

static void a_fully_equipped_machine_passes_all_checks(void **state) {
        Checks checks;

        (void)state;
        look(TREES "doctor-well", &checks);
        assert_int_equal(checks_worst(&checks), CHECK_OK);
        assert_int_equal(checks_count(&checks, CHECK_OK), checks.n);
        assert_check(&checks, "kernel", "ok", "6.1.0-18-amd64");
        assert_check(&checks, "cgroups", "ok", "version 2, at /sys/fs/cgroup");
        assert_check(&checks, "own cgroup", "ok", "session-3.scope has all controllers");
        assert_check(&checks, "open files", "ok", "without a limit");
        assert_check(&checks, "perfd.service", "ok", "enabled");
}

static void disabled_pressure_is_reported_with_the_boot_parameter(void **state) {
        const Check *check;
        Checks checks;

        (void)state;
        look(TREES "doctor-v1", &checks);
        check = assert_check(&checks, "pressure", "limited", "proc/pressure/cpu: No such file");
        assert_has(check->fix, "boot with psi=1");

        look(TREES "doctor-hidden", &checks);
        check = assert_check(&checks, "pressure", "limited", "proc/pressure/cpu");
        assert_has(check->fix, "remove psi=0");
}

static void only_version_1_of_control_groups_is_less(void **state) {
        const Check *check;
        Checks checks;

        (void)state;
        look(TREES "doctor-v1", &checks);
        check = assert_check(&checks, "cgroups", "limited", "version 1 only, 3 controllers");
        assert_has(check->fix, "systemd.unified_cgroup_hierarchy=1");
        assert_null(find(&checks, "controllers"));
        assert_null(find(&checks, "own cgroup"));
}

static void both_versions_are_mixed(void **state) {
        char root[64];
        Checks checks;

        (void)state;
        tree_copy("doctor-well", root);
        tree_write(root, "proc/self/mountinfo",
                   "33 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                   "30 22 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
        look(root, &checks);
        assert_check(&checks, "cgroups", "limited",
                     "mixed: 1 controllers in version 1, version 2 at /sys/fs/cgroup/unified");
        assert_null(find(&checks, "own cgroup"));

        tree_write(root, "proc/self/mountinfo", "28 1 254:1 / / rw - ext4 /dev/vda1 rw\n");
        look(root, &checks);
        assert_check(&checks, "cgroups", "limited", "none mounted");
        tree_remove(root);
}

static void controllers_that_are_not_there_or_not_delegated_are_named(void **state) {
        const Check *check;
        Checks checks;

        (void)state;
        look(TREES "doctor-hidden", &checks);
        check = assert_check(&checks, "controllers", "limited", "no memory");
        assert_has(check->fix, "cgroup_enable=memory");
        check = assert_check(&checks, "own cgroup", "limited", "app.slice has no io, memory");
        assert_has(check->fix, "Delegate=cpu io memory pids");
}

static void the_fix_for_delegation_depends_on_the_group(void **state) {
        static const struct {
                const char *line, *fix;
        } groups[] = {
                { "0::/system.slice/slurmstepd.scope/job_1\n", "Slurm's cgroup.conf" },
                { "0::/batch.slice/runner.service/inner\n", "systemctl set-property runner.service CPUAccounting=yes" },
                { "0::/\n", "systemd-run --scope" },
        };
        char root[64], command[256];
        Checks checks;

        (void)state;
        tree_copy("doctor-well", root);
        (void)snprintf(command, sizeof(command),
                       "cd %s/sys/fs/cgroup && mkdir -p system.slice/slurmstepd.scope/job_1 "
                       "batch.slice/runner.service/inner", root);
        assert_int_equal(system(command), 0);
        tree_write(root, "sys/fs/cgroup/system.slice/slurmstepd.scope/job_1/cgroup.controllers", "cpu\n");
        tree_write(root, "sys/fs/cgroup/batch.slice/runner.service/inner/cgroup.controllers", "cpu\n");
        for (size_t i = 0; i < N_ELEMENTS(groups); i++) {
                const Check *check;

                tree_write(root, "proc/self/cgroup", groups[i].line);
                look(root, &checks);
                check = assert_check(&checks, "own cgroup", "limited", "");
                assert_has(check->fix, groups[i].fix);
        }

        /* A group outside the namespace is not visible, and the path must not leave the mount. */
        tree_write(root, "proc/self/cgroup", "0::/../..\n");
        look(root, &checks);
        assert_null(find(&checks, "own cgroup"));
        tree_remove(root);
}

static void hidden_processes_are_found_in_the_options_of_proc(void **state) {
        const Check *check;
        char root[64];
        Checks checks;

        (void)state;
        look(TREES "doctor-hidden", &checks);
        check = assert_check(&checks, "processes", "limited", "hidepid=invisible");
        assert_has(check->fix, "SupplementaryGroups=");

        tree_copy("doctor-hidden", root);
        tree_write(root, "proc/self/mountinfo", "23 28 0:21 / /proc rw - proc proc rw,gid=117,hidepid=2\n");
        look(root, &checks);
        assert_check(&checks, "processes", "ok", "hidepid=2,gid=117: perfd needs that group");
        tree_write(root, "proc/self/mountinfo", "23 28 0:21 / /proc rw - proc proc rw,hidepid=0\n");
        look(root, &checks);
        assert_check(&checks, "processes", "ok", "all users");
        /* A mount of proc elsewhere, for a container, does not count. */
        tree_write(root, "proc/self/mountinfo", "23 28 0:21 / /srv/proc rw - proc proc rw,hidepid=2\n");
        look(root, &checks);
        assert_check(&checks, "processes", "ok", "all users");
        tree_remove(root);
}

static void a_container_and_wsl_are_noticed(void **state) {
        char root[64];
        Checks checks;

        (void)state;
        look(TREES "doctor-v1", &checks);
        assert_check(&checks, "machine", "limited", "container (docker)");

        tree_copy("doctor-well", root);
        tree_write(root, ".dockerenv", "");
        look(root, &checks);
        assert_check(&checks, "machine", "limited", "/.dockerenv");
        tree_write(root, "proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n");
        look(root, &checks);
        assert_check(&checks, "machine", "limited", "Windows Subsystem for Linux");
        tree_remove(root);
}

static void the_kernel_has_a_least_version(void **state) {
        static const struct {
                const char *release, *state;
        } releases[] = {
                { "5.4.0-150-generic\n", "ok" }, { "10.0\n", "ok" },     { "5.3.18\n", "limited" },
                { "4.99.0\n", "limited" },         { "strange\n", "limited" },
        };
        char root[64];
        Checks checks;

        (void)state;
        tree_copy("doctor-well", root);
        for (size_t i = 0; i < N_ELEMENTS(releases); i++) {
                tree_write(root, "proc/sys/kernel/osrelease", releases[i].release);
                look(root, &checks);
                assert_check(&checks, "kernel", releases[i].state, "Linux ");
        }
        tree_remove(root);
}

static void a_machine_that_runs_out_of_descriptors_is_in_trouble(void **state) {
        Checks checks;

        (void)state;
        look(TREES "doctor-v1", &checks);
        assert_check(&checks, "open files", "failed", "95000 of 100000");
        assert_int_equal(checks_worst(&checks), CHECK_FAILED);
}

static void units_may_be_disabled_masked_or_absent(void **state) {
        char root[64], path[128], command[256];
        const Check *check;
        Checks checks;

        (void)state;
        look(TREES "doctor-hidden", &checks);
        check = assert_check(&checks, "perfd.socket", "limited", "disabled");
        assert_string_equal(check->fix, "systemctl enable --now perfd.socket");

        tree_copy("doctor-well", root);
        (void)snprintf(path, sizeof(path), "%s/etc/systemd/system/perfd.service", root);
        assert_int_equal(symlink("/dev/null", path), 0);
        (void)snprintf(command, sizeof(command), "rm %s/usr/lib/systemd/system/perfd.socket", root);
        assert_int_equal(system(command), 0);
        look(root, &checks);
        assert_check(&checks, "perfd.service", "limited", "masked");
        assert_check(&checks, "perfd.socket", "limited", "not installed");
        tree_remove(root);

        look(TREES "doctor-v1", &checks);
        assert_null(find(&checks, "perfd.service"));
}

static void long_texts_are_cut_and_too_many_checks_stay_within(void **state) {
        char text[2 * CHECK_TEXT_MAX];
        Checks checks = {};

        (void)state;
        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        for (size_t i = 0; i < 2 * CHECKS_MAX; i++) {
                Check *check = checks_add(&checks, "many");

                check_detail(check, "%s", text);
                check_problem(check, CHECK_LIMITED, text, "%s", text);
                assert_int_equal(strlen(check->detail), CHECK_TEXT_MAX - 1);
                assert_int_equal(strlen(check->effect), CHECK_TEXT_MAX - 1);
        }
        assert_int_equal(checks.n, CHECKS_MAX);
        assert_int_equal(checks_count(&checks, CHECK_LIMITED), CHECKS_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_failed_check_has_an_effect_and_a_fix),
                cmocka_unit_test(a_fully_equipped_machine_passes_all_checks),
                cmocka_unit_test(disabled_pressure_is_reported_with_the_boot_parameter),
                cmocka_unit_test(only_version_1_of_control_groups_is_less),
                cmocka_unit_test(both_versions_are_mixed),
                cmocka_unit_test(controllers_that_are_not_there_or_not_delegated_are_named),
                cmocka_unit_test(the_fix_for_delegation_depends_on_the_group),
                cmocka_unit_test(hidden_processes_are_found_in_the_options_of_proc),
                cmocka_unit_test(a_container_and_wsl_are_noticed),
                cmocka_unit_test(the_kernel_has_a_least_version),
                cmocka_unit_test(a_machine_that_runs_out_of_descriptors_is_in_trouble),
                cmocka_unit_test(units_may_be_disabled_masked_or_absent),
                cmocka_unit_test(long_texts_are_cut_and_too_many_checks_stay_within),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
