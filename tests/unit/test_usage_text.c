/* SPDX-License-Identifier: Apache-2.0 */
#include "usage_samples.h"

#include "util/parse.h"

static void a_usage_continues_after_a_restart(void **state) {
        CgroupSample now = sample_of_all();
        scoped(freep) char *text = NULL;
        Usage usage, restored;

        (void)state;
        now.memory_limit_bytes = 2 * GIB;
        usage_begin(&usage, &now, true);
        now.boottime_ns += 123456789;
        now.usage_us = 33333; /* decreased: begin is below zero */
        now.memory_bytes = 900 * MIB;
        now.n_pids = 40;
        usage_advance(&usage, &now);
        now.boottime_ns += SECOND;
        now.usage_us += 100001;
        without(&now, CGROUP_PSI_IO);
        usage_advance(&usage, &now);

        assert_int_equal(record_format(&usage_record, &usage, &text), 0);
        memset(&restored, 0xa5, sizeof(restored));
        assert_int_equal(record_parse(&usage_record, text, &restored), 0);
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

static void members_of_other_versions_are_skipped(void **state) {
        Usage usage;

        (void)state;
        assert_int_equal(record_parse(&usage_record,
                                      "{\"of\":2,\"begin\":{\"boottime_ns\":5,\"have\":[\"cpu\",\"later_part\",\"io\"],"
                                      "\"usage_us\":7,\"later\":\"x\"},"
                                      "\"later\":{\"a\":[{\"b\":\"}\"}]},"
                                      "\"last\":{\"boottime_ns\":1000000005,\"have\":[\"cpu\",\"io\"],\"usage_us\":9,"
                                      "\"read_bytes\":3},"
                                      "\"is_fresh\":true}",
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
                "null",
                "{\"begin\":{\"boottime_ns\":1}",
                "{\"begin\":[]}",
                "{\"begin\":{\"boottime_ns\":-1}}",
                "{\"begin\":{\"boottime_ns\":18446744073709551616}}",
                "{\"begin\":{\"have\":\"cpu\"}}",
                "{\"last\":{\"usage_us\":0x10}}",
                "{\"last\":{\"usage_us\":}}",
                "{\"last\":{\"n_cpus\":4294967296}}",
                "{\"cpu_base\":{\"usage_us\":1,\"usage_us\":\"one\"}}",
                "{\"cpu_max\":inf}",
                "{\"cpu_max\":nan}",
                "{\"is_fresh\":1}",
                "{\"pids_max\":99999999999999999999999999999999999999999999999999}",
        };
        Usage usage, before;

        (void)state;
        memset(&usage, 0x5a, sizeof(usage));
        before = usage;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                assert_int_equal(record_parse(&usage_record, texts[i], &usage), PARSE_MALFORMED);
                assert_memory_equal(&usage, &before, sizeof(usage));
        }
}

static void text_cut_anywhere_is_refused(void **state) {
        CgroupSample now = sample_of_all();
        scoped(freep) char *text = NULL;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        assert_int_equal(record_format(&usage_record, &usage, &text), 0);
        for (size_t i = strlen(text); i-- > 0;) {
                text[i] = '\0';
                assert_int_equal(record_parse(&usage_record, text, &usage), PARSE_MALFORMED);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_usage_continues_after_a_restart),
                cmocka_unit_test(members_of_other_versions_are_skipped),
                cmocka_unit_test(hostile_text_is_refused_and_leaves_the_usage_alone),
                cmocka_unit_test(text_cut_anywhere_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
