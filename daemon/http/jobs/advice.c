/* SPDX-License-Identifier: Apache-2.0 */
#include "http/jobs/advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/statistics.h"
#include "text/text.h"
#include "util/parse.h"
#include "util/scoped.h"

/* Shorter jobs are not judged: start and end dominate their time, and a single wait is a large share. */
#define SECONDS_MIN 10.0
/* Unused CPUs and memory matter only after a while, when other jobs may have waited for them. */
#define CPU_UNUSED_SECONDS_MIN 60.0
#define MEMORY_UNUSED_SECONDS_MIN 600.0

#define CPU_UNUSED_RATIO_MAX 0.4     /* share of the job's CPUs */
#define CPU_UNUSED_CPUS_MIN 1.0      /* unused CPUs of the job */
#define CPU_LIMITED_RATIO_MIN 0.9    /* share of the job's CPUs */
#define THROTTLED_RATIO_MIN 0.25     /* share of the quota's periods */
#define CPU_PRESSURE_SHARE_MIN 0.25  /* share of the time */
#define CPU_PRESSURE_RATIO_MAX 0.8   /* share of the job's CPUs: a job that gets all of them does not wait for others */
#define NODE_FULL_RATIO_MIN 0.9      /* share of the node's CPU time */
#define CPU_STOLEN_SHARE_MIN 0.1     /* share of the node's CPU time */
#define MEMORY_LIMIT_RATIO_MIN 0.95  /* share of the limit */
#define MEMORY_UNUSED_RATIO_MAX 0.25 /* share of the limit */
#define MEMORY_UNUSED_BYTES_MIN 1073741824.0
#define MEMORY_HEADROOM 1.25         /* suggested limit as a multiple of the peak */
#define TIME_HEADROOM 1.5            /* suggested limit as a multiple of the duration */
#define MEMORY_PRESSURE_SHARE_MIN 0.1 /* share of the time */
#define IO_WAIT_SHARE_MIN 0.25       /* share of the time */
#define TIME_UNUSED_RATIO_MAX 0.25   /* share of the time limit */
#define TIME_UNUSED_SECONDS_MIN 3600.0
#define TIME_LIMIT_RATIO_MIN 0.9     /* share of the time limit */
#define SWAPPED_PAGES_MIN 1000.0
#define SWAPPED_PAGES_PER_S_MIN 10.0
#define NETFS_PER_S_MIN 100.0        /* operations: at a millisecond each, a tenth of the time of a thread */
#define NETFS_BYTES_MAX 16384.0      /* mean size of a read or write */
#define NETFS_METADATA_MIN 4.0       /* other operations as a multiple of the reads and writes */
#define NETFS_RETRANSMITTED_MIN 100.0
#define NETFS_RETRANSMITTED_RATIO_MIN 0.01 /* share of the operations */

/* GPUs. Measured on an H200: a matrix product that fills it has an activity of 0.96, tensor cores 0.93, and is at its
 * limit of power with 76 % of its highest clock; half of the time of it 0.40 while utilization is 0.94; kernels of 64
 * elements 0.0002 while utilization is 0.26. Utilization does not tell whether a GPU is busy. */
#define GPU_SECONDS_MIN 60.0         /* programs load data and compile before they use a GPU */
#define GPU_BUSY_MIN 0.5             /* activity */
#define GPU_COMPARED_MIN 3U          /* of two GPUs, neither is the exception */
#define GPU_COMPARED_ACTIVE_MIN 0.1  /* activity of the median: below, chance decides */
#define GPU_SLOWER_ACTIVE_MAX 0.8    /* of the median; GPUs that share work evenly differ by a few percent */
#define GPU_SLOWER_CLOCK_MAX 0.9     /* of the median; GPUs of one model differ by a few percent */
#define GPU_THROTTLED_MIN 0.1        /* share of the time */
#define GPU_POWER_CLOCK_MAX 0.6      /* of the highest clock: a GPU at its own limit of power runs faster */
#define GPU_TENSOR_MAX 0.01          /* activity of tensor cores that nothing uses on purpose */
#define GPU_MEMORY_MAX 0.45          /* share of the memory: a batch twice as large takes at most twice as much */

typedef struct AdviceInput {
        const MetricSet *metrics; /* metrics of the node during the job */
        const UsageSet *usage;    /* metrics of the job itself */
        bool is_running;
        uint32_t n_node_cpus;
        double time_limit_s; /* 0: unknown */
        const JobGpus *gpus;
        bool shares_gpus; /* other ranks of the run were given the same GPUs */
} AdviceInput;

/* --- available metrics ----------------------------------------------------------------------------- */

static bool own(const AdviceInput *input, UsageMetric metric, double *ret) {
        *ret = usage_value(input->usage, metric);
        return isfinite(*ret);
}

static bool node(const AdviceInput *input, Metric metric, double *ret) {
        *ret = metric_value(input->metrics, metric);
        return isfinite(*ret);
}

/* False if the job is too short to judge, or its duration is unknown. */
static bool lasted(const AdviceInput *input, double seconds_min) {
        double seconds;

        return node(input, METRIC_DURATION, &seconds) && seconds >= seconds_min;
}

/* Gives a time metric of the job as a share of its duration, at most 1. False for a job that is too short. */
static bool share_of_time(const AdviceInput *input, UsageMetric metric, double *ret) {
        double seconds, duration;

        if (!lasted(input, SECONDS_MIN) || !own(input, metric, &seconds) || !node(input, METRIC_DURATION, &duration))
                return false;

        *ret = seconds < duration ? seconds / duration : 1;
        return true;
}

/* --- text ---------------------------------------------------------------------------------------- */

/* Formats "3.1" or "4". */
static const char *count_text(double count, char ret[static TEXT_MAX]) {
        (void)snprintf(ret, TEXT_MAX, fabs(count - round(count)) < 0.05 ? "%.0f" : "%.1f", count);
        return ret;
}

/* Formats "1 CPU" or "3.1 CPUs". */
static const char *cpus_text(double cpus, char ret[static TEXT_MAX]) {
        char count[TEXT_MAX];

        (void)count_text(cpus, count);
        (void)snprintf(ret, TEXT_MAX, "%.16s %s", count, strcmp(count, "1") == 0 ? "CPU" : "CPUs");
        return ret;
}

static const char *bytes_text(double bytes, char ret[static TEXT_MAX]) {
        text_mib(bytes / 1048576, ret);
        return ret;
}

static double percent(double ratio) {
        return 100 * ratio;
}

__attribute__((format(printf, 2, 3))) static bool say(Advice *advice, const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void)vsnprintf(advice->text, sizeof(advice->text), format, args);
        va_end(args);
        return true;
}

/* --- rules: each returns whether it applies, and writes its advice -------------------------------- */

static bool oom_killed(const AdviceInput *input, Advice *ret) {
        char limit_text[TEXT_MAX];
        double n, limit;

        if (!own(input, USAGE_OOM_KILLS, &n) || n < 1)
                return false;

        if (own(input, USAGE_MEMORY_LIMIT, &limit))
                return say(ret,
                           "%.0f process%s of the job %s killed because memory ran out, at the limit of %s: ask for "
                           "more memory.",
                           n, n < 2 ? "" : "es", n < 2 ? "was" : "were", bytes_text(limit, limit_text));
        return say(ret, "%.0f process%s of the job %s killed because memory ran out.", n, n < 2 ? "" : "es",
                   n < 2 ? "was" : "were");
}

static bool memory_pressure(const AdviceInput *input, Advice *ret) {
        double share;

        if (!share_of_time(input, USAGE_PSI_MEMORY_SOME, &share) || share < MEMORY_PRESSURE_SHARE_MIN)
                return false;

        return say(ret, "The job waited for memory %.0f %% of the time; more memory would make it faster.",
                   percent(share));
}

/* Computes the share of the quota's periods in which the quota was exhausted. False without a quota. */
static bool throttled_ratio(const AdviceInput *input, double *ret) {
        return lasted(input, SECONDS_MIN) && own(input, USAGE_THROTTLED_RATIO, ret);
}

static bool cpu_limited(const AdviceInput *input, Advice *ret) {
        char cpus[TEXT_MAX];
        double ratio, given, throttled;

        if (!throttled_ratio(input, &throttled) || !own(input, USAGE_CPU_RATIO, &ratio) ||
            !own(input, USAGE_CPU_GIVEN, &given))
                return false;
        if (throttled < THROTTLED_RATIO_MIN || ratio < CPU_LIMITED_RATIO_MIN)
                return false;

        return say(ret,
                   "The job used %.0f %% of its quota of %s and was throttled %.0f %% of the time: ask for more CPUs.",
                   percent(ratio), cpus_text(given, cpus), percent(throttled));
}

static bool throttled(const AdviceInput *input, Advice *ret) {
        char cpus[TEXT_MAX], used[TEXT_MAX];
        double share, given, mean;

        if (!throttled_ratio(input, &share) || !own(input, USAGE_CPU_GIVEN, &given) ||
            !own(input, USAGE_CPU_MEAN, &mean))
                return false;
        if (share < THROTTLED_RATIO_MIN)
                return false;

        return say(ret,
                   "The job was throttled %.0f %% of the time, though it used %s of its quota of %s on "
                   "average: start fewer threads, or ask "
                   "for more CPUs.",
                   percent(share), count_text(mean, used), cpus_text(given, cpus));
}

static bool io_wait(const AdviceInput *input, Advice *ret) {
        double share;

        if (!share_of_time(input, USAGE_PSI_IO_SOME, &share) || share < IO_WAIT_SHARE_MIN)
                return false;

        return say(ret,
                   "The job waited for I/O %.0f %% of the time: fewer, larger reads and writes or a faster disk "
                   "would help.",
                   percent(share));
}

/* Computes operations per second of the node: its network file systems know no jobs. */
static bool netfs_rates(const AdviceInput *input, double *ret_data, double *ret_other) {
        double reads, writes, all, s;

        if (!lasted(input, SECONDS_MIN) || !node(input, METRIC_NETFS_READS, &reads) ||
            !node(input, METRIC_NETFS_WRITES, &writes) || !node(input, METRIC_NETFS_OPERATIONS, &all) ||
            !node(input, METRIC_DURATION, &s))
                return false;

        *ret_data = (reads + writes) / s;
        *ret_other = (all - reads - writes) / s;
        return true;
}

static bool netfs_retransmitted(const AdviceInput *input, Advice *ret) {
        double data, other, n, all;

        if (!netfs_rates(input, &data, &other) || !node(input, METRIC_NETFS_RETRANSMITTED, &n) ||
            !node(input, METRIC_NETFS_OPERATIONS, &all))
                return false;
        if (n < NETFS_RETRANSMITTED_MIN || n < NETFS_RETRANSMITTED_RATIO_MIN * all)
                return false;

        return say(ret,
                   "The node sent %.0f requests to servers of network file systems again, %.0f %% of its operations: "
                   "a server or the network to it is overloaded.",
                   n, percent(n / all));
}

static bool netfs_metadata(const AdviceInput *input, Advice *ret) {
        double data, other;

        if (!netfs_rates(input, &data, &other) || other < NETFS_PER_S_MIN || other < NETFS_METADATA_MIN * data)
                return false;

        return say(ret,
                   "The node opened, looked up or listed files on network file systems %.0f times per second, and read "
                   "or wrote %.0f times: pack files into archives, or copy them to a local disk.",
                   other, data);
}

static bool netfs_small(const AdviceInput *input, Advice *ret) {
        double data, other, n_read, n_written, s, mean;
        char size[TEXT_MAX];

        if (!netfs_rates(input, &data, &other) || data < NETFS_PER_S_MIN || !node(input, METRIC_NETFS_READ, &n_read) ||
            !node(input, METRIC_NETFS_WRITE, &n_written) || !node(input, METRIC_DURATION, &s))
                return false;
        mean = (n_read + n_written) / (data * s);
        if (mean > NETFS_BYTES_MAX)
                return false;

        return say(ret,
                   "The node read or wrote %.0f times per second on network file systems, %s on average: fewer, larger "
                   "reads and writes would be faster.",
                   data, bytes_text(mean, size));
}

static bool cpu_pressure(const AdviceInput *input, Advice *ret) {
        double share, ratio, busy;

        if (!share_of_time(input, USAGE_PSI_CPU_SOME, &share) || !own(input, USAGE_CPU_RATIO, &ratio) ||
            !node(input, METRIC_CPU_MEAN, &busy))
                return false;
        if (share < CPU_PRESSURE_SHARE_MIN || ratio > CPU_PRESSURE_RATIO_MAX || busy < NODE_FULL_RATIO_MIN)
                return false;

        return say(ret, "The job waited for a CPU %.0f %% of the time while the node was %.0f %% busy: other "
                        "processes used the CPUs that the job needed.",
                   percent(share), percent(busy));
}

/* The kernel reclaims page cache before it kills: memory counts without it, where the kernel says how much it is. */
static bool memory_limit(const AdviceInput *input, Advice *ret) {
        char text[TEXT_MAX];
        double ratio, limit;
        bool with_cache = !own(input, USAGE_MEMORY_UNRECLAIMABLE_RATIO, &ratio);

        if (with_cache && !own(input, USAGE_MEMORY_RATIO, &ratio))
                return false;
        if (!lasted(input, SECONDS_MIN) || !own(input, USAGE_MEMORY_LIMIT, &limit) || ratio < MEMORY_LIMIT_RATIO_MIN)
                return false;

        return say(
                ret,
                "The job's memory peaked at %.0f %% of the limit of %s, %s page cache: a little more usage may get "
                "it killed.",
                percent(ratio), bytes_text(limit, text), with_cache ? "including" : "without");
}

static bool node_swapped(const AdviceInput *input, Advice *ret) {
        double pages, seconds;

        if (!lasted(input, SECONDS_MIN) || !node(input, METRIC_SWAP_IN, &pages) ||
            !node(input, METRIC_DURATION, &seconds))
                return false;
        if (pages < SWAPPED_PAGES_MIN || pages < SWAPPED_PAGES_PER_S_MIN * seconds)
                return false;

        return say(
                ret,
                "The node swapped during the job and read back %.0f pages: its memory was too small for all processes.",
                pages);
}

/* Computes the number of whole CPUs that covers the job's peak usage. False unless that is less than the job's CPUs. */
static bool cpus_enough(const AdviceInput *input, double mean, double given, double *ret) {
        double peak;

        if (!own(input, USAGE_CPU_MAX, &peak))
                return false;

        *ret = ceil((peak > mean ? peak : mean) - 0.1);
        *ret = *ret < 1 ? 1 : *ret;
        return *ret < given;
}

/* A job without a CPU limit leaves unused CPU time to other processes, which may have used it already. */
static bool node_unused(const AdviceInput *input, double n_cpus, double mean, Advice *ret) {
        const char *so_far = input->is_running ? " so far" : "";
        char used[TEXT_MAX], idle_text[TEXT_MAX];
        double busy, idle;

        if (!node(input, METRIC_CPU_MEAN, &busy))
                return false;
        idle = n_cpus * (1 - busy);
        if (idle < CPU_UNUSED_CPUS_MIN)
                return false;

        return say(ret,
                   "The job could use all %.0f CPUs of the node and used %s on average%s; an average of %s was "
                   "idle, which other jobs could use.",
                   n_cpus, count_text(mean, used), so_far, cpus_text(idle, idle_text));
}

static bool cpu_unused(const AdviceInput *input, Advice *ret) {
        char had[TEXT_MAX], used[TEXT_MAX], enough_text[TEXT_MAX];
        const char *so_far = input->is_running ? " so far" : "";
        double given, mean, enough;

        if (!lasted(input, CPU_UNUSED_SECONDS_MIN) || !own(input, USAGE_CPU_GIVEN, &given) ||
            !own(input, USAGE_CPU_MEAN, &mean))
                return false;
        if (mean > CPU_UNUSED_RATIO_MAX * given || given - mean < CPU_UNUSED_CPUS_MIN)
                return false;

        if (input->n_node_cpus > 0 && given >= input->n_node_cpus)
                return node_unused(input, given, mean, ret);
        if (cpus_enough(input, mean, given, &enough))
                return say(ret, "The job had %s and used %s on average%s: %s would have been enough.",
                           cpus_text(given, had), count_text(mean, used), so_far, cpus_text(enough, enough_text));
        return say(ret, "The job had %s and used %s on average%s.", cpus_text(given, had), count_text(mean, used),
                   so_far);
}

static bool cpu_stolen(const AdviceInput *input, Advice *ret) {
        double stolen, capacity;

        if (!lasted(input, SECONDS_MIN) || !node(input, METRIC_CPU_STEAL, &stolen) ||
            !node(input, METRIC_CPU_HOURS, &capacity))
                return false;
        if (capacity <= 0 || stolen < CPU_STOLEN_SHARE_MIN * capacity)
                return false;

        return say(ret, "The hypervisor gave %.0f %% of the node's CPU time to other guests during the job.",
                   percent(stolen / capacity));
}

/* A running job is not judged: it may need the memory later. */
static bool memory_unused(const AdviceInput *input, Advice *ret) {
        char peak_text[TEXT_MAX], limit_text[TEXT_MAX], enough_text[TEXT_MAX];
        double peak, limit;
        bool with_cache = !own(input, USAGE_MEMORY_UNRECLAIMABLE, &peak);

        if (input->is_running || !lasted(input, MEMORY_UNUSED_SECONDS_MIN) ||
            (with_cache && !own(input, USAGE_MEMORY_PEAK, &peak)) || !own(input, USAGE_MEMORY_LIMIT, &limit))
                return false;
        if (peak > MEMORY_UNUSED_RATIO_MAX * limit || limit - peak < MEMORY_UNUSED_BYTES_MIN)
                return false;

        return say(ret, "The job's memory%s peaked at %s of the %s it may use: %s would have been enough.",
                   with_cache ? "" : ", without page cache,", bytes_text(peak, peak_text),
                   bytes_text(limit, limit_text), bytes_text(MEMORY_HEADROOM * peak, enough_text));
}

/* Computes the duration of a job that has ended and its share of the time limit that was asked for. */
static bool time_ratio(const AdviceInput *input, double *ret_s, double *ret_ratio) {
        if (input->is_running || !(input->time_limit_s > 0) || !node(input, METRIC_DURATION, ret_s))
                return false;

        *ret_ratio = *ret_s / input->time_limit_s;
        return true;
}

static bool time_limit(const AdviceInput *input, Advice *ret) {
        char limit[TEXT_MAX];
        double s, ratio;

        if (!time_ratio(input, &s, &ratio) || !lasted(input, CPU_UNUSED_SECONDS_MIN) || ratio < TIME_LIMIT_RATIO_MIN)
                return false;

        text_seconds(input->time_limit_s, limit);
        return say(ret, "The job took %.0f %% of its time limit of %s: ask for more time, or write checkpoints.",
                   percent(ratio), limit);
}

static bool time_unused(const AdviceInput *input, Advice *ret) {
        char limit[TEXT_MAX], took[TEXT_MAX], enough[TEXT_MAX];
        double s, ratio;

        if (!time_ratio(input, &s, &ratio) || !lasted(input, CPU_UNUSED_SECONDS_MIN) ||
            ratio > TIME_UNUSED_RATIO_MAX || input->time_limit_s - s < TIME_UNUSED_SECONDS_MIN)
                return false;

        text_seconds(s, took);
        text_seconds(input->time_limit_s, limit);
        text_seconds(ceil(TIME_HEADROOM * s / 600) * 600, enough);
        return say(ret,
                   "The job took %s of its time limit of %s: a limit of %s would have been enough, and a scheduler "
                   "may start a shorter job earlier.",
                   took, limit, enough);
}

/* --- rules about GPUs ---------------------------------------------------------------------------- */

/* Gives a number of a GPU that the job had for long enough. */
static bool of_gpu(const JobGpu *gpu, JobGpuNumber number, double *ret) {
        double seconds = job_gpus_number(gpu, JOB_GPU_SECONDS);

        *ret = job_gpus_number(gpu, number);
        return seconds >= GPU_SECONDS_MIN && !isnan(*ret);
}

static bool gpu_idle(const AdviceInput *input, Advice *ret) {
        char names[TEXT_MAX] = "";
        size_t n = 0, n_given = 0;
        double seconds;

        for (size_t i = 0; i < input->gpus->n; i++) {
                const JobGpu *gpu = &input->gpus->items[i];
                size_t n_names = strlen(names);

                n_given += gpu->given[0] != '\0';
                if (!gpu->given[0] || !of_gpu(gpu, JOB_GPU_SECONDS, &seconds) || job_gpus_is_used(gpu) != 0)
                        continue;
                if (n_names + JOB_GPU_NAME_MAX + 2 < sizeof(names))
                        (void)snprintf(names + n_names, sizeof(names) - n_names, "%s%s", n > 0 ? ", " : "", gpu->name);
                n++;
        }
        if (n == 0 || input->shares_gpus)
                return false;
        return say(ret, "%zu of the %zu GPUs that the job has %s not used%s (%s): ask for fewer, or make the program "
                        "use them.",
                   n, n_given, n == 1 ? "was" : "were", input->is_running ? " so far" : "", names);
}

/* Finds the used GPU with the lowest number, which is at most a part of the median, of all GPUs that have it. */
static const JobGpu *find_slower(const AdviceInput *input, JobGpuNumber number, double ratio_max, double *ret_least,
                                 double *ret_median) {
        double values[JOB_GPUS_MAX], value;
        const JobGpu *least = NULL;
        size_t n = 0;

        for (size_t i = 0; i < input->gpus->n; i++) {
                const JobGpu *gpu = &input->gpus->items[i];

                if (job_gpus_is_used(gpu) != 1 || !of_gpu(gpu, number, &value))
                        continue;
                if (!least || value < *ret_least) {
                        least = gpu;
                        *ret_least = value;
                }
                values[n++] = value;
        }
        if (n < GPU_COMPARED_MIN)
                return NULL;
        *ret_median = statistics_median_in_place(values, n);
        return *ret_least <= ratio_max * *ret_median ? least : NULL;
}

static bool gpu_slower(const AdviceInput *input, Advice *ret) {
        double least, median;
        const JobGpu *gpu = find_slower(input, JOB_GPU_CLOCK, GPU_SLOWER_CLOCK_MAX, &least, &median);

        if (gpu)
                return say(ret, "GPU %s ran at %.2f GHz, the median of the job's GPUs at %.2f GHz: the others wait for "
                                "it if they work in step.",
                           gpu->name, least / 1e9, median / 1e9);
        gpu = find_slower(input, JOB_GPU_SM_ACTIVE, GPU_SLOWER_ACTIVE_MAX, &least, &median);
        if (!gpu || median < GPU_COMPARED_ACTIVE_MIN)
                return false;
        return say(ret, "GPU %s was %.0f %% active, the median of the job's GPUs %.0f %%: it may get less work or data "
                        "than the others.",
                   gpu->name, percent(least), percent(median));
}

/* The limit of power holds down the clock of each GPU that is full; only a clock far below says that it is lowered. */
static bool gpu_throttled(const AdviceInput *input, Advice *ret) {
        for (size_t i = 0; i < input->gpus->n; i++) {
                const JobGpu *gpu = &input->gpus->items[i];
                double share, clock, highest = (double)gpu->values[GPU_sm_clock_max_hz];

                if (of_gpu(gpu, JOB_GPU_HEAT_THROTTLED, &share) && share > GPU_THROTTLED_MIN)
                        return say(ret, "GPU %s was slowed down %.0f %% of the time because it was too hot: have its "
                                        "cooling checked.",
                                   gpu->name, percent(share));
                if (of_gpu(gpu, JOB_GPU_POWER_THROTTLED, &share) && share > GPU_THROTTLED_MIN &&
                    of_gpu(gpu, JOB_GPU_CLOCK, &clock) && highest > 0 && clock < GPU_POWER_CLOCK_MAX * highest)
                        return say(ret, "GPU %s was slowed down %.0f %% of the time by its limit of power, to %.2f of "
                                        "%.2f GHz: the limit may have been lowered.",
                                   gpu->name, percent(share), clock / 1e9, highest / 1e9);
        }
        return false;
}

static bool gpu_tensor(const AdviceInput *input, Advice *ret) {
        for (size_t i = 0; i < input->gpus->n; i++) {
                const JobGpu *gpu = &input->gpus->items[i];
                double active, tensor;

                if (of_gpu(gpu, JOB_GPU_SM_ACTIVE, &active) && active >= GPU_BUSY_MIN &&
                    of_gpu(gpu, JOB_GPU_TENSOR, &tensor) && tensor < GPU_TENSOR_MAX)
                        return say(ret, "GPU %s was %.0f %% active without its tensor cores: if the program multiplies "
                                        "matrices in float32, TF32 or bfloat16 would use them.",
                                   gpu->name, percent(active));
        }
        return false;
}

/* All GPUs that are used have the room. */
static bool gpu_memory(const AdviceInput *input, Advice *ret) {
        char peak_text[TEXT_MAX], total_text[TEXT_MAX];
        const JobGpu *fullest = NULL;
        double most = 0;

        for (size_t i = 0; i < input->gpus->n; i++) {
                const JobGpu *gpu = &input->gpus->items[i];
                double active, peak, total;

                if (job_gpus_is_used(gpu) == 0)
                        continue;
                if (!of_gpu(gpu, JOB_GPU_SM_ACTIVE, &active) || active < GPU_BUSY_MIN ||
                    !of_gpu(gpu, JOB_GPU_MEMORY_PEAK, &peak) || !of_gpu(gpu, JOB_GPU_MEMORY_TOTAL, &total) ||
                    peak > GPU_MEMORY_MAX * total)
                        return false;
                if (!fullest || peak > most) {
                        fullest = gpu;
                        most = peak;
                }
        }
        if (!fullest || input->is_running)
                return false;
        return say(ret, "The memory of GPU %s peaked at %s of %s: a batch twice as large would fit, and may be faster.",
                   fullest->name, bytes_text(most, peak_text),
                   bytes_text((double)fullest->values[GPU_memory_total_bytes], total_text));
}

/* --- table of rules ------------------------------------------------------------------------------ */

/* Only the first rule of each topic that applies gives advice: further advice would repeat or contradict the first. */
typedef enum Topic {
        TOPIC_MEMORY,
        TOPIC_CPU,
        TOPIC_IO,
        TOPIC_SWAP,
        TOPIC_STEAL,
        TOPIC_TIME,
        TOPIC_GPUS,
        TOPIC_GPU_SPEED,
        TOPIC_GPU_PROGRAM,
} Topic;

/* Most important rule first. */
static const struct {
        const char *name;
        Topic topic;
        bool (*holds)(const AdviceInput *input, Advice *ret);
} rules[] = {
        { "oom-killed", TOPIC_MEMORY, oom_killed },
        { "gpu-idle", TOPIC_GPUS, gpu_idle },
        { "memory-pressure", TOPIC_MEMORY, memory_pressure },
        { "cpu-limited", TOPIC_CPU, cpu_limited },
        { "time-limit", TOPIC_TIME, time_limit },
        { "gpu-throttled", TOPIC_GPU_SPEED, gpu_throttled },
        { "gpu-slower", TOPIC_GPU_SPEED, gpu_slower },
        { "throttled", TOPIC_CPU, throttled },
        { "netfs-retransmitted", TOPIC_IO, netfs_retransmitted },
        { "netfs-metadata", TOPIC_IO, netfs_metadata },
        { "netfs-small", TOPIC_IO, netfs_small },
        { "io-wait", TOPIC_IO, io_wait },
        { "cpu-pressure", TOPIC_CPU, cpu_pressure },
        { "memory-limit", TOPIC_MEMORY, memory_limit },
        { "node-swapped", TOPIC_SWAP, node_swapped },
        { "gpu-tensor", TOPIC_GPU_PROGRAM, gpu_tensor },
        { "gpu-memory", TOPIC_GPU_PROGRAM, gpu_memory },
        { "cpu-unused", TOPIC_CPU, cpu_unused },
        { "cpu-stolen", TOPIC_STEAL, cpu_stolen },
        { "memory-unused", TOPIC_MEMORY, memory_unused },
        { "time-unused", TOPIC_TIME, time_unused },
};

const char *advice_rule_name(size_t i) {
        return i < N_ELEMENTS(rules) ? rules[i].name : NULL;
}

/* Returns the time limit of a job of Slurm, a label; 0 without one. */
static double find_time_limit(const JobDescription *info) {
        const char *text = job_description_label(info, "time_limit");
        uint64_t s;

        return text && parse_u64(text, &s) == 0 ? (double)s : 0;
}

size_t advice_give(const JobView *job, const JobGpus *gpus, const NodeSnapshot *node_snapshot,
                   Advice ret[static ADVICE_MAX]) {
        const AdviceInput input = {
                .metrics = &job->metrics,
                .usage = &job->usage,
                .is_running = job->state == JOB_RUNNING,
                .n_node_cpus = snapshot_node_n_cpus(node_snapshot),
                .time_limit_s = find_time_limit(&job->info),
                .gpus = gpus,
                .shares_gpus = job->info.n_ranks > (job->info.n_nodes > 0 ? job->info.n_nodes : 1),
        };
        unsigned said = 0;
        size_t n = 0;

        for (size_t i = 0; i < N_ELEMENTS(rules) && n < ADVICE_MAX; i++) {
                if ((said & (1U << rules[i].topic)) || !rules[i].holds(&input, &ret[n]))
                        continue;

                ret[n++].rule = rules[i].name;
                said |= 1U << rules[i].topic;
        }
        return n;
}
