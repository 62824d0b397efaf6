/* SPDX-License-Identifier: Apache-2.0 */
#include "http/jobs/advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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


typedef struct AdviceInput {
        const MetricSet *metrics; /* metrics of the node during the job */
        const UsageSet *usage;    /* metrics of the job itself */
        bool is_running;
        uint32_t n_node_cpus;
        double time_limit_s; /* 0: unknown */
} AdviceInput;

/* --- available metrics ----------------------------------------------------------------------------- */

static bool own(const AdviceInput *input, UsageMetric metric, double *ret) {
        if (!quality_is_present(input->usage->quality[metric]) || !isfinite(input->usage->value[metric]))
                return false;

        *ret = input->usage->value[metric];
        return true;
}

static bool node(const AdviceInput *input, Metric metric, double *ret) {
        if (!quality_is_present(input->metrics->quality[metric]) || !isfinite(input->metrics->value[metric]))
                return false;

        *ret = input->metrics->value[metric];
        return true;
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

/* --- table of rules ------------------------------------------------------------------------------ */

/* Only the first rule of each topic that applies gives advice: further advice would repeat or contradict the first. */
typedef enum Topic {
        TOPIC_MEMORY,
        TOPIC_CPU,
        TOPIC_IO,
        TOPIC_SWAP,
        TOPIC_STEAL,
        TOPIC_TIME,
} Topic;

/* Most important rule first. */
static const struct {
        const char *name;
        Topic topic;
        bool (*holds)(const AdviceInput *input, Advice *ret);
} rules[] = {
        { "oom-killed", TOPIC_MEMORY, oom_killed },
        { "memory-pressure", TOPIC_MEMORY, memory_pressure },
        { "cpu-limited", TOPIC_CPU, cpu_limited },
        { "time-limit", TOPIC_TIME, time_limit },
        { "throttled", TOPIC_CPU, throttled },
        { "io-wait", TOPIC_IO, io_wait },
        { "cpu-pressure", TOPIC_CPU, cpu_pressure },
        { "memory-limit", TOPIC_MEMORY, memory_limit },
        { "node-swapped", TOPIC_SWAP, node_swapped },
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

size_t advice_give(const JobView *job, const NodeSnapshot *node_snapshot, Advice ret[static ADVICE_MAX]) {
        const AdviceInput input = {
                .metrics = &job->metrics,
                .usage = &job->usage,
                .is_running = job->state == JOB_RUNNING,
                .n_node_cpus = snapshot_node_n_cpus(node_snapshot),
                .time_limit_s = find_time_limit(&job->info),
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
