/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: columns that the store keeps of a job: a timeline, then the samples of an export
 *
 * What is accepted must be usable like any other, and must be the same when it is written and read once more.
 */

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/export_samples.h"
#include "measure/timeline.h"
#include "util/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_point(const TimelinePoint *point) {
        for (Series series = 0; series < N_SERIES; series++) {
                const TimelineValue *v = &point->series[series];

                if (isnan(v->mean))
                        continue;
                assert(point->observed_ns > 0);
                assert(v->min >= 0 && v->min <= v->mean && v->mean <= v->max && isfinite(v->max));
        }
}

static void check_timeline(const Timeline *timeline) {
        scoped(timeline_deinit) Timeline again = {};
        scoped(buffer_deinit) Buffer json = {}, bytes = {};
        ColumnReader reader;

        assert(timeline->n <= timeline->n_allocated);
        for (size_t i = 0; i < timeline->n; i++)
                check_point(&timeline->points[i]);
        timeline_json(timeline, &json);
        assert(buffer_error(&json) == 0);

        assert(timeline_write(timeline, &bytes) == 0);
        column_reader_init(&reader, bytes.text, bytes.n);
        assert(timeline_read(&reader, &again) == 0);
        assert(reader.p == reader.end && again.n == timeline->n && again.interval_ns == timeline->interval_ns);
}

static void check_samples(const ExportSamples *samples) {
        scoped(export_samples_deinit) ExportSamples again = {};
        scoped(buffer_deinit) Buffer bytes = {};
        ColumnReader reader;

        if (samples->n == 0)
                return;
        for (size_t i = 0; i < samples->n; i++) {
                PerfpySample sample;

                export_sample_to_perfpy(&samples->samples[i], i % 2, &sample);
        }
        export_samples_write(samples, &bytes);
        column_reader_init(&reader, bytes.text, bytes.n);
        assert(export_samples_read(&reader, &again) == 0);
        assert(again.n == samples->n && memcmp(again.samples, samples->samples, again.n * sizeof(*again.samples)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        scoped(timeline_deinit) Timeline timeline = {};
        scoped(export_samples_deinit) ExportSamples samples = {};
        ColumnReader reader;
        int r;

        column_reader_init(&reader, data, size);
        r = timeline_read(&reader, &timeline);
        assert(r == 0 || r == PARSE_MALFORMED);
        if (r == 0)
                check_timeline(&timeline);
        else
                column_reader_init(&reader, data, size);

        r = export_samples_read(&reader, &samples);
        assert(r == 0 || r == PARSE_MALFORMED);
        if (r == 0)
                check_samples(&samples);
        return 0;
}
