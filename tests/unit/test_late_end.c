/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "job/job.h"

typedef struct Fixture {
        MetricSet metrics;
        UsageSet usage;
        JobEnd end;
        LateEnd late;
} Fixture;

/* A job that ran for 2 s when perfd was last running, and ended 3.5 s after its start. */
static void set_up(Fixture *f, Quality duration, Quality cpu) {
        *f = (Fixture){ .late = { .begin_realtime_ms = 10000, .end_realtime_ms = 12000, .n_node_cpus = 4 } };
        f->late.metrics = &f->metrics;
        f->late.usage = &f->usage;
        f->metrics.value[METRIC_DURATION] = 2;
        f->metrics.quality[METRIC_DURATION] = f->metrics.quality[METRIC_UNOBSERVED] = (uint8_t)duration;
        f->metrics.value[METRIC_UNOBSERVED] = 0.25;
        usage_none(&f->usage);
        if (quality_is_present(cpu)) {
                usage_of_process_tree(&(ProcessTree){ 1.5, 0.25, false }, 2, 4, &f->usage);
                f->usage.quality[USAGE_CPU_SECONDS] = f->usage.quality[USAGE_CPU_USER] = (uint8_t)cpu;
        }
        f->end = (JobEnd){ .realtime_ms = 13500, .has_rusage = true, .rusage = { .ru_utime = 2.5, .ru_stime = 0.3 } };
}

static void assert_end(const Fixture *f, uint64_t end_ms, double duration_s, Quality quality) {
        assert_int_equal(f->late.end_realtime_ms, end_ms);
        assert_true(f->metrics.value[METRIC_DURATION] == duration_s);
        assert_int_equal(f->metrics.quality[METRIC_DURATION], quality);
}

static void an_unknown_end_is_that_of_the_report(void **state) {
        Fixture f;

        (void)state;
        set_up(&f, QUALITY_SAMPLED, QUALITY_EXACT);
        job_settle_late_end(&f.late, &f.end, 20000);
        assert_end(&f, 13500, 3.5, QUALITY_EXACT);
        assert_true(f.metrics.value[METRIC_UNOBSERVED] == 0.25 + 1.5);
        assert_true(f.usage.value[USAGE_CPU_SECONDS] == 1.75); /* the group's own counters */
        assert_true(f.usage.value[USAGE_CPU_MEAN] == 0.5);
        assert_true(f.usage.value[USAGE_CPU_RATIO] == 0.125);
        assert_int_equal(f.usage.quality[USAGE_CPU_MEAN], QUALITY_EXACT);
}

static void the_end_is_between_the_last_sample_and_now(void **state) {
        Fixture f;

        (void)state;
        set_up(&f, QUALITY_SAMPLED, QUALITY_EXACT);
        f.end.realtime_ms = 1;
        job_settle_late_end(&f.late, &f.end, 20000);
        assert_end(&f, 12000, 2, QUALITY_EXACT);
        assert_true(f.metrics.value[METRIC_UNOBSERVED] == 0.25);
        set_up(&f, QUALITY_SAMPLED, QUALITY_EXACT);
        f.end.realtime_ms = UINT64_MAX;
        job_settle_late_end(&f.late, &f.end, 20000);
        assert_end(&f, 20000, 10, QUALITY_EXACT);
        set_up(&f, QUALITY_SAMPLED, QUALITY_EXACT);
        job_settle_late_end(&f.late, &f.end, 11000); /* the clock was set back */
        assert_true(f.late.end_realtime_ms >= 12000);
}

static void an_observed_end_and_a_report_without_time_change_nothing(void **state) {
        Fixture f;

        (void)state;
        set_up(&f, QUALITY_EXACT, QUALITY_SAMPLED);
        job_settle_late_end(&f.late, &f.end, 20000);
        assert_end(&f, 12000, 2, QUALITY_EXACT);
        set_up(&f, QUALITY_SAMPLED, QUALITY_SAMPLED);
        f.end.realtime_ms = 0;
        job_settle_late_end(&f.late, &f.end, 20000);
        assert_end(&f, 12000, 2, QUALITY_SAMPLED);
        assert_true(f.usage.value[USAGE_CPU_SECONDS] == 1.75);
}

static void cpu_time_that_is_missing_is_that_of_the_process(void **state) {
        Fixture f;

        (void)state;
        set_up(&f, QUALITY_SAMPLED, QUALITY_NO_GROUP);
        job_settle_late_end(&f.late, &f.end, 20000);
        assert_true(f.usage.value[USAGE_CPU_SECONDS] == 2.8);
        assert_int_equal(f.usage.quality[USAGE_CPU_SECONDS], QUALITY_EXACT);
        assert_true(fabs(f.usage.value[USAGE_CPU_MEAN] - 0.8) < 1e-9);

        set_up(&f, QUALITY_SAMPLED, QUALITY_SAMPLED); /* the last counters are missing */
        job_settle_late_end(&f.late, &f.end, 20000);
        assert_true(f.usage.value[USAGE_CPU_SECONDS] == 2.8 && f.usage.value[USAGE_CPU_USER] == 2.5);
        assert_int_equal(f.usage.quality[USAGE_CPU_SECONDS], QUALITY_SAMPLED);

        set_up(&f, QUALITY_SAMPLED, QUALITY_SAMPLED); /* other processes of the job used more */
        f.end.rusage.ru_utime = 0.1;
        job_settle_late_end(&f.late, &f.end, 20000);
        assert_true(f.usage.value[USAGE_CPU_SECONDS] == 1.75);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_unknown_end_is_that_of_the_report),
                cmocka_unit_test(the_end_is_between_the_last_sample_and_now),
                cmocka_unit_test(an_observed_end_and_a_report_without_time_change_nothing),
                cmocka_unit_test(cpu_time_that_is_missing_is_that_of_the_process),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
