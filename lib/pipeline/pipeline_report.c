/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_report.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pipeline_report_add_sums(PipelineSums *sums, const PipelineSums *later) {
        sums->elapsed_s += later->elapsed_s;
        sums->n += later->n;
        sums->n_failures += later->n_failures;
        sums->time_s += later->time_s;
        sums->get_s += later->get_s;
        sums->ready_s += later->ready_s;
        sums->judged_s += later->judged_s;
}

void pipeline_report_drop_first(PipelineSums *sums, const PipelineSums *first, uint64_t n_intervals,
                                bool is_start_known) {
        if (n_intervals < (is_start_known ? 2 : PIPELINE_INTERVALS_MIN))
                return;
        sums->elapsed_s = fmax(0, sums->elapsed_s - first->elapsed_s);
        sums->n = fmax(0, sums->n - first->n);
        sums->n_failures = fmax(0, sums->n_failures - first->n_failures);
        sums->time_s = fmax(0, sums->time_s - first->time_s);
        sums->get_s = fmax(0, sums->get_s - first->get_s);
        sums->ready_s = fmax(0, sums->ready_s - first->ready_s);
        sums->judged_s = fmax(0, sums->judged_s - first->judged_s);
}

void pipeline_report_set_stage(PipelineStage *stage, PipelinePart part, const PipelineSums *sums, double n_last) {
        assert(part < N_PIPELINE_PARTS);
        if (part == PIPELINE_TASKS)
                stage->tasks = (StageTasks){
                        .is_known = true, .elapsed_s = sums->elapsed_s, .n = sums->n, .n_failures = sums->n_failures,
                        .success_time_s = sums->time_s,
                };
        else
                stage->queue = (StageQueue){
                        .is_known = true,
                        .elapsed_s = sums->elapsed_s,
                        .n_gets = sums->n,
                        .put_s = sums->time_s,
                        .get_s = sums->get_s,
                        .n_last = n_last,
                        .ready_s = sums->ready_s,
                        .judged_s = sums->judged_s,
                };
}

bool pipeline_report_counts_open_periods(const char *producer) {
        unsigned long major, minor = 0;
        const char *version;
        char *end;

        if (strncmp(producer, "spdl", 4) != 0)
                return producer[0] != '\0';
        version = producer + 4 + strspn(producer + 4, " =");
        major = strtoul(version, &end, 10);
        if (*end == '.')
                minor = strtoul(end + 1, NULL, 10);
        return major > 0 || minor >= 8;
}
