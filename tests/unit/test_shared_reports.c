/* SPDX-License-Identifier: Apache-2.0 */
/* Reports in a directory of all users: names of jobs, runs and nodes, states, links, and what is of another. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/report/shared_reports.h"
#include "util/file.h"
#include "util/scoped.h"

static char top[] = "/tmp/perfd-shared-reports-XXXXXX";

/* Writes a file below the directory of this user, or of states. */
static void put(const char *folder, const char *name, const char *text) {
        char path[256];

        (void)snprintf(path, sizeof(path), "%s/%s/%s", top, folder, name);
        assert_int_equal(file_make_parents(path, 0755), 0);
        assert_int_equal(file_replace(path, text, strlen(text), 0644, false), 0);
}

static const char *own(void) {
        static char name[24];

        (void)snprintf(name, sizeof(name), "%u", geteuid());
        return name;
}

static int set_up(void **state) {
        (void)state;
        return mkdtemp(top) ? 0 : -1;
}

static int tear_down(void **state) {
        char command[256];

        (void)state;
        (void)snprintf(command, sizeof(command), "rm -r '%s'", top);
        return system(command);
}

/* Finds the reports of a job, and compares their names. */
static void assert_finds(const char *job, const char *names) {
        scoped(shared_reports_deinit) SharedReports reports = SHARED_REPORTS_NONE;
        char found[512] = "";

        assert_int_equal(shared_reports_find_any(&reports, top, job), 0);
        for (size_t i = 0; i < reports.n; i++) {
                strcat(found, reports.names[i]);
                strcat(found, " ");
        }
        assert_string_equal(found, names);
}

static void the_newest_run_of_a_job_has_the_number(void **state) {
        static const char *const names[] = { "4711@cn1.json",  "4711.r1@cn2.json", "4711.r1@cn1.json",
                                             "47110@cn1.json", ".4711@cn1.json.3", "4711.json", "x" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                put(own(), names[i], "{}\n");
        assert_finds("4711", "4711.r1@cn1.json 4711.r1@cn2.json ");
        assert_finds("4711.r1", "4711.r1@cn1.json 4711.r1@cn2.json ");
        assert_finds("47", "");
        assert_finds("4711.r", "");
        assert_finds("5000_7", "");
        put("state", "5000_7.json", "{\"slurm_job\":\"47110\"}");
        put("state", "5000+1.json", "{\"slurm_job\":\"../x\"}");
        assert_finds("5000_7", "47110@cn1.json ");
        assert_finds("5000+1", "");
        assert_finds(NULL, "47110@cn1.json 4711.r1@cn1.json 4711.r1@cn2.json 4711@cn1.json ");
}

static void a_report_has_the_state_of_its_run(void **state) {
        scoped(shared_reports_deinit) SharedReports reports = SHARED_REPORTS_NONE;
        static const struct {
                const char *id, *end, *end_read;
        } cases[] = {
                { "9", "}\n", "}\n" },
                { "8.r2", "}\n", ",\"slurm\":{\"state\":\"FAILED\"}\n}" },
                { "8", "} \n\n", ",\"slurm\":{\"state\":\"TIMEOUT\"}}" },
        };
        char report[128], expected[128], file[32];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                (void)snprintf(report, sizeof(report), "{\"id\":\"%s\",\"uid\":%s%s", cases[i].id, own(), cases[i].end);
                (void)snprintf(file, sizeof(file), "%s@a.json", cases[i].id);
                put(own(), file, report);
        }
        put("state", "9.json", "not JSON");
        put("state", "8.r2.json", "{\"state\":\"FAILED\"}\n");
        put("state", "8.json", "{\"state\":\"TIMEOUT\"}");
        assert_int_equal(shared_reports_find(&reports, top, geteuid(), NULL), 0);
        for (size_t i = 0, k = reports.n - N_ELEMENTS(cases); i < N_ELEMENTS(cases); i++) {
                scoped(buffer_deinit) Buffer text = {};

                assert_true(shared_reports_read(&reports, k + i, &text));
                (void)snprintf(expected, sizeof(expected), "{\"id\":\"%s\",\"uid\":%s%s", cases[i].id, own(),
                               cases[i].end_read);
                assert_string_equal(text.text, expected);
                assert_int_equal(shared_reports_count_nodes(&reports, k + i), 1);
        }
        assert_int_equal(shared_reports_count_nodes(&reports, 1), 2);
}

static void links_and_other_kinds_of_files_are_not_read(void **state) {
        scoped(shared_reports_deinit) SharedReports reports = SHARED_REPORTS_NONE;
        scoped(buffer_deinit) Buffer text = {};
        char path[256], target[256];

        (void)state;
        (void)snprintf(target, sizeof(target), "%s/%s/9@a.json", top, own());
        (void)snprintf(path, sizeof(path), "%s/%s/99@a.json", top, own());
        assert_int_equal(symlink(target, path), 0);
        (void)snprintf(path, sizeof(path), "%s/%s/99@b.json", top, own());
        assert_int_equal(mkfifo(path, 0644), 0);
        assert_int_equal(shared_reports_find(&reports, top, geteuid(), "99"), 0);
        assert_int_equal(reports.n, 2);
        assert_false(shared_reports_read(&reports, 0, &text));
        assert_false(shared_reports_read(&reports, 1, &text));
}

static void without_a_directory_there_are_none(void **state) {
        scoped(shared_reports_deinit) SharedReports reports = SHARED_REPORTS_NONE, others = SHARED_REPORTS_NONE;

        (void)state;
        assert_int_equal(shared_reports_find_any(&reports, "/nonexistent", "1"), -ENOENT);
        assert_int_equal(shared_reports_find(&others, top, geteuid() + 1, NULL), 0);
        assert_int_equal(others.n, 0);
        assert_int_equal(setenv("PERFD_REPORTS", "", 1), 0);
        assert_null(shared_reports_directory());
        assert_int_equal(setenv("PERFD_REPORTS", top, 1), 0);
        assert_string_equal(shared_reports_directory(), top);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_newest_run_of_a_job_has_the_number),
                cmocka_unit_test(a_report_has_the_state_of_its_run),
                cmocka_unit_test(links_and_other_kinds_of_files_are_not_read),
                cmocka_unit_test(without_a_directory_there_are_none),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
