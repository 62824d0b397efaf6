/* SPDX-License-Identifier: Apache-2.0 */
#include "http/jobs/perf_report_json.h"

#include "http/jobs/job_lookup.h"
#include "measure/export_samples.h"
#include "measure/timeline.h"

/* Lists the samples of a job that runs or has ended. The list is empty if none was kept. 0 or -ENOMEM. */
static int list_samples(const Sources *sources, const FoundJob *job, ExportSamples *ret) {
        const Snapshot *snapshot = sources->snapshot;
        scoped(timeline_deinit) Timeline timeline = {};
        ColumnReader bytes;
        int r;

        if (job->record && job->record->begin)
                return sample_log_span_list(&job->record->samples, &snapshot->jobs.samples, &job->record->begin->totals,
                                        &snapshot->node.totals, ret);

        /* The timeline is in front of the samples. */
        column_reader_init(&bytes, job->row.timeline.bytes, job->row.timeline.n);
        r = timeline_read(&bytes, &timeline);
        if (r == 0)
                r = export_samples_read(&bytes, ret);
        return r < 0 ? r : 0;
}

static void write_samples(Json *json, const ExportSamples *list, bool is_compat) {
        json_put_object_begin(json, "samples");
        for (size_t field = 0; field < N_PERFPY_FIELDS; field++) {
                json_put_array_begin(json, compat_field_names[field]);
                for (size_t i = 0; i < list->n; i++) {
                        PerfpySample sample;

                        export_sample_to_perfpy(&list->samples[i], is_compat, &sample);
                        json_double(json, compat_field(&sample, field));
                }
                json_array_end(json);
        }
        json_object_end(json);
}

void perf_report_json_answer(const Target *target, const Sources *sources, Response *response) {
        scoped(export_samples_deinit) ExportSamples list = {};
        Json json = { .out = response->body };
        const JobView *view;
        bool is_compat;
        FoundJob job;
        int r;

        if (exchange_parameter_bool(target, response, "compat", &is_compat) > 0 || job_lookup(target, sources, response, &job) > 0)
                return;
        r = list_samples(sources, &job, &list);
        if (r < 0) {
                (void)exchange_store_error(response, r);
                return;
        }

        view = job.view;
        json_object_begin(&json);
        json_put_string(&json, "job", view->info.id);
        json_put_int_or_null(&json, "rank", view->info.rank >= 0, view->info.rank);
        json_put_uint(&json, "begin_ms", view->begin_realtime_ms);
        json_put_int_or_null(&json, "samples_begin_ms", list.n > 0, (int64_t)list.begin_realtime_ms);
        json_put_uint(&json, "n_merged", list.n > 0 ? list.n_merged : 1);
        write_samples(&json, &list, is_compat);
        json_object_end(&json);
}
