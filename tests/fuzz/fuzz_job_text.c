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

        if (job_text_parse_layout(LAYOUT_METRICS, keys, &layout) != 0 ||
            job_text_parse_metrics(values, &layout, &metrics) != 0)
                return;

        check_quality(metrics.quality, N_METRICS);
        job_text_write_metrics(&metrics, &once);
        job_text_write_layout(LAYOUT_METRICS, &own);
        assert(job_text_parse_layout(LAYOUT_METRICS, own.text, &layout) == 0);
        assert(job_text_parse_metrics(once.text, &layout, &back) == 0);
        job_text_write_metrics(&back, &twice);
        assert(strcmp(once.text, twice.text) == 0);
}

static void fuzz_usage(const char *keys, const char *values) {
        scoped(buffer_deinit) Buffer once = {}, twice = {}, own = {};
        UsageSet usage, back;
        Layout layout;

        if (job_text_parse_layout(LAYOUT_USAGE, keys, &layout) != 0 ||
            job_text_parse_usage(values, &layout, &usage) != 0)
                return;

        check_quality(usage.quality, N_USAGES);
        job_text_write_usage(&usage, &once);
        job_text_write_layout(LAYOUT_USAGE, &own);
        assert(job_text_parse_layout(LAYOUT_USAGE, own.text, &layout) == 0);
        assert(job_text_parse_usage(once.text, &layout, &back) == 0);
        job_text_write_usage(&back, &twice);
        assert(strcmp(once.text, twice.text) == 0);
}

static void fuzz_labels(const char *text) {
        scoped(buffer_deinit) Buffer once = {};
        JobInfo info = {}, back = {};

        if (job_text_parse_labels(text, &info) == 0 && info.n_labels > 0) {
                record_put(&job_labels_record, &info, &once);
                assert(job_text_parse_labels(once.text, &back) == 0);
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
