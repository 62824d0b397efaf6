/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/jobs/advice.h"
#include "util/scoped.h"

#define GIB 1073741824.0

typedef struct Fixture {
        JobView job;
        JobGpu items[8];
        JobGpus gpus;
        NodeSnapshot node;
        Advice advice[ADVICE_MAX];
        size_t n;
} Fixture;

static void own(Fixture *fixture, UsageMetric metric, double value) {
        fixture->job.usage.value[metric] = value;
        fixture->job.usage.quality[metric] = QUALITY_EXACT;
}

static void node(Fixture *fixture, Metric metric, double value) {
        fixture->job.metrics.value[metric] = value;
        fixture->job.metrics.quality[metric] = QUALITY_EXACT;
}

/* Makes a one-hour job on a node with 64 CPUs that uses its allocation and has no pressure. */
static void make_balanced(Fixture *fixture) {
        *fixture = (Fixture){
                .job.state = JOB_FINISHED,
                .node.sample = { .n_online = 64, .have = 1U << SOURCE_STAT },
        };
        for (Metric metric = 0; metric < N_METRICS; metric++)
                node(fixture, metric, 0);
        for (UsageMetric metric = 0; metric < N_USAGES; metric++)
                own(fixture, metric, 0);

        node(fixture, METRIC_DURATION, 3600);
        node(fixture, METRIC_CPU_HOURS, 64 * 3600);
        node(fixture, METRIC_CPU_MEAN, 0.5);
        own(fixture, USAGE_CPU_GIVEN, 32);
        own(fixture, USAGE_CPU_MEAN, 30);
        own(fixture, USAGE_CPU_MAX, 32);
        own(fixture, USAGE_CPU_RATIO, 30.0 / 32);
        own(fixture, USAGE_MEMORY_LIMIT, 4 * GIB);
        own(fixture, USAGE_MEMORY_PEAK, 3 * GIB);
        own(fixture, USAGE_MEMORY_RATIO, 0.75);
        fixture->job.usage.quality[USAGE_MEMORY_UNRECLAIMABLE] = QUALITY_NOT_ENABLED;
        fixture->job.usage.quality[USAGE_MEMORY_UNRECLAIMABLE_RATIO] = QUALITY_NOT_ENABLED;
}

static int setup(void **state) {
        *state = calloc(1, sizeof(Fixture));
        assert_non_null(*state);
        make_balanced(*state);
        return 0;
}

static int teardown(void **state) {
        free(*state);
        return 0;
}

static void give(Fixture *fixture) {
        fixture->n = advice_give(&fixture->job, &fixture->gpus, &fixture->node, fixture->advice);
}

static void check_one(Fixture *fixture, const char *rule, const char *text) {
        give(fixture);
        assert_int_equal(fixture->n, 1);
        assert_string_equal(fixture->advice[0].rule, rule);
        assert_string_equal(fixture->advice[0].text, text);
}

static void check_none(Fixture *fixture) {
        give(fixture);
        if (fixture->n > 0)
                fail_msg("%s: %s", fixture->advice[0].rule, fixture->advice[0].text);
}

static void a_balanced_job_gets_no_advice(void **state) {
        check_none(*state);
}

static void the_time_limit_is_compared_with_the_time(void **state) {
        DescriptionLabel label = { "time_limit", "86400" };
        Fixture *fixture = *state;

        fixture->job.info.labels = &label;
        fixture->job.info.n_labels = 1;
        node(fixture, METRIC_DURATION, 11400);
        check_one(fixture, "time-unused",
                  "The job took 3 h 10 min of its time limit of 1 d 00 h: a limit of 4 h 50 min would have been "
                  "enough, and a scheduler may start a shorter job earlier.");
        fixture->job.state = JOB_RUNNING;
        check_none(fixture);
        fixture->job.state = JOB_FINISHED;
        node(fixture, METRIC_DURATION, 80000);
        check_one(fixture, "time-limit",
                  "The job took 93 % of its time limit of 1 d 00 h: ask for more time, or write checkpoints.");
        node(fixture, METRIC_DURATION, 50000);
        check_none(fixture);
        node(fixture, METRIC_DURATION, 30); /* too short to judge */
        check_none(fixture);
        node(fixture, METRIC_DURATION, 11400);
        for (const char *const *value = (const char *const[]){ "", "0", "-1", "1d", "7200", NULL }; *value; value++) {
                label.value = *value;
                if (strcmp(*value, "7200") != 0) /* a job may exceed its limit a little */
                        check_none(fixture);
        }
        check_one(fixture, "time-limit",
                  "The job took 158 % of its time limit of 2 h 00 min: ask for more time, or write checkpoints.");
}

static void cpus_that_were_not_used_are_named(void **state) {
        Fixture *fixture = *state;

        own(fixture, USAGE_CPU_MEAN, 3.1);
        own(fixture, USAGE_CPU_MAX, 5.7);
        check_one(fixture, "cpu-unused", "The job had 32 CPUs and used 3.1 on average: 6 CPUs would have been enough.");
        fixture->job.state = JOB_RUNNING;
        check_one(fixture, "cpu-unused",
                  "The job had 32 CPUs and used 3.1 on average so far: 6 CPUs would have been enough.");
        fixture->job.state = JOB_FINISHED;

        own(fixture, USAGE_CPU_MAX, 1.02); /* a momentary value may be slightly inaccurate */
        own(fixture, USAGE_CPU_MEAN, 1);
        check_one(fixture, "cpu-unused", "The job had 32 CPUs and used 1 on average: 1 CPU would have been enough.");
        own(fixture, USAGE_CPU_MAX, 31.6); /* all CPUs were used for some time */
        check_one(fixture, "cpu-unused", "The job had 32 CPUs and used 1 on average.");
        fixture->job.usage.quality[USAGE_CPU_MAX] = QUALITY_TOO_SHORT;
        check_one(fixture, "cpu-unused", "The job had 32 CPUs and used 1 on average.");

        own(fixture, USAGE_CPU_GIVEN, 64); /* no limit is set */
        check_one(fixture, "cpu-unused",
                  "The job could use all 64 CPUs of the node and used 1 on average; an average of 32 CPUs was "
                  "idle, which other jobs could use.");
        node(fixture, METRIC_CPU_MEAN, 0.998); /* others used the rest */
        check_none(fixture);
        node(fixture, METRIC_CPU_MEAN, 0.5);

        own(fixture, USAGE_CPU_MEAN, 26); /* 40 % */
        check_none(fixture);
        own(fixture, USAGE_CPU_GIVEN, 1.5); /* less than one CPU */
        own(fixture, USAGE_CPU_MEAN, 0.55);
        check_none(fixture);
}

static void a_quota_that_was_always_used_up_is_too_small(void **state) {
        Fixture *fixture = *state;

        own(fixture, USAGE_CPU_GIVEN, 2);
        own(fixture, USAGE_CPU_MEAN, 1.96);
        own(fixture, USAGE_CPU_RATIO, 0.98);
        check_none(fixture); /* without throttling, the quota suffices */
        own(fixture, USAGE_THROTTLED_RATIO, 0.99);
        check_one(fixture, "cpu-limited", "The job used 98 % of its quota of 2 CPUs and was throttled 99 % of "
                           "the time: ask for more CPUs.");
        own(fixture, USAGE_CPU_GIVEN, 1);
        check_one(fixture, "cpu-limited",
                  "The job used 98 % of its quota of 1 CPU and was throttled 99 % of the time: ask for more CPUs.");
        own(fixture, USAGE_CPU_GIVEN, 0.5);
        check_one(fixture, "cpu-limited", "The job used 98 % of its quota of 0.5 CPUs and was throttled 99 % "
                           "of the time: ask for more CPUs.");
}

static void throttling_in_bursts_is_reported_with_its_share(void **state) {
        Fixture *fixture = *state;

        own(fixture, USAGE_CPU_GIVEN, 4);
        own(fixture, USAGE_CPU_MEAN, 2.4);
        own(fixture, USAGE_CPU_RATIO, 0.6);
        own(fixture, USAGE_THROTTLED_RATIO, 0.4);
        check_one(fixture, "throttled",
                  "The job was throttled 40 % of the time, though it used 2.4 of its quota of 4 CPUs on "
                  "average: start fewer threads, or ask "
                  "for more CPUs.");
        own(fixture, USAGE_THROTTLED_RATIO, 0.24);
        check_none(fixture);
}

static void pressure_is_reported_as_a_share_of_the_time(void **state) {
        Fixture *fixture = *state;

        own(fixture, USAGE_PSI_IO_SOME, 0.61 * 3600);
        check_one(fixture, "io-wait", "The job waited for I/O 61 % of the time: fewer, larger reads and "
                           "writes or a faster disk would help.");
        own(fixture, USAGE_PSI_IO_SOME, 0.24 * 3600);
        check_none(fixture);

        own(fixture, USAGE_PSI_MEMORY_SOME, 3601); /* read slightly after the end */
        check_one(fixture, "memory-pressure",
                  "The job waited for memory 100 % of the time; more memory would make it faster.");
        own(fixture, USAGE_PSI_MEMORY_SOME, 0.09 * 3600);
        check_none(fixture);
}

static void cpu_pressure_matters_only_if_others_used_the_cpus(void **state) {
        Fixture *fixture = *state;

        own(fixture, USAGE_PSI_CPU_SOME, 0.45 * 3600);
        node(fixture, METRIC_CPU_MEAN, 0.97);
        check_none(fixture); /* the job had all CPUs of its quota */
        own(fixture, USAGE_CPU_RATIO, 0.6);
        own(fixture, USAGE_CPU_MEAN, 19.2);
        check_one(fixture, "cpu-pressure",
                  "The job waited for a CPU 45 % of the time while the node was 97 % busy: other processes "
                  "used the CPUs that the job needed.");
        node(fixture, METRIC_CPU_MEAN, 0.8);
        check_none(fixture);
}

static void memory_near_its_limit_is_a_warning(void **state) {
        Fixture *fixture = *state;

        own(fixture, USAGE_MEMORY_RATIO, 0.97);
        check_one(fixture, "memory-limit",
                  "The job's memory peaked at 97 % of the limit of 4.00 GiB, including page cache: a little more "
                  "usage may get it killed.");
        own(fixture, USAGE_MEMORY_LIMIT, 512 << 20);
        check_one(fixture, "memory-limit",
                  "The job's memory peaked at 97 % of the limit of 512 MiB, including page cache: a little more "
                  "usage may get it killed.");
        /* the ratio is relative to the node's memory */
        fixture->job.usage.quality[USAGE_MEMORY_LIMIT] = QUALITY_NO_LIMIT;
        check_none(fixture);
}

static void page_cache_that_can_be_reclaimed_is_no_use_of_memory(void **state) {
        Fixture *fixture = *state;

        own(fixture, USAGE_MEMORY_LIMIT, 10 * GIB);
        own(fixture, USAGE_MEMORY_PEAK, 10 * GIB);
        own(fixture, USAGE_MEMORY_RATIO, 1);
        own(fixture, USAGE_MEMORY_UNRECLAIMABLE, 1 * GIB);
        own(fixture, USAGE_MEMORY_UNRECLAIMABLE_RATIO, 0.1);
        check_one(fixture, "memory-unused",
                  "The job's memory, without page cache, peaked at 1.00 GiB of the 10.0 GiB it may use: "
                  "1.25 GiB would have been enough.");
        own(fixture, USAGE_MEMORY_UNRECLAIMABLE_RATIO, 0.96);
        check_one(fixture, "memory-limit",
                  "The job's memory peaked at 96 % of the limit of 10.0 GiB, without page cache: a little more usage "
                  "may get it killed.");
}

static void oom_kills_are_reported_for_jobs_of_any_length(void **state) {
        Fixture *fixture = *state;

        node(fixture, METRIC_DURATION, 0.2);
        own(fixture, USAGE_MEMORY_RATIO, 1);
        own(fixture, USAGE_OOM_KILLS, 1);
        check_one(fixture, "oom-killed",
                  "1 process of the job was killed because memory ran out, at the limit of 4.00 GiB: ask for more "
                  "memory.");
        own(fixture, USAGE_OOM_KILLS, 3);
        check_one(fixture, "oom-killed",
                  "3 processes of the job were killed because memory ran out, at the limit of 4.00 GiB: ask for more "
                  "memory.");
        fixture->job.usage.quality[USAGE_MEMORY_LIMIT] = QUALITY_NO_LIMIT;
        check_one(fixture, "oom-killed", "3 processes of the job were killed because memory ran out.");
}

static void memory_that_was_not_used_matters_in_long_jobs_that_ended(void **state) {
        Fixture *fixture = *state;

        own(fixture, USAGE_MEMORY_LIMIT, 64 * GIB);
        own(fixture, USAGE_MEMORY_PEAK, 1.6 * GIB);
        own(fixture, USAGE_MEMORY_RATIO, 1.6 / 64);
        check_one(fixture, "memory-unused", "The job's memory peaked at 1.60 GiB of the 64.0 GiB it may use: "
                           "2.00 GiB would have been enough.");
        fixture->job.state = JOB_RUNNING;
        check_none(fixture);
        fixture->job.state = JOB_FINISHED;
        node(fixture, METRIC_DURATION, 599);
        check_none(fixture);
        node(fixture, METRIC_DURATION, 600);
        own(fixture, USAGE_MEMORY_LIMIT, GIB);
        own(fixture, USAGE_MEMORY_PEAK, 0.01 * GIB);
        check_none(fixture);
}

static void pressure_of_the_node_is_reported_for_the_node(void **state) {
        Fixture *fixture = *state;

        node(fixture, METRIC_SWAP_IN, 50000);
        check_one(fixture, "node-swapped",
                  "The node swapped during the job and read back 50000 pages: its memory was too small for all "
                  "processes.");
        node(fixture, METRIC_SWAP_IN, 20000);
        check_none(fixture);
        node(fixture, METRIC_CPU_STEAL, 0.23 * 64 * 3600);
        check_one(fixture, "cpu-stolen",
                  "The hypervisor gave 23 % of the node's CPU time to other guests during the job.");
        node(fixture, METRIC_CPU_HOURS, 0);
        check_none(fixture);
}

static void the_most_important_advice_comes_first_and_once_per_kind(void **state) {
        Fixture *fixture = *state;

        own(fixture, USAGE_OOM_KILLS, 1);
        own(fixture, USAGE_MEMORY_RATIO, 1);
        own(fixture, USAGE_PSI_MEMORY_SOME, 3000);
        own(fixture, USAGE_PSI_IO_SOME, 3000);
        own(fixture, USAGE_CPU_MEAN, 1);
        node(fixture, METRIC_SWAP_IN, 1e6);
        node(fixture, METRIC_CPU_STEAL, 64 * 1800);
        give(fixture);
        assert_int_equal(fixture->n, 3);
        assert_string_equal(fixture->advice[0].rule, "oom-killed");
        assert_string_equal(fixture->advice[1].rule, "io-wait");
        assert_string_equal(fixture->advice[2].rule, "node-swapped");

        own(fixture, USAGE_THROTTLED_RATIO, 1); /* barely used as well: only one of the two is reported */
        own(fixture, USAGE_CPU_RATIO, 1.0 / 32);
        give(fixture);
        assert_int_equal(fixture->n, 3);
        assert_string_equal(fixture->advice[1].rule, "throttled");
}

/* A job for which all advice applies. */
static void make_worst(Fixture *fixture) {
        own(fixture, USAGE_OOM_KILLS, 1e15);
        own(fixture, USAGE_MEMORY_LIMIT, 1e18);
        own(fixture, USAGE_MEMORY_RATIO, 9);
        own(fixture, USAGE_PSI_MEMORY_SOME, 1e9);
        own(fixture, USAGE_PSI_IO_SOME, 1e9);
        own(fixture, USAGE_PSI_CPU_SOME, 1e9);
        own(fixture, USAGE_THROTTLED_RATIO, 1);
        own(fixture, USAGE_CPU_GIVEN, 8192.5);
        own(fixture, USAGE_CPU_MEAN, 1234.5);
        own(fixture, USAGE_CPU_RATIO, 0.2);
        node(fixture, METRIC_CPU_MEAN, 1);
        node(fixture, METRIC_SWAP_IN, 1e15);
        node(fixture, METRIC_CPU_STEAL, 1e9);
}

static void a_job_too_short_to_judge_gets_no_advice(void **state) {
        Fixture *fixture = *state;

        make_worst(fixture);
        own(fixture, USAGE_OOM_KILLS, 0);
        node(fixture, METRIC_DURATION, 9.9);
        check_none(fixture);
        fixture->job.metrics.quality[METRIC_DURATION] = QUALITY_LOST;
        check_none(fixture);
}

static void absent_numbers_give_no_advice(void **state) {
        Fixture *fixture = *state;

        make_worst(fixture);
        memset(fixture->job.usage.quality, QUALITY_NO_GROUP, sizeof(fixture->job.usage.quality));
        memset(fixture->job.metrics.quality, QUALITY_UNKNOWN_SOURCE, sizeof(fixture->job.metrics.quality));
        node(fixture, METRIC_DURATION, 3600);
        check_none(fixture);

        make_worst(fixture);
        for (UsageMetric metric = 0; metric < N_USAGES; metric++)
                own(fixture, metric, NAN);
        for (Metric metric = 0; metric < N_METRICS; metric++)
                node(fixture, metric, metric == METRIC_DURATION ? 3600 : NAN);
        check_none(fixture);
}

/* With any single number missing, the advice that needs it is omitted and nothing else changes. */
static void any_one_number_may_be_absent(void **state) {
        Fixture *fixture = *state;

        for (UsageMetric metric = 0; metric < N_USAGES; metric++) {
                make_balanced(fixture);
                fixture->job.usage.quality[metric] = QUALITY_NOT_ENABLED;
                check_none(fixture);
        }
        for (Metric metric = 0; metric < N_METRICS; metric++) {
                make_balanced(fixture);
                fixture->job.metrics.quality[metric] = QUALITY_UNKNOWN_SOURCE;
                check_none(fixture);
        }
}

static void every_sentence_fits(void **state) {
        Fixture *fixture = *state;

        make_worst(fixture);
        for (int without = -1; without < N_USAGES; without++) {
                make_worst(fixture);
                if (without >= 0)
                        own(fixture, (UsageMetric)without, 0);
                give(fixture);
                for (size_t i = 0; i < fixture->n; i++) {
                        size_t n = strlen(fixture->advice[i].text);

                        assert_true(n < sizeof(fixture->advice[i].text) - 1);
                        assert_int_equal(fixture->advice[i].text[n - 1], '.');
                }
        }
}

static void each_rule_has_a_unique_name(void **state) {
        (void)state;

        for (size_t i = 0; advice_rule_name(i); i++) {
                assert_int_equal(strspn(advice_rule_name(i), "abcdefghijklmnopqrstuvwxyz-"),
                                 strlen(advice_rule_name(i)));
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(advice_rule_name(i), advice_rule_name(k));
        }
}

/* --- GPUs ----------------------------------------------------------------------------------------- */

/* A GPU of an hour in the states of an H200; shares in 1/10000. */
static JobGpu *add_gpu(Fixture *fixture, uint64_t utilization, uint64_t active, uint64_t tensor) {
        JobGpu *gpu = &fixture->items[fixture->gpus.n];

        *gpu = (JobGpu){ .have = UINT32_MAX, .given = "x", .total_us = 3600000000, .had_processes = true,
                         .clock_mhz_us = 1500 * 360000 * utilization };
        (void)snprintf(gpu->name, sizeof(gpu->name), "%zu", fixture->gpus.n);
        gpu->values[GPU_present_us] = gpu->values[GPU_sm_observed_us] = 3600000000;
        gpu->values[GPU_utilized_us] = 360000 * utilization;
        gpu->values[GPU_sm_active_us] = 360000 * active;
        gpu->values[GPU_tensor_active_us] = 360000 * tensor;
        gpu->values[GPU_sm_clock_max_hz] = 1980000000;
        gpu->values[GPU_power_throttled_us] = active > 9000 ? 3600000000 : 0;
        gpu->values[GPU_memory_total_bytes] = 150754820096;
        gpu->values[GPU_memory_used_bytes] = 100000000000;
        fixture->gpus.items = fixture->items;
        fixture->gpus.n++;
        return gpu;
}

static void gpus_that_are_full_or_half_full_get_no_advice(void **state) {
        Fixture *fixture = *state;

        add_gpu(fixture, 9900, 9586, 9304); /* a matrix product, at its limit of power */
        check_none(fixture);
        add_gpu(fixture, 9900, 9586, 9304);
        check_none(fixture);
        fixture->gpus.n = 0;
        add_gpu(fixture, 9400, 3988, 3869); /* half of the time */
        check_none(fixture);
        fixture->gpus.n = 0;
        add_gpu(fixture, 2600, 2, 0); /* kernels of 64 elements */
        check_none(fixture);
}

static void a_gpu_that_was_given_and_is_idle_is_named(void **state) {
        Fixture *fixture = *state;

        for (int i = 0; i < 4; i++)
                add_gpu(fixture, i % 2 ? 50 : 9000, 4000, 3000);
        check_one(fixture, "gpu-idle",
                  "2 of the 4 GPUs that the job has were not used (1, 3): ask for fewer, or make the program use "
                  "them.");
        fixture->job.state = JOB_RUNNING;
        check_one(fixture, "gpu-idle",
                  "2 of the 4 GPUs that the job has were not used so far (1, 3): ask for fewer, or make the program "
                  "use them.");
        fixture->items[3].given[0] = '\0'; /* a few kernels on a GPU that it was not given */
        check_one(fixture, "gpu-idle",
                  "1 of the 3 GPUs that the job has was not used so far (1): ask for fewer, or make the program use "
                  "them.");
        fixture->job.info.n_ranks = 4; /* another rank may use it */
        check_none(fixture);
        fixture->job.info.n_nodes = 4;
        give(fixture);
        assert_int_equal(fixture->n, 1);
        fixture->items[1].total_us = 59000000;
        check_none(fixture);
}

static void one_of_several_gpus_may_be_slower(void **state) {
        Fixture *fixture = *state;

        for (int i = 0; i < 8; i++)
                add_gpu(fixture, 9900, i == 5 ? 3000 : 8800, 5000);
        check_one(fixture, "gpu-slower",
                  "GPU 5 was 30 % active, the median of the job's GPUs 88 %: it may get less work or data than the "
                  "others.");
        fixture->items[2].clock_mhz_us = fixture->items[2].clock_mhz_us / 3 * 2;
        check_one(fixture, "gpu-slower",
                  "GPU 2 ran at 1.00 GHz, the median of the job's GPUs at 1.50 GHz: the others wait for it if they "
                  "work in step.");
        fixture->items[2].clock_mhz_us = fixture->items[1].clock_mhz_us / 100 * 95;
        fixture->items[5].values[GPU_sm_active_us] = fixture->items[1].values[GPU_sm_active_us] / 100 * 85;
        check_none(fixture);
        fixture->items[5].values[GPU_sm_active_us] = 0;
        fixture->gpus.n = 2; /* neither is the exception */
        fixture->items[1].values[GPU_sm_active_us] = 0;
        fixture->items[1].values[GPU_tensor_active_us] = 0;
        check_none(fixture);
}

static void a_gpu_that_is_slowed_down_is_named_with_the_reason(void **state) {
        Fixture *fixture = *state;
        JobGpu *gpu = add_gpu(fixture, 9900, 9586, 9304);

        gpu->values[GPU_heat_throttled_us] = 360000000;
        check_none(fixture);
        gpu->values[GPU_heat_throttled_us] = 1224000000;
        check_one(fixture, "gpu-throttled",
                  "GPU 0 was slowed down 34 % of the time because it was too hot: have its cooling checked.");
        gpu->values[GPU_heat_throttled_us] = 0;
        gpu->clock_mhz_us /= 2;
        check_one(fixture, "gpu-throttled",
                  "GPU 0 was slowed down 100 % of the time by its limit of power, to 0.75 of 1.98 GHz: the limit may "
                  "have been lowered.");
        gpu->have &= ~(UINT32_C(1) << GPU_sm_clock_max_hz);
        gpu->values[GPU_sm_clock_max_hz] = 0;
        check_none(fixture);
}

static void a_busy_gpu_without_tensor_cores_is_named(void **state) {
        Fixture *fixture = *state;
        JobGpu *gpu = add_gpu(fixture, 9900, 7000, 20);

        check_one(fixture, "gpu-tensor",
                  "GPU 0 was 70 % active without its tensor cores: if the program multiplies matrices in float32, TF32 "
                  "or bfloat16 would use them.");
        gpu->have &= ~(UINT32_C(1) << GPU_tensor_active_us);
        check_none(fixture);
}

static void memory_for_a_larger_batch_is_named_at_the_end(void **state) {
        Fixture *fixture = *state;

        add_gpu(fixture, 9900, 7000, 5000)->values[GPU_memory_used_bytes] = 40000000000;
        add_gpu(fixture, 9900, 7000, 5000)->values[GPU_memory_used_bytes] = 50000000000;
        check_one(fixture, "gpu-memory",
                  "The memory of GPU 1 peaked at 46.6 GiB of 140 GiB: a batch twice as large would fit, and may be "
                  "faster.");
        fixture->job.state = JOB_RUNNING;
        check_none(fixture);
        fixture->job.state = JOB_FINISHED;
        fixture->items[0].values[GPU_memory_used_bytes] = 100000000000;
        check_none(fixture);
        fixture->items[0].values[GPU_memory_used_bytes] = 1;
        fixture->items[0].values[GPU_sm_active_us] /= 2;
        check_none(fixture);
}

/* Older GPUs have no activity, others no clock or no energy. */
static void unknown_numbers_of_gpus_give_no_advice(void **state) {
        Fixture *fixture = *state;

        for (int i = 0; i < 4; i++) {
                JobGpu *gpu = add_gpu(fixture, 9900, i == 0 ? 10 : 9000, 0);

                gpu->values[GPU_memory_used_bytes] = 1;
                gpu->have = UINT32_C(1) << GPU_present_us | UINT32_C(1) << GPU_utilized_us;
        }
        check_none(fixture);
        for (int i = 0; i < 4; i++)
                fixture->items[i].have = 0;
        check_none(fixture);
}

static void network_file_systems_of_the_node_are_judged(void **state) {
        Fixture *fixture = *state;

        node(fixture, METRIC_NETFS_READS, 300 * 3600);
        node(fixture, METRIC_NETFS_WRITES, 60 * 3600);
        node(fixture, METRIC_NETFS_OPERATIONS, 500 * 3600);
        node(fixture, METRIC_NETFS_READ, 360. * 3600 * 8192);
        check_one(fixture, "netfs-small",
                  "The node read or wrote 360 times per second on network file systems, 8.00 KiB on average: fewer, "
                  "larger reads and writes would be faster.");
        node(fixture, METRIC_NETFS_WRITE, 360. * 3600 * 8193);
        check_none(fixture);

        node(fixture, METRIC_NETFS_OPERATIONS, 1799 * 3600);
        check_none(fixture);
        node(fixture, METRIC_NETFS_OPERATIONS, 1800 * 3600);
        check_one(fixture, "netfs-metadata",
                  "The node opened, looked up or listed files on network file systems 1440 times per second, and read "
                  "or wrote 360 times: pack files into archives, or copy them to a local disk.");

        node(fixture, METRIC_NETFS_RETRANSMITTED, 64000);
        assert_true(64000 < 0.01 * 1800 * 3600);
        check_one(fixture, "netfs-metadata", fixture->advice[0].text);
        node(fixture, METRIC_NETFS_RETRANSMITTED, 200000);
        check_one(fixture, "netfs-retransmitted",
                  "The node sent 200000 requests to servers of network file systems again, 3 % of its operations: a "
                  "server or the network to it is overloaded.");

        /* little matters to no one */
        node(fixture, METRIC_NETFS_READS, 30 * 3600);
        node(fixture, METRIC_NETFS_WRITES, 60 * 3600);
        node(fixture, METRIC_NETFS_OPERATIONS, 189 * 3600);
        node(fixture, METRIC_NETFS_READ, 0);
        node(fixture, METRIC_NETFS_WRITE, 0);
        node(fixture, METRIC_NETFS_RETRANSMITTED, 99);
        check_none(fixture);
        node(fixture, METRIC_NETFS_OPERATIONS, 99);
        node(fixture, METRIC_NETFS_RETRANSMITTED, 99);
        check_none(fixture);
        node(fixture, METRIC_DURATION, 9);
        node(fixture, METRIC_NETFS_READS, 1e6);
        node(fixture, METRIC_NETFS_OPERATIONS, 1e6);
        check_none(fixture);
        node(fixture, METRIC_DURATION, 3600);
        fixture->job.metrics.quality[METRIC_NETFS_READS] = QUALITY_NO_EQUIPMENT;
        check_none(fixture);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_balanced_job_gets_no_advice, setup, teardown),
                cmocka_unit_test_setup_teardown(cpus_that_were_not_used_are_named, setup, teardown),
                cmocka_unit_test_setup_teardown(the_time_limit_is_compared_with_the_time, setup, teardown),
                cmocka_unit_test_setup_teardown(a_quota_that_was_always_used_up_is_too_small, setup, teardown),
                cmocka_unit_test_setup_teardown(throttling_in_bursts_is_reported_with_its_share, setup, teardown),
                cmocka_unit_test_setup_teardown(pressure_is_reported_as_a_share_of_the_time, setup, teardown),
                cmocka_unit_test_setup_teardown(cpu_pressure_matters_only_if_others_used_the_cpus, setup, teardown),
                cmocka_unit_test_setup_teardown(memory_near_its_limit_is_a_warning, setup, teardown),
                cmocka_unit_test_setup_teardown(page_cache_that_can_be_reclaimed_is_no_use_of_memory, setup, teardown),
                cmocka_unit_test_setup_teardown(oom_kills_are_reported_for_jobs_of_any_length, setup, teardown),
                cmocka_unit_test_setup_teardown(memory_that_was_not_used_matters_in_long_jobs_that_ended, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(pressure_of_the_node_is_reported_for_the_node, setup, teardown),
                cmocka_unit_test_setup_teardown(the_most_important_advice_comes_first_and_once_per_kind, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(a_job_too_short_to_judge_gets_no_advice, setup, teardown),
                cmocka_unit_test_setup_teardown(absent_numbers_give_no_advice, setup, teardown),
                cmocka_unit_test_setup_teardown(any_one_number_may_be_absent, setup, teardown),
                cmocka_unit_test_setup_teardown(every_sentence_fits, setup, teardown),
                cmocka_unit_test_setup_teardown(gpus_that_are_full_or_half_full_get_no_advice, setup, teardown),
                cmocka_unit_test_setup_teardown(a_gpu_that_was_given_and_is_idle_is_named, setup, teardown),
                cmocka_unit_test_setup_teardown(one_of_several_gpus_may_be_slower, setup, teardown),
                cmocka_unit_test_setup_teardown(a_gpu_that_is_slowed_down_is_named_with_the_reason, setup, teardown),
                cmocka_unit_test_setup_teardown(a_busy_gpu_without_tensor_cores_is_named, setup, teardown),
                cmocka_unit_test_setup_teardown(memory_for_a_larger_batch_is_named_at_the_end, setup, teardown),
                cmocka_unit_test_setup_teardown(unknown_numbers_of_gpus_give_no_advice, setup, teardown),
                cmocka_unit_test_setup_teardown(network_file_systems_of_the_node_are_judged, setup, teardown),
                cmocka_unit_test_setup_teardown(each_rule_has_a_unique_name, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
