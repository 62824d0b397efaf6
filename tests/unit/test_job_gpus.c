/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "fake_sample.h"
#include "job/job_gpus.h"
#include "util/scoped.h"

#define BEGIN (100 * SECOND)

static const JobGpuTimes with_sample = { UINT64_MAX, UINT64_MAX };

typedef struct Fixture {
        Sample sample;
        JobGpus gpus;
        JobGpu *gpu;
} Fixture;

static SampleEquipment *item(Fixture *f) {
        return &f->sample.equipment.items[0];
}

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        fake_init(&f->sample, 1);
        (void)strcpy(fake_gpu(&f->sample, "3")->texts[0], "GPU-6b1f0c2e-0000-0000-0000-000000000003");
        (void)strcpy(item(f)->texts[1], "NVIDIA H200");
        /* what the node counted before the job */
        for (unsigned i = 0; i < N_GPU_VALUES; i++)
                if (equipment_kinds[EQUIPMENT_GPU].values[i].type == EQUIPMENT_COUNTER)
                        equipment_set(item(f), i, 1000000007);
        equipment_set(item(f), GPU_memory_total_bytes, 140 * GIB);
        f->gpu = job_gpus_add(&f->gpus, "3", BEGIN);
        assert_non_null(f->gpu);
        job_gpus_set_item(f->gpu, item(f));
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        job_gpus_deinit(&f->gpus);
        sample_deinit(&f->sample);
        free(f);
        return 0;
}

/* A second with these shares, in 1/1000, at 400 W and 1.5 GHz; 10 GiB are in use. */
static void pass(Fixture *f, uint64_t utilized, uint64_t active) {
        static const struct {
                unsigned value;
                uint64_t above;
        } over[] = { { GPU_sm_over20_us, 200 }, { GPU_sm_over40_us, 400 }, { GPU_sm_over80_us, 800 } };
        uint64_t *values = item(f)->values;

        values[GPU_present_us] += 1000000;
        values[GPU_utilized_us] += utilized * 1000;
        values[GPU_sm_observed_us] += 1000000;
        values[GPU_sm_active_us] += active * 1000;
        for (size_t i = 0; i < N_ELEMENTS(over); i++)
                values[over[i].value] += active >= over[i].above ? 1000000 : 0;
        values[GPU_energy_mj] += 400000;
        equipment_set(item(f), GPU_memory_used_bytes, 10 * GIB);
        equipment_set(item(f), GPU_sm_clock_hz, 1500000000);
        equipment_set(item(f), GPU_power_limit_mw, 500000);
}

static double number(const Fixture *f, JobGpuNumber n) {
        return job_gpus_number(f->gpu, n);
}

static void assert_number(const Fixture *f, JobGpuNumber n, double expected) {
        assert_true(fabs(number(f, n) - expected) <= 1e-9 * fabs(expected));
}

static void the_difference_of_two_readings_is_the_jobs(void **state) {
        Fixture *f = *state;

        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_true(isnan(number(f, JOB_GPU_UTILIZATION)));
        for (int i = 0; i < 10; i++) {
                /* measured on an H200: half of the time products that fill it */
                pass(f, 940, i % 2 ? 960 : 0);
                job_gpus_advance(f->gpu, item(f), &with_sample);
        }
        assert_number(f, JOB_GPU_SECONDS, 10);
        assert_number(f, JOB_GPU_UTILIZATION, 0.94);
        assert_number(f, JOB_GPU_SM_ACTIVE, 0.48);
        assert_number(f, JOB_GPU_SM_OVER20, 0.5);
        assert_number(f, JOB_GPU_SM_OVER80, 0.5);
        assert_number(f, JOB_GPU_ENERGY, 4000);
        assert_number(f, JOB_GPU_POWER, 400);
        assert_number(f, JOB_GPU_POWER_LIMIT, 500);
        assert_number(f, JOB_GPU_POWER_USED, 0.8);
        assert_number(f, JOB_GPU_CLOCK, 1.5e9);
        assert_number(f, JOB_GPU_MEMORY_MEAN, 10.0 * GIB);
        assert_number(f, JOB_GPU_MEMORY_USED, 1.0 / 14);
        assert_number(f, JOB_GPU_MEMORY_PEAK, 10.0 * GIB);
        assert_number(f, JOB_GPU_XID, 0);
        assert_int_equal(job_gpus_is_used(f->gpu), 1);
        /* never read */
        assert_true(isnan(number(f, JOB_GPU_TEMPERATURE)));
        /* no process of the job was seen */
        assert_true(isnan(number(f, JOB_GPU_PROCESS_PEAK)));
        assert_true(isnan(number(f, JOB_GPU_PROCESS_SHARE)));
}

static void readings_before_the_begin_do_not_count(void **state) {
        Fixture *f = *state;

        job_gpus_advance(f->gpu, item(f), &(JobGpuTimes){ BEGIN - 1, BEGIN - 1 });
        pass(f, 500, 500);
        job_gpus_advance(f->gpu, item(f), &(JobGpuTimes){ BEGIN, BEGIN - 1 });
        assert_true(isnan(number(f, JOB_GPU_ENERGY)));
        pass(f, 500, 500);
        job_gpus_advance(f->gpu, item(f), &(JobGpuTimes){ BEGIN + 1, BEGIN + 1 });
        assert_number(f, JOB_GPU_SECONDS, 1);
        assert_number(f, JOB_GPU_ENERGY, 0);
        pass(f, 500, 500);
        job_gpus_advance(f->gpu, item(f), &(JobGpuTimes){ BEGIN + 2, BEGIN + 2 });
        assert_number(f, JOB_GPU_SECONDS, 2);
        assert_number(f, JOB_GPU_ENERGY, 400);
}

static void a_value_that_is_missing_is_continued(void **state) {
        Fixture *f = *state;

        job_gpus_advance(f->gpu, item(f), &with_sample);
        pass(f, 500, 500);
        item(f)->have &= ~(UINT32_C(1) << GPU_energy_mj);
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_number(f, JOB_GPU_ENERGY, 0);
        pass(f, 500, 500);
        item(f)->have |= UINT32_C(1) << GPU_energy_mj;
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_number(f, JOB_GPU_ENERGY, 800);
        assert_number(f, JOB_GPU_POWER, 400);
}

static void what_others_do_is_not_the_jobs(void **state) {
        Fixture *f = *state;

        f->gpu->now = (JobGpuProcesses){ .n = 1, .memory_bytes = GIB };
        job_gpus_advance(f->gpu, item(f), &with_sample);
        pass(f, 100, 100);
        job_gpus_advance(f->gpu, item(f), &with_sample);
        for (int i = 0; i < 3; i++) {
                f->gpu->now = (JobGpuProcesses){ .are_others = true, .n = 1, .memory_bytes = 2 * GIB,
                                                  .share_us = 300000, .all_share_us = 1000000 };
                pass(f, 1000, 1000);
                item(f)->values[GPU_xid_errors]++;
                equipment_set(item(f), GPU_memory_used_bytes, 100 * GIB);
                job_gpus_advance(f->gpu, item(f), &with_sample);
        }
        assert_number(f, JOB_GPU_SECONDS, 4);
        assert_number(f, JOB_GPU_UTILIZATION, 0.1);
        assert_number(f, JOB_GPU_SM_ACTIVE, 0.1);
        assert_number(f, JOB_GPU_ENERGY, 400);
        assert_number(f, JOB_GPU_XID, 0);
        assert_number(f, JOB_GPU_MEMORY_PEAK, 10.0 * GIB);
        assert_number(f, JOB_GPU_PROCESS_PEAK, 2.0 * GIB);
        assert_number(f, JOB_GPU_PROCESS_SHARE, 0.3);

        /* a counter that is read less often has still grown through others */
        f->gpu->now = (JobGpuProcesses){ .n = 1 };
        pass(f, 100, 100);
        item(f)->have &= ~(UINT32_C(1) << GPU_energy_mj);
        job_gpus_advance(f->gpu, item(f), &with_sample);
        pass(f, 100, 100);
        item(f)->have |= UINT32_C(1) << GPU_energy_mj;
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_number(f, JOB_GPU_ENERGY, 400);
        pass(f, 100, 100);
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_number(f, JOB_GPU_ENERGY, 800);
        assert_true(f->gpu->was_shared);
}

static void of_a_gpu_that_was_always_shared_only_the_processes_are_known(void **state) {
        Fixture *f = *state;
        UsageSet usage;

        for (int i = 0; i < 5; i++) {
                f->gpu->now = (JobGpuProcesses){ .are_others = true, .n = 1, .memory_bytes = GIB, .share_us = 400000,
                                                  .all_share_us = 1000000 };
                job_gpus_advance(f->gpu, item(f), &with_sample);
                pass(f, 1000, 1000);
        }
        for (JobGpuNumber n = 0; n < N_JOB_GPU_NUMBERS; n++)
                assert_int_equal(!isnan(number(f, n)), n == JOB_GPU_SECONDS || n == JOB_GPU_PROCESS_PEAK ||
                                                               n == JOB_GPU_PROCESS_SHARE);
        usage_none(&usage);
        job_gpus_put_usage(&f->gpus, &usage);
        assert_true(usage.value[USAGE_GPU_TIME] == 4 && usage.value[USAGE_GPU_USED] == 2);
        assert_false(quality_is_present(usage.quality[USAGE_GPU_ENERGY]));
        assert_false(quality_is_present(usage.quality[USAGE_GPU_ACTIVE]));
}

static void a_gpu_is_used_if_kernels_ran_on_it(void **state) {
        Fixture *f = *state;

        assert_int_equal(job_gpus_is_used(f->gpu), -1);
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_int_equal(job_gpus_is_used(f->gpu), -1);
        f->gpu->now.n = 1;
        pass(f, 9, 9);
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_int_equal(job_gpus_is_used(f->gpu), 0);
        pass(f, 12, 9);
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_int_equal(job_gpus_is_used(f->gpu), 1);

        f->gpu->have = 0;
        assert_int_equal(job_gpus_is_used(f->gpu), 1); /* a process of it is there */
        f->gpu->had_processes = false;
        assert_int_equal(job_gpus_is_used(f->gpu), -1);
}

static void a_gpu_continues_after_its_record(void **state) {
        scoped(freep) char *text = NULL;
        Fixture *f = *state;
        JobGpus kept;

        job_gpus_advance(f->gpu, item(f), &with_sample);
        pass(f, 500, 250);
        f->gpu->now = (JobGpuProcesses){ .n = 1, .memory_bytes = GIB };
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_int_equal(record_format(&job_gpus_record, &f->gpus, &text), 0);
        assert_int_equal(record_parse(&job_gpus_record, text, &kept), 0);
        job_gpus_deinit(&f->gpus);
        f->gpus = kept;
        f->gpu = job_gpus_find(&f->gpus, item(f));
        assert_non_null(f->gpu);

        pass(f, 500, 250); /* while perfd was away */
        pass(f, 500, 250);
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_number(f, JOB_GPU_SECONDS, 3);
        assert_number(f, JOB_GPU_UTILIZATION, 0.5);
        assert_number(f, JOB_GPU_SM_ACTIVE, 0.25);
        assert_number(f, JOB_GPU_ENERGY, 1200);
        assert_number(f, JOB_GPU_PROCESS_PEAK, 1.0 * GIB);
        assert_string_equal(f->gpu->given, "3");
        assert_string_equal(f->gpu->model, "NVIDIA H200");
}

static void all_gpus_together_are_metrics_of_the_job(void **state) {
        Fixture *f = *state;
        JobGpu *idle = job_gpus_add(&f->gpus, "GPU-2", BEGIN);
        UsageSet usage;

        f->gpu = &f->gpus.items[0];
        usage_none(&usage);
        job_gpus_put_usage(&(JobGpus){}, &usage);
        for (UsageMetric metric = USAGE_GPU_TIME; metric <= USAGE_GPU_ENERGY; metric++)
                assert_int_equal(usage.quality[metric], QUALITY_NO_EQUIPMENT);
        job_gpus_put_usage(&f->gpus, &usage); /* nothing was read so far */
        for (UsageMetric metric = USAGE_GPU_TIME; metric <= USAGE_GPU_ENERGY; metric++)
                assert_int_equal(usage.quality[metric], QUALITY_UNKNOWN_SOURCE);

        job_gpus_advance(f->gpu, item(f), &with_sample);
        job_gpus_advance(idle, item(f), &with_sample);
        pass(f, 500, 300);
        job_gpus_advance(f->gpu, item(f), &with_sample);
        pass(f, 0, 0);
        item(f)->values[GPU_utilized_us] -= 500000;
        item(f)->values[GPU_sm_active_us] -= 300000;
        job_gpus_advance(idle, item(f), &with_sample);
        job_gpus_put_usage(&f->gpus, &usage);
        assert_true(usage.value[USAGE_GPU_TIME] == 3 && usage.quality[USAGE_GPU_TIME] == QUALITY_EXACT);
        assert_true(usage.value[USAGE_GPU_USED] == 0.5);
        assert_true(usage.value[USAGE_GPU_UNUSED] == 2.5);
        assert_true(fabs(usage.value[USAGE_GPU_ACTIVE] - 0.1) < 1e-9);
        assert_true(usage.value[USAGE_GPU_ENERGY] == 1200);
}

static void what_is_not_known_is_null(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Fixture *f = *state;
        Json json = { .out = &out };

        json_object_begin(&json);
        job_gpus_write_json(&f->gpus, &json);
        json_object_end(&json);
        assert_non_null(strstr(out.text, "{\"gpus\":[{\"gpu\":\"3\","
                                         "\"uuid\":\"GPU-6b1f0c2e-0000-0000-0000-000000000003\","
                                         "\"model\":\"NVIDIA H200\",\"given\":\"3\",\"used\":null,\"shared\":false,"
                                         "\"seconds\":null,\"utilization\":null,"));
        assert_null(strstr(out.text, "nan"));
        buffer_clear(&out);
        json = (Json){ .out = &out };
        job_gpus_advance(f->gpu, item(f), &with_sample);
        pass(f, 500, 250);
        job_gpus_advance(f->gpu, item(f), &with_sample);
        json_object_begin(&json);
        job_gpus_write_json(&f->gpus, &json);
        assert_non_null(strstr(out.text, "\"used\":true,\"shared\":false,\"seconds\":1.0,\"utilization\":0.5,"
                                         "\"sm_observed_seconds\":1.0,\"sm_active\":0.25,\"sm_over20\":1.0,"));
}

static void power_continues_the_energy_of_the_last_reading(void **state) {
        Fixture *f = *state;
        uint64_t energy_mj;

        equipment_set(item(f), GPU_power_mw, 300000);
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_number(f, JOB_GPU_ENERGY_NOW, 0);
        pass(f, 500, 250);
        energy_mj = item(f)->values[GPU_energy_mj];
        item(f)->values[GPU_energy_mj] -= 400000; /* the counter was not read */
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_number(f, JOB_GPU_ENERGY, 0);
        assert_number(f, JOB_GPU_ENERGY_NOW, 300);
        item(f)->values[GPU_energy_mj] = energy_mj;
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_number(f, JOB_GPU_ENERGY, 400);
        assert_number(f, JOB_GPU_ENERGY_NOW, 400);
        f->gpu->now = (JobGpuProcesses){}; /* the reading is old */
        assert_true(isnan(number(f, JOB_GPU_ENERGY_NOW)));
        assert_number(f, JOB_GPU_ENERGY, 400);
}

static void sums_are_of_gpus_that_the_job_has_alone(void **state) {
        Fixture *f = *state;
        JobGpu *other, *never;

        assert_true(isnan(job_gpus_add_up(&f->gpus, SUM_GPU_POWER)));
        (void)strcpy(fake_gpu(&f->sample, "4")->texts[0], "GPU-4");
        never = job_gpus_add(&f->gpus, "9", BEGIN); /* the node has not */
        other = job_gpus_add(&f->gpus, "4", BEGIN);
        assert_true(never && other);
        f->gpu = &f->gpus.items[0];
        for (size_t i = 0; i < 2; i++) {
                SampleEquipment *gpu = &f->sample.equipment.items[i];

                equipment_set(gpu, GPU_power_mw, 250500);
                equipment_set(gpu, GPU_sm_active, 9000);
                job_gpus_set_item(i == 0 ? f->gpu : other, gpu);
                job_gpus_advance(i == 0 ? f->gpu : other, gpu, &with_sample);
        }
        assert_true(job_gpus_add_up(&f->gpus, SUM_GPU_POWER) == 501);
        assert_true(job_gpus_add_up(&f->gpus, SUM_GPUS_ACTIVE) == 1.8);
        assert_true(isnan(job_gpus_add_up(&f->gpus, SUM_GPUS_UTILIZED)));

        /* one that has no power any more, others that use it, and one that is gone leave no sum of the rest */
        f->sample.equipment.items[1].have &= ~(1U << GPU_power_mw);
        job_gpus_advance(other, &f->sample.equipment.items[1], &with_sample);
        assert_true(isnan(job_gpus_add_up(&f->gpus, SUM_GPU_POWER)));
        assert_true(job_gpus_add_up(&f->gpus, SUM_GPUS_ACTIVE) == 1.8);
        other->now = (JobGpuProcesses){ .are_others = true };
        job_gpus_advance(other, &f->sample.equipment.items[1], &with_sample);
        assert_true(isnan(job_gpus_add_up(&f->gpus, SUM_GPUS_ACTIVE)));
        other->now = (JobGpuProcesses){};
        assert_true(isnan(job_gpus_add_up(&f->gpus, SUM_GPUS_ACTIVE)));
}

static void assert_metric(Fixture *f, JobGpuNumber number, const char *key, double value, const char *unit) {
        JobGpuMetric metric;

        assert_true(job_gpus_metric(f->gpu, number, &metric));
        assert_string_equal(metric.key, key);
        assert_string_equal(metric.unit, unit);
        assert_true(fabs(metric.value - value) < 1e-9 * value);
}

static void numbers_have_the_names_of_mlflow(void **state) {
        Fixture *f = *state;
        JobGpuMetric metric;
        size_t n = 0;

        assert_false(job_gpus_metric(f->gpu, JOB_GPU_UTILIZATION, &metric));
        job_gpus_advance(f->gpu, item(f), &with_sample);
        pass(f, 500, 250);
        job_gpus_advance(f->gpu, item(f), &with_sample);
        assert_metric(f, JOB_GPU_UTILIZATION, "gpu_3_utilization_percentage", 50, "%");
        assert_metric(f, JOB_GPU_MEMORY_USED, "gpu_3_memory_usage_percentage", 100.0 / 14, "%");
        assert_metric(f, JOB_GPU_POWER, "gpu_3_power_usage_watts", 400, "W");
        assert_metric(f, JOB_GPU_POWER_USED, "gpu_3_power_usage_percentage", 80, "%");
        (void)strcpy(f->gpu->name, "0/1");
        assert_metric(f, JOB_GPU_MEMORY_MEAN, "gpu_0.1_memory_usage_megabytes", 10737.41824, "MB");
        assert_false(job_gpus_metric(f->gpu, JOB_GPU_SECONDS, &metric));
        for (JobGpuNumber k = 0; k < N_JOB_GPU_NUMBERS; k++)
                n += job_gpus_metric(f->gpu, k, &metric);
        assert_int_equal(n, 14); /* all but the share of the processes */
}

static void a_job_has_a_limited_number_of_gpus(void **state) {
        Fixture *f = *state;

        for (size_t i = 1; i < JOB_GPUS_MAX; i++)
                assert_non_null(job_gpus_add(&f->gpus, "7", BEGIN));
        assert_null(job_gpus_add(&f->gpus, "7", BEGIN));
        assert_int_equal(f->gpus.n, JOB_GPUS_MAX);
}

static void a_gpu_is_found_by_its_uuid_or_else_by_its_name(void **state) {
        Fixture *f = *state;

        assert_ptr_equal(job_gpus_find(&f->gpus, item(f)), f->gpu);
        item(f)->texts[0][10]++;
        assert_null(job_gpus_find(&f->gpus, item(f))); /* another took its place */
        f->gpu->uuid[0] = '\0';
        assert_ptr_equal(job_gpus_find(&f->gpus, item(f)), f->gpu);
        (void)strcpy(item(f)->name, "4");
        assert_null(job_gpus_find(&f->gpus, item(f)));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                TEST(the_difference_of_two_readings_is_the_jobs),
                TEST(readings_before_the_begin_do_not_count),
                TEST(a_value_that_is_missing_is_continued),
                TEST(what_others_do_is_not_the_jobs),
                TEST(of_a_gpu_that_was_always_shared_only_the_processes_are_known),
                TEST(a_gpu_is_used_if_kernels_ran_on_it),
                TEST(a_gpu_continues_after_its_record),
                TEST(all_gpus_together_are_metrics_of_the_job),
                TEST(what_is_not_known_is_null),
                TEST(numbers_have_the_names_of_mlflow),
                TEST(sums_are_of_gpus_that_the_job_has_alone),
                TEST(power_continues_the_energy_of_the_last_reading),
                TEST(a_job_has_a_limited_number_of_gpus),
                TEST(a_gpu_is_found_by_its_uuid_or_else_by_its_name),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
