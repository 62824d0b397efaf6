/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job_gpus.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "util/array.h"
#include "util/utf8.h"

#define BIT(i) (UINT32_C(1) << (i))

/* --- record ----------------------------------------------------------------------------------- */

static const char *const value_names[N_GPU_VALUES] = {
#define X(kind, member, ...) [kind##_##member] = #member,
        GPU_VALUES(X)
#undef X
};

static const Record gpu_record = RECORD(JobGpu,
        RECORD_TEXT_OF(JobGpu, name),
        RECORD_TEXT_OF(JobGpu, uuid),
        RECORD_TEXT_OF(JobGpu, model),
        RECORD_TEXT_OF(JobGpu, given),
        RECORD_VALUE(JobGpu, begin_ns),
        RECORD_BITS_OF(JobGpu, have, N_GPU_VALUES, value_names),
        RECORD_BITS_OF(JobGpu, skipped, N_GPU_VALUES, value_names),
        RECORD_VALUE(JobGpu, was_shared),
        RECORD_VALUE(JobGpu, had_processes),
        RECORD_COUNTS_OF(JobGpu, values, value_names),
        RECORD_COUNTS_OF(JobGpu, last, value_names),
        RECORD_VALUE(JobGpu, total_us),
        RECORD_VALUE(JobGpu, powered_us),
        RECORD_VALUE(JobGpu, memory_mib_us),
        RECORD_VALUE(JobGpu, clock_mhz_us),
        RECORD_VALUE(JobGpu, process_peak_bytes),
        RECORD_VALUE(JobGpu, share_us),
        RECORD_VALUE(JobGpu, all_share_us));

const Record job_gpus_record = RECORD(JobGpus,
        RECORD_LIST_OF(JobGpus, items, n, JOB_GPUS_MAX, &gpu_record));

/* --- list ------------------------------------------------------------------------------------- */

void job_gpus_deinit(JobGpus *gpus) {
        free(gpus->items);
        *gpus = (JobGpus){};
}

JobGpu *job_gpus_find(const JobGpus *gpus, const SampleEquipment *item) {
        for (size_t i = 0; i < gpus->n; i++) {
                JobGpu *gpu = &gpus->items[i];

                if (gpu->name[0] && (gpu->uuid[0] ? strncmp(gpu->uuid, item->texts[0], sizeof(gpu->uuid) - 1)
                                                  : strncmp(gpu->name, item->name, sizeof(gpu->name) - 1)) == 0)
                        return gpu;
        }
        return NULL;
}

JobGpu *job_gpus_add(JobGpus *gpus, const char *given, uint64_t begin_ns) {
        JobGpu *gpu;

        if (gpus->n == JOB_GPUS_MAX || ARRAY_EXTEND(gpus->items, gpus->n) < 0)
                return NULL;
        gpu = &gpus->items[gpus->n++];
        *gpu = (JobGpu){ .begin_ns = begin_ns };
        utf8_copy(gpu->given, sizeof(gpu->given), given);
        return gpu;
}

void job_gpus_set_item(JobGpu *gpu, const SampleEquipment *item) {
        utf8_copy(gpu->name, sizeof(gpu->name), item->name);
        utf8_copy(gpu->uuid, sizeof(gpu->uuid), item->texts[0]);
        utf8_copy(gpu->model, sizeof(gpu->model), item->texts[1]);
}

/* --- counting --------------------------------------------------------------------------------- */

static void advance_counter(JobGpu *gpu, unsigned i, uint64_t now, bool is_begun) {
        if (!(gpu->have & BIT(i)) && !is_begun)
                return;
        if (gpu->have & BIT(i) && now > gpu->last[i]) {
                if (i == GPU_present_us)
                        gpu->total_us += now - gpu->last[i];
                if (!(gpu->skipped & BIT(i)))
                        gpu->values[i] += now - gpu->last[i];
                if (!gpu->now.are_others)
                        gpu->skipped &= ~BIT(i);
        }
        gpu->have |= BIT(i);
        gpu->last[i] = now;
}

static void advance_gauge(JobGpu *gpu, unsigned i, uint64_t now) {
        if (gpu->now.are_others)
                return;
        if (gpu->values[i] < now)
                gpu->values[i] = now;
        gpu->have |= BIT(i);
}

/* The driver counts by process each ten seconds: bit of a gauge, which has no use for it. */
#define SHARE_BIT BIT(GPU_utilization)

static void advance_processes(JobGpu *gpu) {
        const JobGpuProcesses *now = &gpu->now;

        gpu->had_processes |= now->n > 0;
        gpu->was_shared |= now->are_others;
        if (now->are_others)
                gpu->skipped = UINT32_MAX >> (32 - N_GPU_VALUES);
        if (gpu->process_peak_bytes < now->memory_bytes)
                gpu->process_peak_bytes = now->memory_bytes;
        if (now->all_share_us == 0 || !(gpu->skipped & SHARE_BIT))
                return;
        gpu->share_us += now->share_us;
        gpu->all_share_us += now->all_share_us;
        if (!now->are_others)
                gpu->skipped &= ~SHARE_BIT;
}

void job_gpus_advance(JobGpu *gpu, const SampleEquipment *item, const JobGpuTimes *times) {
        const uint64_t *values = gpu->values;
        const uint64_t present_us = values[GPU_present_us], utilized_us = values[GPU_utilized_us],
                       energy_mj = values[GPU_energy_mj];

        advance_processes(gpu);
        for (unsigned i = 0; i < N_GPU_VALUES; i++) {
                uint64_t read_ns = i == GPU_energy_mj ? times->energy_ns : times->read_ns;

                if (!equipment_has(item, i))
                        continue;
                if (equipment_kinds[EQUIPMENT_GPU].values[i].type == EQUIPMENT_COUNTER)
                        advance_counter(gpu, i, item->values[i], read_ns >= gpu->begin_ns);
                else if (read_ns >= gpu->begin_ns)
                        advance_gauge(gpu, i, item->values[i]);
        }
        if (equipment_has(item, GPU_memory_used_bytes))
                gpu->memory_mib_us +=
                        (item->values[GPU_memory_used_bytes] >> 20) * (values[GPU_present_us] - present_us);
        if (equipment_has(item, GPU_sm_clock_hz))
                gpu->clock_mhz_us += item->values[GPU_sm_clock_hz] / 1000000 * (values[GPU_utilized_us] - utilized_us);
        if (equipment_has(item, GPU_power_mw))
                gpu->recent_nj += item->values[GPU_power_mw] * (values[GPU_present_us] - present_us);
        if (values[GPU_energy_mj] > energy_mj) {
                gpu->powered_us = values[GPU_present_us];
                gpu->recent_nj = 0;
        }
        gpu->now.is_read = times->read_ns >= gpu->begin_ns;
        for (GpuSum sum = 0; sum < N_GPU_SUMS; sum++)
                gpu->now.parts[sum] = gpu->now.are_others ? NAN : equipment_gpu_part(item, sum);
}

double job_gpus_add_up(const JobGpus *gpus, GpuSum sum) {
        double total = NAN;

        for (size_t i = 0; i < gpus->n; i++) {
                const JobGpu *gpu = &gpus->items[i];

                if (!(gpu->have & BIT(equipment_gpu_sums[sum].value)) && !gpu->now.are_others)
                        continue;
                if (!gpu->now.is_read || isnan(gpu->now.parts[sum]))
                        return NAN;
                total = (isnan(total) ? 0 : total) + gpu->now.parts[sum];
        }
        return total;
}

/* --- numbers ---------------------------------------------------------------------------------- */

#define NOTHING begin_ns /* no denominator */
#define V(member) values[GPU_##member]

static const struct {
        const char *key, *mlflow, *unit;
        double factor, scale;
        size_t numerator, denominator;
        unsigned value;
} numbers[N_JOB_GPU_NUMBERS] = {
#define X(id, json_key, mlflow_name, of, times, over, under, times_scale, known) \
        [JOB_GPU_##id] = { json_key, mlflow_name, of, times, times_scale, \
                           offsetof(JobGpu, over), offsetof(JobGpu, under), GPU_##known },
        JOB_GPU_NUMBERS(X)
#undef X
};

static double member(const JobGpu *gpu, size_t offset) {
        return (double)*(const uint64_t *)(const void *)((const char *)gpu + offset);
}

double job_gpus_number(const JobGpu *gpu, JobGpuNumber number) {
        bool is_of_processes = number == JOB_GPU_PROCESS_PEAK || number == JOB_GPU_PROCESS_SHARE;
        size_t over = numbers[number].denominator;
        double value;

        if (!(gpu->have & BIT(numbers[number].value)) || (is_of_processes && !gpu->had_processes))
                return NAN;
        /* nothing is known of a GPU that was never the job's alone, but its time */
        if (gpu->was_shared && gpu->values[GPU_present_us] == 0 && !is_of_processes && number != JOB_GPU_SECONDS)
                return NAN;
        value = member(gpu, numbers[number].numerator) * numbers[number].scale;
        if (number == JOB_GPU_MEMORY_USED)
                value /= (double)gpu->values[GPU_memory_total_bytes];
        if (number == JOB_GPU_ENERGY_NOW)
                value = gpu->now.is_read && !gpu->now.are_others ? value + (double)gpu->recent_nj / 1e9 : NAN;
        if (number == JOB_GPU_POWER_USED)
                value /= (double)gpu->values[GPU_power_limit_mw];
        value /= over == offsetof(JobGpu, NOTHING) ? 1 : member(gpu, over);
        return isfinite(value) ? value : NAN;
}

bool job_gpus_metric(const JobGpu *gpu, JobGpuNumber number, JobGpuMetric *ret) {
        int n = snprintf(ret->key, sizeof(ret->key), "gpu_%s_%s", gpu->name, numbers[number].mlflow);

        ret->unit = numbers[number].unit;
        ret->value = job_gpus_number(gpu, number) * numbers[number].factor;
        for (char *p = ret->key; (p = strchr(p, '/'));) /* of an instance: would be a directory */
                *p = '.';
        return *numbers[number].mlflow && n < (int)sizeof(ret->key) && !isnan(ret->value);
}

/* Returns the used part of the time: while the GPU is shared, as the driver says of the job's processes. */
static uint64_t used_us(const JobGpu *gpu) {
        uint64_t shared_us = gpu->total_us - gpu->values[GPU_present_us];

        return gpu->values[GPU_utilized_us] + (gpu->share_us < shared_us ? gpu->share_us : shared_us);
}

int job_gpus_is_used(const JobGpu *gpu) {
        if (gpu->have & BIT(GPU_utilized_us) && gpu->total_us > 0)
                return (double)used_us(gpu) >= JOB_GPU_USED_MIN * (double)gpu->total_us;
        return gpu->had_processes ? 1 : -1;
}

void job_gpus_write_json(const JobGpus *gpus, Json *json) {
        json_put_array_begin(json, "gpus");
        for (size_t i = 0; i < gpus->n; i++) {
                const JobGpu *gpu = &gpus->items[i];
                int is_used = job_gpus_is_used(gpu);

                json_object_begin(json);
                json_put_text_or_null(json, "gpu", gpu->name);
                json_put_text_or_null(json, "uuid", gpu->uuid);
                json_put_text_or_null(json, "model", gpu->model);
                json_put_text_or_null(json, "given", gpu->given);
                json_key(json, "used");
                if (is_used < 0)
                        json_null(json);
                else
                        json_bool(json, is_used);
                json_put_bool(json, "shared", gpu->was_shared);
                for (JobGpuNumber k = 0; k < N_JOB_GPU_NUMBERS; k++) {
                        double value = job_gpus_number(gpu, k);

                        json_put_double_or_null(json, numbers[k].key, !isnan(value), value);
                }
                json_object_end(json);
        }
        json_array_end(json);
}

/* --- together --------------------------------------------------------------------------------- */

static void put(UsageSet *usage, UsageMetric metric, double value, uint32_t have, unsigned known, Quality quality) {
        bool is_known = have & BIT(known) && isfinite(value);

        usage->value[metric] = is_known ? value : 0;
        usage->quality[metric] = (uint8_t)(is_known ? quality : QUALITY_UNKNOWN_SOURCE);
}

void job_gpus_put_usage(const JobGpus *gpus, UsageSet *usage) {
        double total_us = 0, used = 0, observed_us = 0, active_us = 0, energy_mj = 0;
        uint32_t have = 0;

        for (size_t i = 0; i < gpus->n; i++) {
                const JobGpu *gpu = &gpus->items[i];

                have |= gpu->have;
                total_us += (double)gpu->total_us;
                used += (double)used_us(gpu);
                observed_us += (double)gpu->values[GPU_sm_observed_us];
                active_us += (double)gpu->values[GPU_sm_active_us];
                energy_mj += (double)gpu->values[GPU_energy_mj];
        }
        if (gpus->n == 0)
                return;
        put(usage, USAGE_GPU_TIME, total_us / 1e6, have, GPU_present_us, QUALITY_EXACT);
        put(usage, USAGE_GPU_USED, used / 1e6, have, GPU_utilized_us, QUALITY_SAMPLED);
        put(usage, USAGE_GPU_UNUSED, fmax(total_us - used, 0) / 1e6, have, GPU_utilized_us, QUALITY_SAMPLED);
        put(usage, USAGE_GPU_ACTIVE, active_us / observed_us, have, GPU_sm_active_us, QUALITY_SAMPLED);
        put(usage, USAGE_GPU_ENERGY, energy_mj > 0 ? energy_mj / 1e3 : NAN, have, GPU_energy_mj, QUALITY_EXACT);
}
