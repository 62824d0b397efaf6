/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/report/report_run.c */
/* Lists of nodes as Slurm writes them, and those of a job that no report is of. */

#include "client/report/report_run.h"
#include "report_fixture.h"

static void assert_expands(const char *list, const char *names) {
        scoped(buffer_deinit) Buffer out = {};

        assert_true(report_run_expand_missing(list, &out));
        assert_string_equal(out.text ?: "", names);
}

static void a_list_is_expanded_as_slurm_does(void **state) {
        (void)state;
        assert_expands("", "");
        assert_expands("cn1", "cn1\n");
        assert_expands("cn[1-3,07],login", "cn1\ncn2\ncn3\ncn07\nlogin\n");
        assert_expands("r[1-2]n[08-10]-ib", "r1n08-ib\nr1n09-ib\nr1n10-ib\nr2n08-ib\nr2n09-ib\nr2n10-ib\n");
        assert_expands("a,b[2]", "a\nb2\n");
}

static void what_is_no_list_of_nodes_is_refused(void **state) {
        static const char *const lists[] = { "cn[", "cn[1", "cn[1-", "cn[]", "cn[a]", "cn[1-2,]", "cn[1;2]",
                                             "cn[1-999999999]", "a[1-99999][1-99999]" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(lists); i++) {
                scoped(buffer_deinit) Buffer out = {};

                if (report_run_expand_missing(lists[i], &out))
                        fail_msg("%s is taken", lists[i]);
        }
}

static void nodes_without_a_report_are_named(void **state) {
        static const struct {
                const char *list, *missing;
        } cases[] = {
                { "cn[1-3]", "cn2, cn3" },
                { "cn1", "" },
                { "", "" },
                { "cn[", "" },
                { "cn[1-12]", "cn2, cn3, cn4, cn5, cn6, cn7, cn8, cn9 and 3 more" },
        };
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                scoped(buffer_deinit) Buffer text = {}, missing = {};
                RankReport report;
                ReportRun run;
                RunHost host;

                buffer_printf(&text, "{\"id\":\"4711\",\"labels\":{\"slurm_node\":\"cn1\",\"nodelist\":\"%s\"}}",
                              cases[i].list);
                report_run_of_job(&run, &report, &host, read_value(f, text.text), NULL);
                report_run_write_missing(&run, &missing);
                assert_string_equal(missing.text ?: "", cases[i].missing);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_list_is_expanded_as_slurm_does, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_is_no_list_of_nodes_is_refused, set_up, tear_down),
                cmocka_unit_test_setup_teardown(nodes_without_a_report_are_named, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
