/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what the store reads back of a job's and a phase's columns
 *
 * A layout on the first line, values on the second, as both kinds of numbers; the rest as labels and as rusage. What is
 * accepted must be the same when it is written and read once more.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/jobs/job_text.h"
#include "util/scoped.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_quality(const uint8_t *qualities, size_t n) {
        for (size_t i = 0; i < n; i++)
                assert(qualities[i] < N_QUALITIES);
}

static void fuzz_metrics(const char *keys, const char *values) {
        scoped(buffer_deinit) Buffer once = {}, twice = {}, own = {};
        MetricSet metrics, back;
        Layout layout;

        if (layout_parse(LAYOUT_METRICS, keys, &layout) != 0 || metrics_parse(values, &layout, &metrics) != 0)
                return;

        check_quality(metrics.quality, N_METRICS);
        metrics_write(&metrics, &once);
        layout_write(LAYOUT_METRICS, &own);
        assert(layout_parse(LAYOUT_METRICS, own.text, &layout) == 0);
        assert(metrics_parse(once.text, &layout, &back) == 0);
        metrics_write(&back, &twice);
        assert(strcmp(once.text, twice.text) == 0);
}

static void fuzz_usage(const char *keys, const char *values) {
        scoped(buffer_deinit) Buffer once = {}, twice = {}, own = {};
        UsageSet usage, back;
        Layout layout;

        if (layout_parse(LAYOUT_USAGE, keys, &layout) != 0 || usage_set_parse(values, &layout, &usage) != 0)
                return;

        check_quality(usage.quality, N_USAGES);
        usage_set_write(&usage, &once);
        layout_write(LAYOUT_USAGE, &own);
        assert(layout_parse(LAYOUT_USAGE, own.text, &layout) == 0);
        assert(usage_set_parse(once.text, &layout, &back) == 0);
        usage_set_write(&back, &twice);
        assert(strcmp(once.text, twice.text) == 0);
}

static void fuzz_labels(const char *text) {
        scoped(buffer_deinit) Buffer once = {};
        JobInfo info = {}, back = {};

        if (job_labels_parse(text, &info) == 0 && info.n_labels > 0) {
                record_put(&job_labels_record, &info, &once);
                assert(job_labels_parse(once.text, &back) == 0);
                assert(back.n_labels == info.n_labels);
        }
        job_info_deinit(&info);
        job_info_deinit(&back);
}

static void fuzz_rusage(const char *text) {
        scoped(buffer_deinit) Buffer once = {};
        JobRusage rusage;

        if (record_parse(&job_rusage_record, text, &rusage) != 0)
                return;
        record_put(&job_rusage_record, &rusage, &once);
        assert(record_parse(&job_rusage_record, once.text, &rusage) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = malloc(size + 1), *end;

        if (!text)
                return 0;
        if (size > 0)
                memcpy(text, data, size);
        text[size] = '\0';

        fuzz_labels(text);
        fuzz_rusage(text);
        end = strchr(text, '\n');
        if (end) {
                *end = '\0';
                fuzz_metrics(text, end + 1);
                fuzz_usage(text, end + 1);
        }
        free(text);
        return 0;
}
