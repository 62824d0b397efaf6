/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/table/running_job.h"

Job *running_job_free(Job *job) {
        if (!job)
                return NULL;

        sd_event_source_disable_unref(job->process.source);
        sd_event_source_disable_unref(job->group.events);
        cgroup_free(job->group.cgroup);
        free(job->group.usage);
        steps_free(job->group.steps);
        job_gpus_deinit(&job->gpus);
        free(job->phase);
        snapshot_totals_unref(job->begin);
        running_job_drop_final(job);
        recording_deinit(&job->recording);
        sample_log_span_deinit(&job->samples);
        job_description_deinit(&job->info);
        shares_release(&job->origin.charge);
        free(job);
        return NULL;
}

void running_job_set_note(Job *job, const char *text) {
        (void)JOB_DESCRIPTION_SET(&job->info, note, text);
}

void running_job_drop_final(Job *job) {
        if (job->final) {
                free(job->final->phase);
                buffer_deinit(&job->final->samples);
        }
        free(TAKE(job->final));
}
