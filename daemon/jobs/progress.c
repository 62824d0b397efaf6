/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/progress.h"

#include "json/record.h"

static const Record phase_record = RECORD(Phase,
        RECORD_VALUE(Phase, index),
        RECORD_TEXT_OF(Phase, name),
        RECORD_VALUE(Phase, begin_realtime_ms),
        RECORD_STRUCT(Phase, window, &window_record),
        RECORD_OPTIONAL(Phase, usage, has_usage, &usage_record));

static const Record progress_record = RECORD(Progress,
        RECORD_STRUCT(Progress, window, &window_record),
        RECORD_OPTIONAL(Progress, usage, has_usage, &usage_record),
        RECORD_OPTIONAL(Progress, phase, has_phase, &phase_record),
        RECORD_VALUE(Progress, n_phases),
        RECORD_VALUE(Progress, is_announced),
        RECORD_VALUE(Progress, is_usage_cut),
        RECORD_VALUE(Progress, is_group_vouched),
        RECORD_VALUE(Progress, group_id),
        RECORD_STRUCT(Progress, steps, &job_steps_record),
        RECORD_STRUCT(Progress, gpus, &job_gpus_record),
        RECORD_VALUE(Progress, cpu_interval_ns),
        RECORD_VALUE(Progress, is_cpu_interval_granted));

int progress_format(const Job *job, const Phase *phase, uint32_t n_phases, char **ret) {
        Progress progress = {
                .window = { .begin = job->begin->totals, .peaks = job->peaks },
                .has_usage = job->group.usage,
                .has_phase = phase,
                .n_phases = n_phases,
                .is_announced = job->is_announced,
                .is_usage_cut = job->group.is_usage_cut,
                .is_group_vouched = job->group.is_vouched,
                .group_id = job->group.id,
                .gpus = job->gpus,
                .cpu_interval_ns = job->readings.interval_ns,
                .is_cpu_interval_granted = job->readings.is_granted,
        };

        if (job->group.usage)
                progress.usage = *job->group.usage;
        if (job->group.steps)
                progress.steps = job->group.steps->list;
        if (phase)
                progress.phase = *phase;
        return record_format(&progress_record, &progress, ret);
}

int progress_parse(const char *text, Progress *ret) {
        return record_parse(&progress_record, text, ret);
}

void progress_deinit(Progress *progress) {
        record_deinit(&progress_record, progress);
}
