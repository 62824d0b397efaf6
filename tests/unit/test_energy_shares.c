/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "jobs/energy_shares.h"

#define JOULE UINT64_C(1000000)
#define SECOND UINT64_C(1000000) /* of CPU time, in µs */

typedef struct Fixture {
        Jobs jobs;
        Totals totals;
} Fixture;

static int setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        f->totals.have = 1U << SOURCE_ENERGY;
        f->totals.value[TOTAL_ENERGY_UJ] = 1234567890123;
        *state = f;
        return jobs_init(&f->jobs);
}

static int teardown(void **state) {
        Fixture *f = *state;

        jobs_deinit(&f->jobs);
        free(f);
        return 0;
}

static Job *add(Fixture *f, const char *id, const char *group) {
        const CgroupSample begin = { .boottime_ns = 1, .have = 1U << CGROUP_CPU };
        JobInfo info = {};
        Job *job;

        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        assert_int_equal(jobs_add(&f->jobs, &info, &f->totals, &job), 0);
        job->group.usage = calloc(1, sizeof(*job->group.usage));
        usage_begin(job->group.usage, &begin, true);
        assert_int_equal(jobs_set_group(&f->jobs, job, group), 0);
        return job;
}

static void work(Job *job, uint64_t cpu_us) {
        CgroupSample sample = job->group.usage->last;

        sample.boottime_ns++;
        sample.usage_us += cpu_us;
        usage_advance(job->group.usage, &sample);
        if (job->phase)
                usage_advance(&job->phase->usage, &sample);
}

static void pass(Fixture *f, uint64_t uj, uint64_t busy_us, uint64_t idle_us) {
        f->totals.value[TOTAL_ENERGY_UJ] += uj;
        f->totals.value[TOTAL_CPU_USER] += busy_us / 2 / 10000;
        f->totals.value[TOTAL_CPU_SYSTEM] += (busy_us - busy_us / 2) / 10000;
        f->totals.value[TOTAL_CPU_IDLE] += idle_us / 10000;
}

static void tick(Fixture *f) {
        energy_shares_divide(&f->jobs, &f->totals);
}

static uint64_t energy_of(const Job *job) {
        return job->group.usage->energy.last_uj;
}

static Quality quality_of(const Job *job, double *ret_joules) {
        UsageSet set;

        usage_metrics(job->group.usage, 2, 0, &set);
        *ret_joules = set.value[USAGE_ENERGY];
        return set.quality[USAGE_ENERGY];
}

static void energy_follows_the_time_of_cpus_that_were_not_idle(void **state) {
        Fixture *f = *state;
        Job *a = add(f, "a", "/a"), *b = add(f, "b", "/b");
        double joules;

        tick(f);
        pass(f, 100 * JOULE, 10 * SECOND, 90 * SECOND);
        work(a, 5 * SECOND);
        work(b, 2 * SECOND);
        tick(f);
        assert_int_equal(energy_of(a), 50 * JOULE);
        assert_int_equal(energy_of(b), 20 * JOULE);

        /* nothing ran, then the jobs did not */
        pass(f, 40 * JOULE, 0, 100 * SECOND);
        tick(f);
        pass(f, 40 * JOULE, 10 * SECOND, 0);
        tick(f);
        assert_int_equal(energy_of(a), 50 * JOULE);
        assert_int_equal(quality_of(b, &joules), QUALITY_SAMPLED);
        assert_true(joules == 20);
}

/* What is left over in a division is divided the next time. */
static void shares_add_up_to_the_counter(void **state) {
        Fixture *f = *state;
        uint64_t begin_uj = f->totals.value[TOTAL_ENERGY_UJ], seed = 1;
        Job *jobs[7];

        for (size_t i = 0; i < 7; i++)
                jobs[i] = add(f, (char[]){ (char)('a' + i), '\0' }, (char[]){ '/', (char)('a' + i), '\0' });
        tick(f);
        for (unsigned i = 0; i < 20000; i++) {
                uint64_t sum_us = 0, sum_uj = 0;

                for (size_t k = 0; k < 7; k++) {
                        seed = seed * 6364136223846793005U + 1442695040888963407U;
                        work(jobs[k], (seed >> 44) % SECOND);
                        sum_us += (seed >> 44) % SECOND;
                }
                seed = seed * 6364136223846793005U + 1442695040888963407U;
                pass(f, (seed >> 40) * 31, sum_us, 0); /* less than the jobs' by up to a tick */
                tick(f);
                for (size_t k = 0; k < 7; k++)
                        sum_uj += energy_of(jobs[k]);
                assert_true(sum_uj <= f->totals.value[TOTAL_ENERGY_UJ] - begin_uj);
                assert_true(sum_uj + 8 >= f->totals.value[TOTAL_ENERGY_UJ] - begin_uj);
        }
}

static void a_job_within_another_is_a_part_of_it(void **state) {
        Fixture *f = *state;
        Job *outer = add(f, "outer", "/slurm/job_1"), *inner = add(f, "inner", "/slurm/job_1/step_0/scope"),
            *other = add(f, "other", "/slurm/job_11");

        tick(f);
        pass(f, 100 * JOULE, 10 * SECOND, 0);
        work(outer, 8 * SECOND);
        work(inner, 6 * SECOND);
        work(other, 2 * SECOND);
        tick(f);
        assert_int_equal(energy_of(outer), 80 * JOULE);
        assert_int_equal(energy_of(inner), 60 * JOULE);
        assert_int_equal(energy_of(other), 20 * JOULE);

        pass(f, 100 * JOULE, 10 * SECOND, 0);
        work(outer, 8 * SECOND);
        work(inner, 6 * SECOND);
        work(other, 2 * SECOND);
        energy_shares_settle(&f->jobs, inner, &f->totals);
        assert_int_equal(energy_of(inner), 120 * JOULE);
        tick(f);
        assert_int_equal(energy_of(outer), 160 * JOULE);
        assert_int_equal(energy_of(other), 40 * JOULE);
}

static void a_job_that_ends_takes_its_share_at_once(void **state) {
        Fixture *f = *state;
        Job *a = add(f, "a", "/a"), *b = add(f, "b", "/b");

        tick(f);
        pass(f, 40 * JOULE, 4 * SECOND, 0);
        work(a, 1 * SECOND);
        work(b, 1 * SECOND);
        energy_shares_settle(&f->jobs, a, &f->totals);
        assert_int_equal(energy_of(a), 10 * JOULE);
        assert_int_equal(energy_of(b), 0);
        a->final = calloc(1, sizeof(*a->final));

        pass(f, 60 * JOULE, 6 * SECOND, 0);
        work(a, 3 * SECOND);
        work(b, 2 * SECOND);
        tick(f);
        assert_int_equal(energy_of(a), 10 * JOULE);
        assert_int_equal(energy_of(b), 30 * JOULE);
        energy_shares_settle(&f->jobs, a, &f->totals);
        assert_int_equal(energy_of(a), 10 * JOULE);
}

static void phases_add_up_to_their_job(void **state) {
        Fixture *f = *state;
        Job *a = add(f, "a", "/a");
        UsageSet set;

        tick(f);
        pass(f, 10 * JOULE, SECOND, 0);
        work(a, SECOND);
        tick(f);
        a->phase = calloc(1, sizeof(*a->phase));
        a->phase->has_usage = true;
        usage_begin(&a->phase->usage, &a->group.usage->last, false);
        a->phase->usage.energy = (UsageEnergy){ .begin_uj = energy_of(a) };
        usage_follow_energy(&a->phase->usage, a->group.usage);
        pass(f, 32 * JOULE, SECOND, 0);
        work(a, SECOND);
        energy_shares_settle(&f->jobs, a, &f->totals);
        usage_metrics(&a->phase->usage, 2, 0, &set);
        assert_int_equal(set.quality[USAGE_ENERGY], QUALITY_SAMPLED);
        assert_true(set.value[USAGE_ENERGY] == 32);
        assert_int_equal(energy_of(a), 42 * JOULE);
}

/* The kernel counts both in the meantime. */
static void energy_that_could_not_be_read_is_divided_later(void **state) {
        Fixture *f = *state;
        Job *a = add(f, "a", "/a");

        tick(f);
        f->totals.have = 0;
        pass(f, 0, SECOND, 0);
        work(a, SECOND);
        tick(f);
        energy_shares_settle(&f->jobs, a, &f->totals);
        assert_int_equal(energy_of(a), 0);
        f->totals.have = 1U << SOURCE_ENERGY;
        pass(f, 40 * JOULE, 3 * SECOND, 0);
        work(a, SECOND);
        tick(f);
        assert_int_equal(energy_of(a), 20 * JOULE);
}

static void a_job_has_the_energy_of_the_time_without_perfd(void **state) {
        Fixture *f = *state;
        Job *a = add(f, "a", "/a");

        energy_shares_begin(&f->jobs.energy, &f->totals);
        pass(f, 40 * JOULE, 4 * SECOND, 0);
        work(a, SECOND);
        tick(f);
        assert_int_equal(energy_of(a), 10 * JOULE);
}

/* A minute before its begin was reported, in one second of one CPU. */
static void no_job_uses_more_than_the_node(void **state) {
        Fixture *f = *state;
        Job *a = add(f, "a", "/a"), *late = add(f, "late", "/late");

        tick(f);
        pass(f, 40 * JOULE, SECOND, 0);
        work(a, SECOND);
        work(late, 60 * SECOND);
        tick(f);
        assert_int_equal(energy_of(a), 20 * JOULE);
        assert_int_equal(energy_of(late), 20 * JOULE);
        pass(f, 40 * JOULE, SECOND, 0);
        work(a, SECOND);
        tick(f);
        assert_int_equal(energy_of(a), 60 * JOULE);
}

static void without_meters_there_is_no_number(void **state) {
        Fixture *f = *state;
        Job *a, *b;
        double joules;

        f->totals.have = 0;
        f->totals.none = 1U << SOURCE_ENERGY;
        a = add(f, "a", "/a");
        tick(f);
        assert_int_equal(quality_of(a, &joules), QUALITY_NO_EQUIPMENT);

        /* a module was loaded, and a rule applied */
        f->totals.none = 0;
        tick(f);
        assert_int_equal(quality_of(a, &joules), QUALITY_UNKNOWN_SOURCE);
        f->totals.have = 1U << SOURCE_ENERGY;
        b = add(f, "b", "/b");
        tick(f);
        pass(f, 40 * JOULE, SECOND, 0);
        work(a, SECOND / 2);
        work(b, SECOND / 2);
        tick(f);
        assert_int_equal(quality_of(a, &joules), QUALITY_UNKNOWN_SOURCE);
        assert_int_equal(quality_of(b, &joules), QUALITY_SAMPLED);
        assert_true(joules == 20);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                test(energy_follows_the_time_of_cpus_that_were_not_idle),
                test(shares_add_up_to_the_counter),
                test(a_job_within_another_is_a_part_of_it),
                test(a_job_that_ends_takes_its_share_at_once),
                test(phases_add_up_to_their_job),
                test(energy_that_could_not_be_read_is_divided_later),
                test(a_job_has_the_energy_of_the_time_without_perfd),
                test(no_job_uses_more_than_the_node),
                test(without_meters_there_is_no_number),
        };

        return cmocka_run_group_tests_name("energy_shares", tests, NULL, NULL);
}
