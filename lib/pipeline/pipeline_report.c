/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_report.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

bool pipeline_report_label_is_valid(const char *label, size_t n) {
        PipelineStage stage;

        return n <= PIPELINE_LABEL_MAX && utf8_is_line(label) && pipeline_stage_parse(&stage, label, n);
}

#define COUNT_MAX 9007199254740992.0 /* 2^53 */
#define NUMBER(of_tasks, of_queue, member, max) { { of_tasks, of_queue }, offsetof(PipelineInterval, member), max }

const PipelineNumber pipeline_report_numbers[N_PIPELINE_NUMBERS] = {
        NUMBER("elapsed", "elapsed", sums.elapsed_s, PIPELINE_SECONDS_MAX),
        NUMBER("num_tasks", "num_items", sums.n, COUNT_MAX),
        NUMBER("num_failures", NULL, sums.n_failures, COUNT_MAX),
        NUMBER("ave_time", "ave_put_time", sums.time_s, PIPELINE_SECONDS_MAX),
        NUMBER("p90_time", "p90_put_time", percentiles.p90_s, PIPELINE_SECONDS_MAX),
        NUMBER("p99_time", "p99_put_time", percentiles.p99_s, PIPELINE_SECONDS_MAX),
        NUMBER(NULL, "ave_get_time", sums.get_s, PIPELINE_SECONDS_MAX),
        NUMBER(NULL, "p90_get_time", percentiles.get_p90_s, PIPELINE_SECONDS_MAX),
        NUMBER(NULL, "p99_get_time", percentiles.get_p99_s, PIPELINE_SECONDS_MAX),
        NUMBER(NULL, "occupancy_rate", sums.ready_s, 1),
};

ImpossibleNumber pipeline_report_take(PipelineInterval *interval, bool counts_open_periods) {
        PipelineSums *sums = &interval->sums;

        for (size_t i = 0; i < N_PIPELINE_NUMBERS; i++) {
                const PipelineNumber *number = &pipeline_report_numbers[i];
                const double *v = (const double *)(const void *)((const char *)interval + number->offset);
                double max = v == &sums->n_failures ? sums->n : number->max; /* tasks include those that failed */

                if (number->names[interval->part] && !(*v >= 0 && *v <= max) && !(v == &sums->ready_s && isnan(*v)))
                        return (ImpossibleNumber){ number->names[interval->part], *v, max };
        }
        sums->time_s *= sums->n - sums->n_failures;
        sums->get_s *= sums->n;
        if (interval->part == PIPELINE_QUEUE && !isnan(sums->ready_s) && (sums->n > 0 || counts_open_periods))
                sums->judged_s = sums->elapsed_s;
        sums->ready_s = sums->judged_s > 0 ? sums->ready_s * sums->judged_s : 0;
        return (ImpossibleNumber){};
}

/* Adds or subtracts; no sum is negative. */
static void add_sums(PipelineSums *sums, const PipelineSums *other, double factor) {
        double *to = (double *)(void *)sums;
        const double *from = (const double *)(const void *)other;

        for (size_t i = 0; i < sizeof(*sums) / sizeof(*to); i++)
                to[i] = fmax(0, to[i] + factor * from[i]);
}

void pipeline_report_add_sums(PipelineSums *sums, const PipelineSums *later) {
        add_sums(sums, later, 1);
}

void pipeline_report_drop_first(PipelineSums *sums, const PipelineSums *first, uint64_t n_intervals,
                                bool is_start_known) {
        if (n_intervals >= (is_start_known ? 2 : PIPELINE_INTERVALS_MIN))
                add_sums(sums, first, -1);
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
