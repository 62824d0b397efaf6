/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job_steps.h"

#include <sys/param.h>

static const Record step_record = RECORD(JobStep,
        RECORD_TEXT_OF(JobStep, name),
        RECORD_VALUE(JobStep, n_steps),
        RECORD_BITS_OF(JobStep, have, N_CGROUP_PARTS, cgroup_part_names),
        RECORD_VALUE(JobStep, group_id),
        RECORD_VALUE(JobStep, begin_ms),
        RECORD_VALUE(JobStep, end_ms),
        RECORD_VALUE(JobStep, seen_ms),
        RECORD_VALUE(JobStep, unseen_ms),
        RECORD_VALUE(JobStep, cpu_us),
        RECORD_VALUE(JobStep, memory_peak_bytes),
        RECORD_VALUE(JobStep, read_bytes),
        RECORD_VALUE(JobStep, written_bytes));

const Record job_steps_record = RECORD(JobSteps,
        RECORD_LIST_OF(JobSteps, items, n, JOB_STEPS_MAX, &step_record),
        RECORD_STRUCT(JobSteps, others, &step_record));

void job_steps_add(JobStep *others, const JobStep *step) {
        if (others->n_steps == 0 || step->begin_ms < others->begin_ms)
                others->begin_ms = step->begin_ms;
        others->n_steps += step->n_steps;
        others->have |= step->have;
        others->end_ms = MAX(others->end_ms, step->end_ms);
        others->unseen_ms += step->unseen_ms;
        others->cpu_us += step->cpu_us;
        others->memory_peak_bytes = MAX(others->memory_peak_bytes, step->memory_peak_bytes);
        others->read_bytes += step->read_bytes;
        others->written_bytes += step->written_bytes;
}

/* --- JSON ---------------------------------------------------------------------------------------------- */

/* Numbers of a step, and of the job's total that they are a part of; N_USAGES: a peak is no part. */
static const struct {
        const char *key;
        CgroupPart part;
        UsageMetric total;
        double per_unit;
        size_t offset;
} numbers[] = {
        { "cpu_seconds", CGROUP_CPU, USAGE_CPU_SECONDS, 1e6, offsetof(JobStep, cpu_us) },
        { "memory_peak_bytes", CGROUP_MEMORY_PEAK, N_USAGES, 1, offsetof(JobStep, memory_peak_bytes) },
        { "read_bytes", CGROUP_IO, USAGE_READ_BYTES, 1, offsetof(JobStep, read_bytes) },
        { "written_bytes", CGROUP_IO, USAGE_WRITE_BYTES, 1, offsetof(JobStep, written_bytes) },
};

static void write_step(const JobStep *step, uint64_t end_ms, double sums[static N_ELEMENTS(numbers)], Json *json) {
        end_ms = step->end_ms ?: end_ms;
        json_object_begin(json);
        json_put_string(json, "kind", *step->name ? "step" : "other");
        json_put_text_or_null(json, "name", step->name);
        json_put_uint(json, "n_steps", step->n_steps);
        json_put_uint(json, "begin_ms", step->begin_ms);
        json_put_int_or_null(json, "end_ms", end_ms > 0, (int64_t)end_ms);
        json_put_double(json, "unobserved_seconds", (double)step->unseen_ms / 1e3);
        for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
                uint64_t count = *(const uint64_t *)(const void *)((const char *)step + numbers[i].offset);
                bool is_known = step->have & (1U << numbers[i].part);

                json_put_double_or_null(json, numbers[i].key, is_known, (double)count / numbers[i].per_unit);
                sums[i] += is_known ? (double)count / numbers[i].per_unit : 0;
        }
        json_object_end(json);
}

/* The job was read after its steps, except for the last reading of a job whose group was removed in between. */
static void write_rest(const UsageSet *job, const double sums[static N_ELEMENTS(numbers)], Json *json) {
        json_object_begin(json);
        json_put_string(json, "kind", "rest");
        json_put_string(json, "name", NULL);
        for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
                UsageMetric total = numbers[i].total;
                bool is_known = total < N_USAGES && quality_is_present(job->quality[total]);
                double rest = is_known ? job->value[total] - sums[i] : 0;

                json_put_double_or_null(json, numbers[i].key, is_known, rest > 0 ? rest : 0);
        }
        json_object_end(json);
}

void job_steps_write_json(const JobSteps *steps, const UsageSet *job, uint64_t end_ms, Json *json) {
        double sums[N_ELEMENTS(numbers)] = {};

        json_put_array_begin(json, "steps");
        for (size_t i = 0; i < steps->n; i++)
                write_step(&steps->items[i], end_ms, sums, json);
        if (steps->others.n_steps > 0)
                write_step(&steps->others, end_ms, sums, json);
        if (steps->n > 0)
                write_rest(job, sums, json);
        json_array_end(json);
}
