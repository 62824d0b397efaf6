/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * GPUs of a job: those that it was given, and those that its processes use
 *
 * Counters are added up from the reading that follows the begin: the difference of two readings of the node's
 * equipment, whose counters never decrease (account.h). While processes of others use a GPU as well, only the time and
 * what the driver counts by process are the job's: nothing else is added, so that a job has no numbers of another.
 */

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"
#include "json/json.h"
#include "json/record.h"
#include "measure/equipment.h"
#include "measure/usage.h"

#define JOB_GPU_NAME_MAX 16U
#define JOB_GPUS_UNFOUND_MAX 4U /* GPUs that the job was given and the node has not, which are kept */
/* A GPU in which kernels ran for a smaller share of the time counts as not used: a program that opens all GPUs of the
 * node runs a few on each. */
#define JOB_GPU_USED_MIN 0.01

/* Use of a GPU by the job's processes, as of the latest reading, and as counted since the one before. */
typedef struct JobGpuProcesses {
        bool are_others; /* processes of others use the GPU, too */
        uint32_t n;
        uint64_t memory_bytes, share_us;
        uint64_t all_share_us; /* of all processes of the GPU */
        bool is_read;
        double parts[N_GPU_SUMS]; /* of the GPU, valid if it was read; NAN: unknown, or others use it */
} JobGpuProcesses;

typedef struct JobGpu {
        char name[JOB_GPU_NAME_MAX]; /* of the node's equipment; "": not found on the node so far */
        char uuid[JOB_GPU_TEXT_MAX], model[JOB_GPU_TEXT_MAX]; /* "": unknown */
        char given[JOB_GPU_TEXT_MAX]; /* the words by which it was given; "": it was not, but it is used */
        uint64_t begin_ns; /* CLOCK_BOOTTIME; readings from then on count */
        uint32_t have;     /* bit per value that was read */
        uint32_t skipped;  /* bit per counter that has grown through others since its last reading */
        bool was_shared;
        bool had_processes;
        uint64_t values[N_GPU_VALUES]; /* counters: counted; present_us without the time shared; gauges: highest */
        uint64_t last[N_GPU_VALUES];   /* readings of the counters */
        uint64_t total_us;             /* as present_us, with the time shared */
        uint64_t powered_us;           /* present_us as of the last reading of energy */
        uint64_t memory_mib_us;        /* memory of the GPU, summed up over present_us */
        uint64_t clock_mhz_us;         /* clock, summed up over utilized_us */
        uint64_t process_peak_bytes;   /* memory of the job's processes */
        uint64_t share_us, all_share_us; /* of the job's processes and of all, while shared */
        uint64_t recent_nj;            /* energy by power since the last reading of the counter; not kept */
        JobGpuProcesses now;           /* not kept */
} JobGpu;

typedef struct JobGpus {
        JobGpu *items; /* owned */
        size_t n;
} JobGpus;

/* Owns the items. */
extern const Record job_gpus_record;

void job_gpus_deinit(JobGpus *gpus);
/* Returns the GPU that is this item of a sample, or NULL. */
JobGpu *job_gpus_find(const JobGpus *gpus, const SampleEquipment *item);
/* Adds a GPU; NULL: out of memory, or there are JOB_GPUS_MAX. Borrowed until the next one is added. */
JobGpu *job_gpus_add(JobGpus *gpus, const char *given, uint64_t begin_ns);
/* Makes the GPU this item of a sample. */
void job_gpus_set_item(JobGpu *gpu, const SampleEquipment *item);

/* CLOCK_BOOTTIME at which the values of an item were read. */
typedef struct JobGpuTimes {
        uint64_t read_ns, energy_ns;
} JobGpuTimes;

/* Adds the next reading; gpu->now is set. */
void job_gpus_advance(JobGpu *gpu, const SampleEquipment *item, const JobGpuTimes *times);

/* Returns the sum over the GPUs as of the latest reading, while the job has them alone. NAN: unknown of all, or now of
 * one of which it was known. */
double job_gpus_add_up(const JobGpus *gpus, GpuSum sum);

/* 1: used, 0: not used, -1: unknown. */
int job_gpus_is_used(const JobGpu *gpu);

/*
 * Numbers of a GPU
 *
 *   X(ID, key, mlflow, unit, factor, numerator, denominator, scale, value)
 *
 * The number is numerator / denominator × scale, and known if the value is; it has the member `key` of the JSON API.
 * Among the metrics of the job its name is gpu_{i}_`mlflow`, its value times the factor. Names that MLflow has itself
 * mean the same there.
 */
#define JOB_GPU_NUMBERS(X) \
        X(SECONDS,         "seconds",                   "",                          "",   1,   total_us,                  NOTHING,            1e-6,    present_us) \
        X(UTILIZATION,     "utilization",               "utilization_percentage",    "%",  100, V(utilized_us),            V(present_us),      1,       utilized_us) \
        X(SM_OBSERVED,     "sm_observed_seconds",       "",                          "",   1,   V(sm_observed_us),         NOTHING,            1e-6,    sm_observed_us) \
        X(SM_ACTIVE,       "sm_active",                 "sm_active_percentage",      "%",  100, V(sm_active_us),           V(sm_observed_us),  1,       sm_active_us) \
        X(SM_OVER20,       "sm_over20",                 "sm_over20_percentage",      "%",  100, V(sm_over20_us),           V(sm_observed_us),  1,       sm_over20_us) \
        X(SM_OVER40,       "sm_over40",                 "sm_over40_percentage",      "%",  100, V(sm_over40_us),           V(sm_observed_us),  1,       sm_over40_us) \
        X(SM_OVER80,       "sm_over80",                 "sm_over80_percentage",      "%",  100, V(sm_over80_us),           V(sm_observed_us),  1,       sm_over80_us) \
        X(OCCUPANCY,       "sm_occupancy",              "sm_occupancy_percentage",   "%",  100, V(sm_occupancy_us),        V(sm_observed_us),  1,       sm_occupancy_us) \
        X(TENSOR,          "tensor_active",             "tensor_active_percentage",  "%",  100, V(tensor_active_us),       V(sm_observed_us),  1,       tensor_active_us) \
        X(DRAM,            "dram_active",               "dram_active_percentage",    "%",  100, V(dram_active_us),         V(sm_observed_us),  1,       dram_active_us) \
        X(ENERGY,          "energy_joules",             "energy_joules",             "J",  1,   V(energy_mj),              NOTHING,            1e-3,    energy_mj) \
        X(ENERGY_NOW,      "energy_now_joules",         "",                          "",   1,   V(energy_mj),              NOTHING,            1e-3,    energy_mj) \
        X(POWER,           "power_watts",               "power_usage_watts",         "W",  1,   V(energy_mj),              powered_us,         1e3,     energy_mj) \
        X(POWER_LIMIT,     "power_limit_watts",         "",                          "",   1,   V(power_limit_mw),         NOTHING,            1e-3,    power_limit_mw) \
        X(POWER_USED,      "power_used",                "power_usage_percentage",    "%",  100, V(energy_mj),              powered_us,         1e6,     power_limit_mw) \
        X(POWER_THROTTLED, "power_throttled",           "",                          "",   1,   V(power_throttled_us),     V(present_us),      1,       power_throttled_us) \
        X(HEAT_THROTTLED,  "heat_throttled",            "",                          "",   1,   V(heat_throttled_us),      V(present_us),      1,       heat_throttled_us) \
        X(CLOCK,           "sm_clock_hz",               "",                          "",   1,   clock_mhz_us,              V(utilized_us),     1e6,     sm_clock_hz) \
        X(TEMPERATURE,     "temperature_celsius",       "",                          "",   1,   V(temperature_mc),         NOTHING,            1e-3,    temperature_mc) \
        X(MEMORY_TOTAL,    "memory_total_bytes",        "",                          "",   1,   V(memory_total_bytes),     NOTHING,            1,       memory_total_bytes) \
        X(MEMORY_MEAN,     "memory_mean_bytes",         "memory_usage_megabytes",    "MB", 1e-6,memory_mib_us,             V(present_us),      1048576, memory_used_bytes) \
        X(MEMORY_USED,     "memory_used",               "memory_usage_percentage",   "%",  100, memory_mib_us,             V(present_us),      1048576, memory_used_bytes) \
        X(MEMORY_PEAK,     "memory_peak_bytes",         "memory_peak_megabytes",     "MB", 1e-6,V(memory_used_bytes),      NOTHING,            1,       memory_used_bytes) \
        X(PROCESS_PEAK,    "process_memory_peak_bytes", "",                          "",   1,   process_peak_bytes,        NOTHING,            1,       present_us) \
        X(PROCESS_SHARE,   "process_share",             "process_share_percentage",  "%",  100, share_us,                  all_share_us,       1,       present_us) \
        X(PCIE_SENT,       "pcie_sent_bytes",           "",                          "",   1,   V(pcie_sent_bytes),        NOTHING,            1,       pcie_sent_bytes) \
        X(PCIE_RECEIVED,   "pcie_received_bytes",       "",                          "",   1,   V(pcie_received_bytes),    NOTHING,            1,       pcie_received_bytes) \
        X(NVLINK_SENT,     "nvlink_sent_bytes",         "",                          "",   1,   V(nvlink_sent_bytes),      NOTHING,            1,       nvlink_sent_bytes) \
        X(NVLINK_RECEIVED, "nvlink_received_bytes",     "",                          "",   1,   V(nvlink_received_bytes),  NOTHING,            1,       nvlink_received_bytes) \
        X(ECC_CORRECTED,   "ecc_corrected_errors",      "",                          "",   1,   V(ecc_corrected),          NOTHING,            1,       ecc_corrected) \
        X(ECC_UNCORRECTED, "ecc_uncorrected_errors",    "",                          "",   1,   V(ecc_uncorrected),        NOTHING,            1,       ecc_uncorrected) \
        X(XID,             "xid_errors",                "",                          "",   1,   V(xid_errors),             NOTHING,            1,       xid_errors)

typedef enum JobGpuNumber {
#define X(id, ...) JOB_GPU_##id,
        JOB_GPU_NUMBERS(X)
#undef X
        N_JOB_GPU_NUMBERS,
} JobGpuNumber;

/* Returns a number of the GPU; NAN: it is unknown. */
double job_gpus_number(const JobGpu *gpu, JobGpuNumber number);
/* As a metric of the job. */
typedef struct JobGpuMetric {
        char key[96];
        const char *unit;
        double value;
} JobGpuMetric;
/* False: the number is unknown, or no metric. */
bool job_gpus_metric(const JobGpu *gpu, JobGpuNumber number, JobGpuMetric *ret);

/* Writes "gpus": an object for each. */
void job_gpus_write_json(const JobGpus *gpus, Json *json);
/* Sets the metrics of all GPUs together; without GPUs they are of no equipment. */
void job_gpus_put_usage(const JobGpus *gpus, UsageSet *usage);
