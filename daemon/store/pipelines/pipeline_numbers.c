/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pipelines/pipeline_numbers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline_diagnosis.h"
#include "store/pipelines/pipeline_reader.h"
#include "util/array.h"

void pipeline_numbers_deinit(PipelineNumbers *numbers) {
        free(numbers->stages);
        *numbers = (PipelineNumbers){};
}

/* The rows are ordered by label, so that both parts of a stage follow each other. */
static int add_row(PipelineNumbers *numbers, const PipelineSeriesRow *row) {
        PipelineStage *last = numbers->n > 0 ? &numbers->stages[numbers->n - 1] : NULL;
        PipelineSums sums = row->sums;
        PipelineStage stage = {};

        if (row->part < 0 || row->part >= N_PIPELINE_PARTS || !pipeline_stage_parse(&stage, row->stage, strlen(row->stage)))
                return 0;
        if (!last || pipeline_stage_compare(last, &stage) != 0 || strcmp(last->name, stage.name) != 0) {
                if (ARRAY_EXTEND(numbers->stages, numbers->n) < 0)
                        return -ENOMEM;
                last = &numbers->stages[numbers->n++];
                *last = stage;
        }
        pipeline_report_drop_first(&sums, &row->first, row->n_intervals);
        pipeline_report_set_stage(last, (PipelinePart)row->part, &sums, row->n_last);
        return 0;
}

STATEMENT series_count = {
        "SELECT ifnull(max(n_series), 0) FROM pipeline WHERE job = (SELECT row FROM job WHERE id = ?1)", 1,
};

int pipeline_numbers_read(Database *database, Field job, PipelineNumbers *ret) {
        PipelineSeriesRow row = {};
        int64_t n_series = 0;
        Prepared *list;
        int r;

        r = database_get(database, &series_count, &job, 1, &n_series);
        if (r != 0 || n_series > N_PIPELINE_PARTS * PIPELINE_NUMBERS_STAGES_MAX)
                return r;
        list = database_prepare(database, &pipeline_reader_series, &job, 1);
        while ((r = database_step(database, list)) == DATABASE_ROW) {
                if (!pipeline_reader_read_series(list, &row) || add_row(ret, &row) < 0) {
                        sqlite3_reset(list->handle);
                        return -ENOMEM;
                }
        }
        if (r == 0 && ret->n > 0)
                qsort(ret->stages, ret->n, sizeof(*ret->stages), pipeline_stage_compare);
        return r;
}

/* A number that is not known is absent. */
static void put_finite(Json *json, const char *key, double value) {
        if (isfinite(value))
                json_put_double(json, key, value);
}

static void put_stage(Json *json, const PipelineStage *stage, const PipelineStage *input, double wait_share) {
        StageAccounting accounting;
        double readiness;

        json_put_object_begin(json, stage->name);
        if (pipeline_diagnosis_account(stage, input, &accounting)) {
                put_finite(json, "busy_share", accounting.busy);
                put_finite(json, "starved_share", accounting.starved);
                put_finite(json, "blocked_share", accounting.blocked);
        }
        if (stage->tasks.is_known) {
                json_put_double(json, "tasks", stage->tasks.n);
                json_put_double(json, "failures", stage->tasks.n_failures);
                put_finite(json, "task_seconds", pipeline_stage_mean_time(stage));
                json_put_double(json, "failure_share", pipeline_stage_failure_ratio(stage));
        }
        if (stage->queue.is_known) {
                json_put_double(json, "items", stage->queue.n_gets);
                json_put_double(json, "items_per_second", pipeline_stage_rate(stage));
                json_put_double(json, "get_seconds", stage->queue.get_s);
                json_put_double(json, "put_seconds", stage->queue.put_s);
        }
        if (pipeline_stage_readiness(stage, &readiness) == PIPELINE_READINESS_KNOWN)
                put_finite(json, "readiness", readiness);
        put_finite(json, "wait_share", wait_share);
        json_object_end(json);
}

/* Returns the number of stages of the pipeline that begins at `first`. */
static size_t count_stages(const PipelineNumbers *numbers, size_t first) {
        size_t n = 1;

        while (first + n < numbers->n && numbers->stages[first + n].pipeline == numbers->stages[first].pipeline)
                n++;
        return n;
}

static void put_pipeline(const PipelineStage *stages, size_t n, Json *json) {
        PipelineDiagnosis diagnosis = pipeline_diagnosis_of(stages, n, 0);

        json_object_begin(json);
        for (size_t i = 0; i < n; i++)
                put_stage(json, &stages[i], i > 0 ? &stages[i - 1] : NULL, i == n - 1 ? diagnosis.wait_share : NAN);
        json_object_end(json);
}

void pipeline_numbers_write(const PipelineNumbers *numbers, Json *json) {
        json_array_begin(json);
        for (size_t i = 0; i < numbers->n; i += count_stages(numbers, i))
                put_pipeline(&numbers->stages[i], count_stages(numbers, i), json);
        json_array_end(json);
}

void pipeline_numbers_write_first(const PipelineNumbers *numbers, Json *json) {
        if (numbers->n > 0) {
                put_pipeline(numbers->stages, count_stages(numbers, 0), json);
                return;
        }
        json_object_begin(json);
        json_object_end(json);
}
