/* SPDX-License-Identifier: Apache-2.0 */
#include "usage_samples.h"

#include "util/parse.h"

static void a_usage_goes_on_after_a_restart_as_if_there_was_none(void **state) {
        CgroupSample now = sample_of_all();
        scoped(freep) char *text = NULL;
        Usage usage, restored;

        (void)state;
        now.memory_limit_bytes = 2 * GIB;
        usage_begin(&usage, &now, true);
        now.boottime_ns += 123456789;
        now.usage_us = 33333; /* went back: begin is below zero */
        now.memory_bytes = 900 * MIB;
        now.n_pids = 40;
        usage_advance(&usage, &now);
        now.boottime_ns += SECOND;
        now.usage_us += 100001;
        without(&now, CGROUP_PSI_IO);
        usage_advance(&usage, &now);

        assert_int_equal(usage_format(&usage, &text), 0);
        memset(&restored, 0xa5, sizeof(restored));
        assert_int_equal(usage_parse(text, &restored), 0);
        for (int i = 0; i < 2; i++) {
                UsageSet set = metrics_of(&usage), set_restored = metrics_of(&restored);

                assert_memory_equal(set.value, set_restored.value, sizeof(set.value));
                assert_memory_equal(set.quality, set_restored.quality, sizeof(set.quality));
                now.boottime_ns += SECOND;
                now.usage_us += 999999;
                now.have = ALL;
                usage_advance(&usage, &now);
                usage_advance(&restored, &now);
        }
}

static void words_of_other_versions_are_skipped(void **state) {
        Usage usage;

        (void)state;
        assert_int_equal(usage_parse("perfd-usage of=2\n"
                                     "begin boottime_ns=5 have=cpu,later_part,io usage_us=7 later=x\n"
                                     "later a=b\n"
                                     "last boottime_ns=1000000005 have=cpu,io usage_us=9 read_bytes=3\n"
                                     "seen is_fresh=1 later=1\n"
                                     "end\n",
                                     &usage),
                         0);
        assert_int_equal(usage.begin.have, 1U << CGROUP_CPU | 1U << CGROUP_IO);
        assert_int_equal(usage.last.usage_us, 9);
        assert_int_equal(usage.begin.read_bytes, 0);
        assert_true(usage.is_fresh);
        assert_false(usage.has_cpu_max);
}

static void hostile_text_is_refused_and_leaves_the_usage_alone(void **state) {
        static const char *const texts[] = {
                "",
                "\n",
                "perfd-window\nend\n",
                "perfd-usage",
                "perfd-usage\nbegin boottime_ns=1\n",
                "perfd-usage\nbegin boottime_ns=-1\nend\n",
                "perfd-usage\nbegin boottime_ns=18446744073709551616\nend\n",
                "perfd-usage\nlast usage_us=0x10\nend\n",
                "perfd-usage\nlast usage_us=\nend\n",
                "perfd-usage\nlast n_cpus=4294967296\nend\n",
                "perfd-usage\ncpu_base have=cpu usage_us=1 2=3 usage_us=one\nend\n",
                "perfd-usage\nseen cpu_max=inf\nend\n",
                "perfd-usage\nseen cpu_max=nan\nend\n",
                "perfd-usage\nseen is_fresh=yes\nend\n",
                "perfd-usage\nseen pids_max=99999999999999999999999999999999999999999999999999\nend\n",
        };
        Usage usage, before;

        (void)state;
        memset(&usage, 0x5a, sizeof(usage));
        before = usage;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                assert_int_equal(usage_parse(texts[i], &usage), PARSE_MALFORMED);
                assert_memory_equal(&usage, &before, sizeof(usage));
        }
}

static void text_cut_anywhere_is_refused(void **state) {
        CgroupSample now = sample_of_all();
        scoped(freep) char *text = NULL;
        Usage usage;
        size_t n;

        (void)state;
        usage_begin(&usage, &now, false);
        assert_int_equal(usage_format(&usage, &text), 0);
        n = strlen(text);
        /* Without the last newline nothing is missing. */
        assert_string_equal(text + n - 5, "\nend\n");
        for (size_t i = n - 1; i-- > 0;) {
                text[i] = '\0';
                assert_int_equal(usage_parse(text, &usage), PARSE_MALFORMED);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_usage_goes_on_after_a_restart_as_if_there_was_none),
                cmocka_unit_test(words_of_other_versions_are_skipped),
                cmocka_unit_test(hostile_text_is_refused_and_leaves_the_usage_alone),
                cmocka_unit_test(text_cut_anywhere_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
