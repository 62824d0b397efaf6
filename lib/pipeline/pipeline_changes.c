/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_changes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/shift.h"
#include "text/text.h"
#include "util/array.h"
#include "util/scoped.h"

#define EFFECT_MIN 0.2  /* smaller changes of a task's time do not explain a run */
#define RETURN_MAX 0.25 /* of the change: a level so close to the earlier level counts as that level */

void pipeline_changes_deinit(PipelineChanges *changes) {
        free(changes->items);
        free(changes->places);
        *changes = (PipelineChanges){};
}

/* An interval of the first level begins where the one before ends. */
static uint64_t begin_of(const ChangePlace *place) {
        return place->elapsed_s > 0 ? (uint64_t)fmax(0, (double)place->end_ms - 1000 * place->elapsed_s)
                                    : place[-1].end_ms;
}

/* Returns true if the level after the next change point is the level before this change point. */
static bool is_taken_back(const ChangePoint *point, const ChangePoint *next) {
        return fabs(next->mean_after - point->mean_before) <= RETURN_MAX * fabs(point->mean_after - point->mean_before);
}

/* places: the intervals of the stage after the first, which is places[-1]. */
static int add_changes(PipelineChanges *changes, const ChangePlace *places, const ChangePoint *points,
                       size_t n_points) {
        PipelineStage stage;

        if (!pipeline_stage_parse(&stage, changes->label, strlen(changes->label)))
                return 0;
        for (size_t i = 0; i < n_points; i++) {
                PipelineChange change = { stage, begin_of(&places[points[i].index]), 0, points[i].mean_before,
                                          points[i].mean_after };

                if (ARRAY_EXTEND(changes->items, changes->n) < 0)
                        return -ENOMEM;
                if (i + 1 < n_points) {
                        change.end_ms = begin_of(&places[points[i + 1].index]);
                        i += is_taken_back(&points[i], &points[i + 1]);
                }
                changes->items[changes->n++] = change;
        }
        return 0;
}

int pipeline_changes_finish(PipelineChanges *changes) {
        size_t n = changes->n_places > 0 ? changes->n_places - 1 : 0, n_points = 0;
        scoped(freep) ChangePoint *points = NULL;
        scoped(freep) double *series = NULL;
        ShiftSettings settings = SHIFT_DEFAULTS;
        int r;

        changes->n_places = 0;
        if (n < SHIFT_POINTS_MIN)
                return 0;
        series = calloc(n, sizeof(*series));
        if (!series)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                series[i] = changes->places[i + 1].time_s;
        settings.effect_min = EFFECT_MIN;
        r = shift_find(series, n, &settings, &points, &n_points);
        return r < 0 ? r : add_changes(changes, &changes->places[1], points, n_points);
}

int pipeline_changes_add(PipelineChanges *changes, const char *label, uint64_t end_ms, const PipelineSums *sums) {
        double n = sums->n - sums->n_failures;
        int r;

        if (strcmp(label, changes->label) != 0) {
                r = pipeline_changes_finish(changes);
                if (r < 0)
                        return r;
                (void)snprintf(changes->label, sizeof(changes->label), "%s", label);
        }
        if (!(n > 0))
                return 0;
        if (changes->n_places == PIPELINE_CHANGES_SERIES_MAX ||
            ++changes->n_intervals > PIPELINE_CHANGES_INTERVALS_MAX) {
                changes->is_cut = true;
                return 0;
        }
        if (ARRAY_EXTEND(changes->places, changes->n_places) < 0)
                return -ENOMEM;
        changes->places[changes->n_places++] = (ChangePlace){ end_ms, sums->elapsed_s, sums->time_s / n };
        return 0;
}

void pipeline_changes_describe(const PipelineChange *change, Buffer *out) {
        char begin[TEXT_MAX], duration[TEXT_MAX], during[TEXT_MAX], before[TEXT_MAX];

        text_time(change->begin_ms, begin);
        buffer_printf(out, "From %s", begin);
        if (change->end_ms > change->begin_ms) {
                text_seconds((double)(change->end_ms - change->begin_ms) / 1e3, duration);
                buffer_printf(out, " for %s", duration);
        }
        text_seconds_brief(change->during_s, during);
        text_seconds_brief(change->before_s, before);
        buffer_printf(out, ", a task of %s took %s instead of %s.", change->stage.name, during, before);
}

void pipeline_changes_put(const PipelineChanges *changes, unsigned pipeline, Json *json) {
        for (size_t i = 0; i < changes->n; i++) {
                const PipelineChange *change = &changes->items[i];

                if (change->stage.pipeline != pipeline)
                        continue;
                json_object_begin(json);
                json_put_string(json, "stage", change->stage.name);
                json_put_uint(json, "begin_ms", change->begin_ms);
                json_put_int_or_null(json, "end_ms", change->end_ms > 0, (int64_t)change->end_ms);
                json_put_double(json, "before_seconds", change->before_s);
                json_put_double(json, "during_seconds", change->during_s);
                json_object_end(json);
        }
}
